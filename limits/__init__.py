"""The engine: every rule about limits and slots. It knows no HTTP, no HTML and no workflow runtime."""
