"""The provider says that a call has ended: its slot goes to whoever waits next."""

from pydantic import BaseModel

from stackbone.workflow import release_slot, workflow


class CallEnded(BaseModel):
    slot_id: str


@workflow
async def call_ended(input: CallEnded) -> dict[str, bool]:
    """Give the slot of a call back."""
    return {"released": (await release_slot(input.slot_id)).released}
