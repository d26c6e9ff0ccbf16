"""What to do about trials that do not count, for the terminal and the summary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bench.launch import program
from bench.schema import TrialRecord
from bench.text import listing

MOST_NAMES: Final = 4
OLD_RE: Final = re.compile(r"3\.11\.[0-4](?!\d)")
"""CPython with the fault in possessive groups, unless a distribution has repaired it."""


def unusable(trials: Sequence[TrialRecord]) -> list[str]:
    """What to do about the trials that failed or are void, a sentence for each cause."""
    found = []
    bad = [trial for trial in trials if trial.status in ("failed", "void")]
    wrong = [trial for trial in bad if _is_wrong(trial)]
    erring = [trial for trial in wrong if trial.errors]
    unlike = [trial for trial in wrong if not trial.errors]
    if unlike:
        found.append(
            f"What to do: {_names(unlike)} did not find or read the pages that the site has. See "
            f"which: python -m crawlers conformance {unlike[0].backend}"
        )
        if old := sorted({version for trial in unlike if (version := _old_re(trial))}):
            found.append(
                f"What to do: the re module of CPython {listing(old)} may miss links. Use CPython "
                "3.11.5 or later, or your distribution's update of Python."
            )
    if erring:
        found.append(
            f"What to do: requests of {_names(erring)} failed ({listing(_kinds(erring))}). Close "
            f"other programs, look at {program()} doctor, and run the campaign again."
        )
    if failed := [trial for trial in bad if trial.status == "failed"]:
        found.append(
            f"What to do: {_names(failed)} ended without a result. The reason and the stderr of "
            f"each trial are in its line of trials.jsonl; {program()} doctor shows the limits."
        )
    if others := [trial for trial in bad if trial.status == "void" and not _is_wrong(trial)]:
        first = others[0].reason or "no reason given"
        found.append(
            f"What to do: {_names(others)} broke a rule of the comparison: {first}. "
            "If it is not the backend's fault, run the campaign again on a quiet machine."
        )
    return found


def _is_wrong(trial: TrialRecord) -> bool:
    return trial.status == "void" and (trial.reason or "").startswith("wrong digest")


def _names(trials: Sequence[TrialRecord]) -> str:
    """The backends of these trials, the first few by name."""
    names = list(dict.fromkeys(trial.backend for trial in trials))
    rest = len(names) - MOST_NAMES
    return listing([*names[:MOST_NAMES], *([f"{rest} more"] if rest > 0 else [])])


def _kinds(trials: Sequence[TrialRecord]) -> list[str]:
    return sorted({kind for trial in trials for kind in trial.errors})


def _old_re(trial: TrialRecord) -> str | None:
    """The release of Python that ran this trial, if its ``re`` may be at fault."""
    version = str(trial.mechanism.get("python", ""))
    return version if OLD_RE.match(version) and "links" not in trial.mechanism else None
