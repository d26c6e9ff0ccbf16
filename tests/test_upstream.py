"""The programs beside the reports to other projects show what the reports say."""

from __future__ import annotations

import subprocess
import sys

from bench.launch import ROOT
from tests.crawlers.test_heap import needs_mapping, usual

RECEIVE = ROOT / "docs" / "upstream" / "asyncio_receive.py"


def faults(how: str) -> float:
    done = subprocess.run(
        [sys.executable, RECEIVE, how],
        env=usual(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.endswith("µs for each receive\n")
    return float(done.stdout.split()[0])


@needs_mapping
def test_each_cure_of_asyncios_receive_cures_it() -> None:
    assert faults("fresh") > 1.5
    for cure in ("freed", "eof", "patched"):
        assert faults(cure) < 0.5, cure
