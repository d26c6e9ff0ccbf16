"""Children that write lines, each by a deadline."""

from __future__ import annotations

import sys
import time

import pytest

from bench.run.process import Child

ENDLESS = "import sys\nwhile True: sys.stdout.write('x' * 65536)"


def test_a_line_that_came_while_nobody_could_look_is_not_late() -> None:
    """As after Ctrl-Z: the harness was stopped at the deadline, and the child was not."""
    with Child("the child", ["-c", "print('here')"]) as child:
        child.process.wait(60)
        assert child.receive(time.monotonic() - 60) == "here"


@pytest.mark.parametrize("program", ["import time; time.sleep(600)", ENDLESS])
def test_a_child_without_a_line_is_late(program: str) -> None:
    with Child("the child", ["-c", program], python=[sys.executable]) as child:
        with pytest.raises(TimeoutError, match="the child did not answer in time"):
            child.receive(time.monotonic() + 0.3)
        child.process.kill()
