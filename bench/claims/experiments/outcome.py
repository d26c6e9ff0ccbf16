"""What an experiment hands back."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """Values by name; None where there is none, with the reason under the same name.

    ``facts`` explain the values; the fact ``note`` is shown beside the number.
    """

    values: dict[str, float | None] = field(default_factory=dict)
    facts: dict[str, str | int | float | list[str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def lacks(self, name: str, reason: str) -> None:
        """There is no such value, and why."""
        self.values[name] = None
        self.reasons[name] = reason
