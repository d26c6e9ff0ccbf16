"""The result of an experiment."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ExperimentResult:
    """Values by name; None for a missing value, with the reason under the same name.

    ``facts`` explain the values; the page shows the fact ``note`` beside the number.
    """

    values: dict[str, float | None] = field(default_factory=dict)
    facts: dict[str, str | int | float | list[str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def lacks(self, name: str, reason: str) -> None:
        """Record a missing value with its reason."""
        self.values[name] = None
        self.reasons[name] = reason
