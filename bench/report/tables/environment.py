"""What a campaign ran on, as pairs of name and value."""

from __future__ import annotations

from collections.abc import Mapping

from bench.analysis import stats
from bench.analysis.releases import switches
from bench.store import Records
from bench.text import GIB


def environment(records: Records) -> list[tuple[str, str]]:
    """Machine, system, Python and how trials left it, commit, campaign, packages and limits."""
    campaign = records.campaign
    found = campaign.environment
    switched = switches(stats.trials_of(records))
    quota = "" if found.cpu_quota is None else f", quota {found.cpu_quota:g}"
    return [
        (
            "Machine",
            f"{found.cpu_model or found.machine}, {found.cpu_count} processors{quota}, "
            f"{found.memory_total_bytes / GIB:.1f} GiB",
        ),
        ("System", f"{found.os}, kernel {found.kernel}"),
        ("Python", f"{found.python} ({_listed(found.python_build)})"),
        *([("Lock and JIT", " ".join(switched))] if switched else []),
        ("Commit", f"{found.commit or 'unknown'}{' (dirty)' if found.dirty else ''}"),
        (
            "Campaign",
            f"profile {campaign.profile}, {campaign.blocks} blocks, seed {campaign.seed}, "
            f"{campaign.created}",
        ),
        *([("TLS", found.openssl)] if found.openssl else []),
        ("Packages", _listed(found.packages)),
        ("Limits", _listed(found.limits)),
    ]


def _listed(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()))
