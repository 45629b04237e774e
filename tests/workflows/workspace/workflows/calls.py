"""The workflows that the tests run. Steps leave a line in a file, so that a test sees how often each one ran."""

import asyncio
import os
import threading
from pathlib import Path

from pydantic import BaseModel

from stackbone.workflow import (
    SlotTimeoutError,
    acquire_slot,
    limit_slot,
    release_slot,
    step,
    with_limit,
    workflow,
)

FOLDER = Path(os.environ["STEPS"])


def note(line: str) -> None:
    with (FOLDER / "steps").open("a") as file:
        file.write(f"{line}\n")


async def let_go(name: str) -> None:
    while not (FOLDER / name).exists():
        await asyncio.sleep(0.01)


class PlaceCall(BaseModel):
    call_id: str
    timeout: str = "30m"


@workflow
async def place_call(input: PlaceCall) -> dict:
    """Take a slot and start the call; whoever hears of its end gives the slot back."""
    try:
        slot = await acquire_slot("voice-calls", label=input.call_id, timeout=input.timeout)
    except SlotTimeoutError:
        return {"slot_id": None}
    await dial_out(input.call_id, slot.id)
    return {"slot_id": slot.id}


@step
async def dial_out(call_id: str, slot_id: str) -> None:
    note(f"dial {call_id} {slot_id}")


class CallEnded(BaseModel):
    slot_id: str


@workflow
async def call_ended(input: CallEnded) -> dict:
    return {"released": (await release_slot(input.slot_id)).released}


class Report(BaseModel):
    report_id: str
    until: str | None = None
    fails: bool = False


@step
async def build_report(report_id: str, until: str | None) -> str:
    note(f"begin {report_id}")
    if until is not None:
        await let_go(until)
    note(f"end {report_id}")
    return f"{report_id}.pdf"


@workflow
async def export_report(input: Report) -> dict:
    async def build() -> dict:
        file = await build_report(input.report_id, input.until)
        if input.fails:
            raise ValueError("no paper")
        return {"file": file}

    return await with_limit("partner-api", build, label=input.report_id)


@workflow
async def strict_call(input: PlaceCall) -> dict:
    """As place_call, but the timeout ends the run."""
    await ready()
    slot = await acquire_slot("voice-calls", label=input.call_id, timeout=input.timeout)
    return {"slot_id": slot.id}


@step
async def ready() -> str:
    note("ready")
    return "ready"


@workflow
def blocking_call(input: PlaceCall) -> dict:
    slot = acquire_slot("voice-calls", label=input.call_id, timeout=input.timeout)
    blocking_dial(input.call_id)
    with limit_slot("partner-api", label=input.call_id):
        blocking_dial(f"{input.call_id} inside")
    inner = with_limit("partner-api", lambda: 7)
    return {"slot_id": slot.id, "released": release_slot(slot.id).released, "inner": inner}


@step
def blocking_dial(call_id: str) -> None:
    note(f"dial {call_id}")


@workflow
async def boom() -> None:
    """Fails while another branch of it waits."""

    async def fail() -> None:
        await let_go("boom")
        raise ValueError("boom")

    await asyncio.gather(acquire_slot("voice-calls", label="boom"), fail())


class Misuse(BaseModel):
    how: str


@step
async def take_in_step() -> None:
    await acquire_slot("voice-calls")


@step
async def hold_in_step() -> None:
    async with limit_slot("voice-calls"):
        pass


@step
async def take_in_thread_of_step() -> None:
    errors: list[BaseException] = []

    def take() -> None:
        try:
            acquire_slot("voice-calls")
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    raise errors[0]


@workflow
async def misuse(input: Misuse) -> None:
    async def take() -> None:
        await acquire_slot("voice-calls")

    match input.how:
        case "step":
            await take_in_step()
        case "with_limit in step":
            await hold_in_step()
        case "thread of a step":
            await take_in_thread_of_step()
        case "thread":
            await asyncio.to_thread(lambda: acquire_slot("voice-calls"))
        case "loop":
            await asyncio.to_thread(lambda: asyncio.run(take()))
        case "unknown":
            await acquire_slot("voice-cals")
        case "label":
            await acquire_slot("voice-calls", label="a\0b")
        case "timeout":
            await acquire_slot("voice-calls", timeout="soon")


@workflow
def blocking_misuse(input: Misuse) -> None:
    async def take() -> None:
        await acquire_slot("voice-calls")

    async def release() -> None:
        await release_slot("any")

    asyncio.run(take() if input.how == "take" else release())


@workflow
async def nested() -> None:
    async with limit_slot("voice-calls", label="outer"):
        try:
            async with limit_slot("voice-calls", label="inner", timeout="1s"):
                pass
        except SlotTimeoutError:
            note("inner timed out")


@workflow
async def gives_up() -> str:
    """A body that ends by a timeout of its own, and a wait that does."""
    try:
        async with limit_slot("partner-api", label="body"), asyncio.timeout(0.05):
            await asyncio.sleep(60)
    except TimeoutError:
        note("body gave up")
    try:
        async with asyncio.timeout(0.3):
            await acquire_slot("voice-calls", label="impatient")
    except TimeoutError:
        note("wait gave up")
    return "done"


@workflow
async def parent(input: PlaceCall) -> dict:
    called = await place_call(input)
    return await call_ended(CallEnded(slot_id=called["slot_id"]))


@workflow
async def releases_in_step(input: CallEnded) -> dict:
    return await give_back(input.slot_id)


@step
async def give_back(slot_id: str) -> dict:
    return {"released": (await release_slot(slot_id)).released}


@step(attempts=3, pause=0.01)
async def flaky() -> int:
    note("flaky")
    count = (FOLDER / "steps").read_text().count("flaky")
    if count < 3:
        raise OSError(f"try {count}")
    return count


@workflow
async def retried() -> int | None:
    async with limit_slot("partner-api", label="retried"):
        return await flaky()


@workflow
async def family(input: PlaceCall) -> None:
    """Goes on after its child."""
    await place_call(input)
    async with limit_slot("partner-api", label="parent"):
        pass


@workflow
async def mixed_family(input: PlaceCall) -> None:
    await blocking_call(input)
