"""Make a report with the partner, who takes five sessions at once. The work begins and ends in one run."""

import asyncio
import random

from pydantic import BaseModel

from stackbone.workflow import step, with_limit, workflow


class ExportReport(BaseModel):
    """Which report to make."""

    report_id: str


@workflow
async def export_report(input: ExportReport) -> dict[str, str]:
    """Hold a slot of partner-api while the report is made; without one in five minutes the run fails."""
    file = await with_limit("partner-api", lambda: build_report(input.report_id), label=input.report_id, timeout="5m")
    return {"file": file}


@step(attempts=3, pause=2.0)
async def build_report(report_id: str) -> str:
    """Talk to the partner for as long as a report takes."""
    await asyncio.sleep(random.triangular(6, 30, 12))
    return f"{report_id}.pdf"
