"""Templates that want every value, and sentences whose own tags stay text."""

from __future__ import annotations

import pytest
from jinja2 import DictLoader, UndefinedError

from bench.report import markup, page


def test_a_sentence_with_a_link_shows_a_link_and_escapes_the_rest() -> None:
    made = markup.marked(
        "**Less** `a_b` ([here](https://example.org/1?a=1&b=2)) <i> [x](javascript:y)"
    )
    link = '<a href="https://example.org/1?a=1&amp;b=2" rel="noreferrer">here</a>'
    assert made.startswith(f"<strong>Less</strong> <code>a_b</code> ({link})")
    assert "&lt;i&gt; [x](javascript:y)" in made


def test_markdown_lets_no_html_through_and_no_link_into_docs() -> None:
    made = markup.read(
        markup.reader(),
        "<b> **bold** `a<b` [out](https://x.org/?a&b) [in](method.md) [x](javascript:y)",
    )
    assert made == (
        "<p>&lt;b&gt; <strong>bold</strong> <code>a&lt;b</code> "
        '<a href="https://x.org/?a&amp;b" rel="noreferrer">out</a> in [x](javascript:y)</p>\n'
    )


def test_templates_escape_values_and_want_each_of_them() -> None:
    templates = markup.templates(page.__name__, marked=markup.marked)
    assert "page.html" in templates.list_templates()
    templates.loader = DictLoader({"one.html": "{{ name }} {{ name | marked }}"})
    shown = templates.get_template("one.html")
    assert shown.render(name="<b> `x`") == "&lt;b&gt; `x` &lt;b&gt; <code>x</code>"
    with pytest.raises(UndefinedError, match="name"):
        shown.render()
