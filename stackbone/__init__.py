"""What the authors of a workspace import: `from stackbone import define_workspace`."""

from stackbone.workspace import define_workspace

__all__ = ["define_workspace"]
