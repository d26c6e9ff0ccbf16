"""What a connection takes in a campaign, to stand beside waiting tasks of the same machine."""

from __future__ import annotations

from bench.analysis.analysis import Analysis
from bench.schema import Environment


def connections(analysis: Analysis | None, here: Environment) -> tuple[dict[str, float], str]:
    """Bytes of a connection by backend, and a sentence that says where they are from.

    None are given where the campaign ran on another machine or release of Python: absolutes
    of two machines do not share an axis.
    """
    if analysis is None:
        return {}, "Connections: no campaign beside it."
    campaign, there = analysis.campaign, analysis.campaign.environment
    for what, one, other in (
        ("machine", there.cpu_model, here.cpu_model),
        ("Python", release(there), release(here)),
    ):
        if one != other:
            return {}, f"Connections: campaign {campaign.campaign} ran on another {what} ({one})."
    found = {label: fit.total for label, fit in analysis.memory.items() if fit.total is not None}
    if not found:
        return {}, f"Connections: campaign {campaign.campaign} has no slope of their memory."
    return found, f"Connections: campaign {campaign.campaign}, client’s side."


def release(environment: Environment) -> str:
    """Implementation and release, without the third number: ``CPython 3.11``."""
    return environment.python.rpartition(".")[0]
