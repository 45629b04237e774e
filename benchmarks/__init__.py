"""The engine against the floor of its own server: what a durable transaction costs there, in the same minutes."""
