from stackbone import define_workspace

workspace = define_workspace(
    name="tests",
    limits={
        "voice-calls": {"capacity": 1, "max_hold": "45m"},
        "partner-api": {"capacity": 2, "max_hold": "45m"},
    },
)
