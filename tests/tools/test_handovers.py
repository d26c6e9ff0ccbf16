"""The program that takes causes of context switches away, as it is called."""

from __future__ import annotations

import sys

import pytest

from tools import handovers


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("many", 2)])
def test_help_and_mistakes_are_answered(
    argument: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["handovers", argument])
    with pytest.raises(SystemExit) as ended:
        handovers.main()
    assert ended.value.code == code
