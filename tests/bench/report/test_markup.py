"""Templates that want every value, and sentences whose own tags stay text."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from bench.report import markup, page


def test_a_sentence_with_a_link_shows_a_link_and_escapes_the_rest() -> None:
    made = markup.marked(
        "**Less** `a_b` ([here](https://example.org/1?a=1&b=2)) <i> [x](javascript:y)"
    )
    link = '<a href="https://example.org/1?a=1&amp;b=2" rel="noreferrer">here</a>'
    assert made.startswith(f"<strong>Less</strong> <code>a_b</code> ({link})")
    assert "&lt;i&gt; [x](javascript:y)" in made


def test_templates_escape_values_and_want_each_of_them() -> None:
    templates = markup.templates(page.__name__, marked=markup.marked)
    assert "page.html" in templates.list_templates()
    shown = templates.from_string("{{ name }} {{ name | marked }}")
    assert shown.render(name="<b> `x`") == "&lt;b&gt; `x` &lt;b&gt; <code>x</code>"
    with pytest.raises(UndefinedError, match="name"):
        shown.render()
