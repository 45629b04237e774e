"""A call centre: how many calls the telephony provider lets it hold, and how many sessions its partner does."""

from stackbone import define_workspace

workspace = define_workspace(
    limits={
        "voice-calls": {"capacity": 20, "max_hold": "45m"},
        "partner-api": {"capacity": 5, "max_hold": "10m"},
    },
    processes={
        "dialer": ["python", "traffic.py", "dialer"],
        "hangups": ["python", "traffic.py", "hangups"],
        "reports": ["python", "traffic.py", "reports"],
    },
)
