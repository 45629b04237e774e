"""Proof that the tests would notice: the engine's SQL broken in one place after the other, each break caught by a test."""
