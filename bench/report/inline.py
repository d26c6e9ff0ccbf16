"""Charts inside the page: one picture for both themes, and as few bytes as it takes.

matplotlib draws a chart once in each theme. The two files differ only in their colours,
so the page holds the light one, with a CSS variable in place of each colour.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

COLOUR = re.compile(r"#[0-9a-f]{6}\b")
REFERENCE = re.compile(r'(?:url\(#|href="#)([\w.-]+)')
FONT = re.compile(r"font-family: [^;\"]*; ")


class Colours:
    """The colours of a page: each pair of a light and a dark one is a CSS variable."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}

    def variable(self, light: str, dark: str) -> str:
        """The CSS value that stands for a pair."""
        return f"var({self._names.setdefault((light, dark), f'--c{len(self._names)}')})"

    def css(self, theme: int) -> str:
        """The declarations of all variables, for theme 0 (light) or 1 (dark)."""
        return " ".join(f"{name}: {pair[theme]};" for pair, name in self._names.items())


def svg(name: str, alt: str, light: str, dark: str, colours: Colours) -> str:
    """The SVG element of a chart, from its two files; ``alt`` has to be escaped.

    The name makes identifiers unique on the page. Raises ValueError when the two files
    have not the same number of colours, so are not the same picture.
    """
    light, dark = _picture(light), _picture(dark)
    pairs = zip(COLOUR.findall(light), COLOUR.findall(dark), strict=True)
    variables = [colours.variable(*pair) for pair in pairs]
    text = _coloured(light, variables)
    # An attribute cannot hold a variable, a style can.
    text = re.sub(r' fill="(var\(--c\d+\))"', r' style="fill: \1"', text)
    used = set(REFERENCE.findall(text))
    text = re.sub(r' id="([\w.-]+)"', lambda m: m.group() if m.group(1) in used else "", text)
    text = re.sub(r'(id="|url\(#|href="#)(?=[\w.-]+)', rf"\g<1>{name}-", text)
    text = re.sub(r' transform="rotate\(-?0 [^"]*"', "", text)
    text = re.sub(r' (?:d|x|y|width|height|transform)="[^"]*"', _shorter, text)
    text = FONT.sub("", text)  # the page's style sheet has it once
    size = re.search(r'viewBox="[^"]*"', light)
    if size is None:
        raise ValueError(f"{name}: an SVG without viewBox")
    body = text[text.index(">") + 1 :]
    return f'<svg class="chart" role="img" aria-label="{alt}" {size.group()}>{body}'


def _picture(text: str) -> str:
    """The svg element without title and metadata, which would repeat what the page says."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<(title|metadata|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return re.sub(r">\s+<", "><", text).strip()


def _coloured(text: str, variables: Sequence[str]) -> str:
    found = iter(variables)
    return COLOUR.sub(lambda _: next(found), text)


def _shorter(found: re.Match[str]) -> str:
    """Two decimals are a hundredth of a point; line breaks do not matter."""
    text = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m.group()):.2f}", found.group())
    return re.sub(r"\s*\n\s*", " ", text).replace(' "', '"')
