"""Templates that want every value, and Markdown whose own tags stay text."""

from __future__ import annotations

import pytest
from jinja2 import DictLoader, UndefinedError

from bench.report import markup, page


def test_markdown_lets_no_html_through_and_no_link_into_docs() -> None:
    text = "<b> **bold** `a<b` [out](https://x.org/?a&b) [in](method.md) [x](javascript:y)"
    line = (
        "&lt;b&gt; <strong>bold</strong> <code>a&lt;b</code> "
        '<a href="https://x.org/?a&amp;b" rel="noreferrer">out</a> in [x](javascript:y)'
    )
    reader = markup.reader()
    assert markup.read_line(reader, text) == line
    assert markup.read(reader, text) == f"<p>{line}</p>\n"


def test_templates_escape_values_and_want_each_of_them() -> None:
    templates = markup.templates(page.__name__, capital=str.upper)
    assert "page.html" in templates.list_templates()
    templates.loader = DictLoader({"one.html": "{{ name }} {{ name | capital }}"})
    shown = templates.get_template("one.html")
    assert shown.render(name="<b>") == "&lt;b&gt; &lt;B&gt;"
    with pytest.raises(UndefinedError, match="name"):
        shown.render()
