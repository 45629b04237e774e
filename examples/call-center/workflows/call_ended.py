"""The provider says that a call has ended: its slot goes to whoever waits."""

from pydantic import BaseModel

from stackbone.workflow import release_slot, workflow


class CallEnded(BaseModel):
    """The slot that the call was placed under."""

    slot_id: str


@workflow
async def call_ended(input: CallEnded) -> dict[str, bool]:
    """Give the slot of an ended call back; one that is gone already does no harm."""
    answer = await release_slot(input.slot_id)
    return {"released": answer.released}
