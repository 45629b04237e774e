"""What workflow authors import."""
