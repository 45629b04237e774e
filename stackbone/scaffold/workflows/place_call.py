"""Take a slot, start the call, and be done: the slot stays busy until `call_ended` gives it back."""

from pydantic import BaseModel

from stackbone.workflow import SlotTimeoutError, acquire_slot, step, workflow


class PlaceCall(BaseModel):
    call_id: str


@workflow
async def place_call(input: PlaceCall) -> dict[str, str | None]:
    """Place a call, as soon as a line is free."""
    try:
        slot = await acquire_slot("voice-calls", label=input.call_id, timeout="30m")
    except SlotTimeoutError:
        return {"slot_id": None}
    await dial_out(input.call_id, slot.id)
    return {"slot_id": slot.id}


@step
async def dial_out(call_id: str, slot_id: str) -> None:
    """Tell the provider to start the call; it reports the end with the slot's id."""
    print(f"calling {call_id}, slot {slot_id}")
