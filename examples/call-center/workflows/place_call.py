"""Place a call once the provider has a line for it. The call goes on after the run has ended, and so does its slot."""

import asyncio
import functools
import logging
import random

from provider import Provider
from pydantic import BaseModel

from stackbone.workflow import SlotTimeoutError, acquire_slot, step, workflow

log = logging.getLogger("call-center")


class PlaceCall(BaseModel):
    """Which call to place; the id is shown with its slot."""

    call_id: str


@workflow
async def place_call(input: PlaceCall) -> dict[str, str | None]:
    """Take a slot of voice-calls and start the call. call_ended gives the slot back, whenever that is."""
    try:
        slot = await acquire_slot("voice-calls", label=input.call_id, timeout="10m")
    except SlotTimeoutError:
        return {"slot_id": None}
    await dial_out(input.call_id, slot.id)
    return {"slot_id": slot.id}


@step
async def dial_out(call_id: str, slot_id: str) -> None:
    """Start the call; the provider gets the slot's id, and sends it back when the call has ended."""
    # A worker that dies in here runs it again: the provider knows the call by its id and does not place it twice.
    place = functools.partial(provider().place, call_id, slot_id, seconds=random.triangular(12, 80, 30))
    # In a thread: a file, or a library that blocks, must not hold up the other runs of this worker.
    if await asyncio.to_thread(place):
        log.info("%s: the provider will lose its end; the slot stays busy until somebody releases it", call_id)


@functools.cache
def provider() -> Provider:
    """Return the one connection that this worker has to the provider."""
    return Provider()
