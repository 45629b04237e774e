"""The limits of this workspace: how much of each kind of work may run at once."""

from stackbone import define_workspace

workspace = define_workspace(
    limits={
        # The provider takes 20 calls at once; a slot that nobody gives back returns after 45 minutes.
        "voice-calls": {"capacity": 20, "max_hold": "45m"},
    },
)
