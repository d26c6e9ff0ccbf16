"""HTML, cut into the pieces that can hold a link.

:data:`TOKEN` is one regular expression. Its alternatives are the states of the
HTML tokenizer: tags, attributes, comments, raw text. Every repetition is
possessive, so nothing is tried twice, and the time is linear in the size of any
page. Only SVG and MathML need the slow tokenizer, :func:`foreign_items`.
"""

from __future__ import annotations

import re
from typing import Final


def _re_is_faulty() -> bool:
    """Whether this ``re`` lets a possessive group match more than it should.

    CPython 3.11.0 to 3.11.4 do (gh-100061, gh-106052), unless a distribution has
    backported the fix. That is why this tries it and does not ask for the version.
    """
    matches = re.match("(?:ab?c)++", "aca"), re.match("(?:.(?!D))*+", "ABCDE")
    return [match and match[0] for match in matches] != ["ac", "AB"]


def without_possessive_groups(pattern: str) -> str:
    """The pattern with every ``)*+``, ``)++`` and ``)?+`` made an ordinary greedy group.

    No match changes, because of how the groups in this module are written: their
    alternatives exclude each other, and nothing that follows a group can match
    where the group could have stopped early. The price is backtracking, in time
    and in memory on hostile pages. Single characters keep their possessive
    quantifiers, which work in every release.
    """
    return re.sub(r"\)([*+?])\+", r")\1", pattern)


WORKAROUND: Final = "re without possessive groups" if _re_is_faulty() else None
"""How links are found where ``re`` is faulty; None where it is right."""


def _compile(pattern: str, flags: int) -> re.Pattern[str]:
    """A pattern of the tokenizer, for the ``re`` of this interpreter."""
    return re.compile(without_possessive_groups(pattern) if WORKAROUND else pattern, flags)


_S = r"[\t\n\f\r ]"
_NAME_END = r"(?=[\t\n\f\r />])"

# Every attribute of a tag, wrong ones included, as the tokenizer reads them.
_VALUE = rf"""{_S}*+={_S}*+
    (?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r "'>][^\t\n\f\r >]*+|(?![^>]))"""
_ATTRIBUTE = rf"[^\t\n\f\r />][^\t\n\f\r />=]*+(?:{_VALUE}|(?!{_S}*+=))"
_ATTRIBUTES = rf"(?:[\t\n\f\r /]++|{_ATTRIBUTE})*+"

# A plain tag without "<" that is not a link and does not change how the rest of the
# page is read. The search may go on inside it. The first letters decide: the names
# to leave out begin with a, ba, if, ma, no, pl, sc, st, sv, te, ti and x, and of
# the end tags only /template counts.
_PLAIN_ATTRIBUTE = rf"""{_S}++[a-z\-]++="[^"<]*+" """
_PLAIN_END = rf"""(?:>|[ ][a-z]++="[^"<]*+">|(?:{_PLAIN_ATTRIBUTE})*+{_S}*+/?+>)"""
_PLAIN_TAG = rf"""(?:/(?:[a-su-z]|t(?!e))[a-z0-9]*+>
    |(?:[c-hj-loqru-wyz]|p(?!l)|b(?!a)|i(?!f)|m(?!a)|n(?!o)|s(?![ctv])|t(?![ei]))
        [a-z0-9]*+{_PLAIN_END}
    |![A-Za-z ]*+>)"""

# A plain link, up to the quote that opens its reference.
_PLAIN_LINK = rf"""a(?:[ ]href="|(?:(?!{_S}++href=){_PLAIN_ATTRIBUTE})*+{_S}++href=")
    (?=[^"<&]*+"{_PLAIN_END})"""
# A reference that only needs the origin or a folder in front of it: no scheme, no
# "//", dots only at the start, nothing to encode, no fragment.
_SAFE = r"""(?:/|\./|(?:\.\./)++|(?=\w))(?:[\w~\-]++[./]?+)*+(?:\?[\w.~\-&=+]*+|)(?=["\#])"""
# Any other reference, captured with the quote or hash that ends it.
_QUOTED = r"""[^"\#]*+["\#]"""

_RAW_TEXT_NAMES = ("style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")


def _raw_text(name: str) -> str:
    """An element whose content is text up to its own end tag."""
    return rf"""(?i:{name}){_NAME_END}{_ATTRIBUTES}>
        [^<]*+(?:(?!</(?i:{name}){_NAME_END})<[^<]*+)*+"""


# The content of a script: between "<!--" and "-->" a "<script" takes a "</script"
# with it (the "script data escaped" and "double escaped" states).
_SCRIPT_START = rf"<(?i:script){_NAME_END}"
_SCRIPT_END = rf"</(?i:script){_NAME_END}"
_SCRIPT_TWICE = rf"""{_SCRIPT_START}
    (?:[^<\-]++|(?!-->|{_SCRIPT_END})[<\-])*+(?:{_SCRIPT_END})?+"""
_SCRIPT_ESCAPED = rf"""(?:[^<\-]++|(?!-->|{_SCRIPT_END}|{_SCRIPT_START})[<\-]
    |(?={_SCRIPT_START}){_SCRIPT_TWICE})*+(?:-->)?+"""
_SCRIPT = rf"""(?i:script){_NAME_END}{_ATTRIBUTES}>
    (?:[^<]++|(?!{_SCRIPT_END}|<!--)<|(?=<!--)<!--(?:-?>|{_SCRIPT_ESCAPED}))*+"""

_COMMENT = r"!--(?:-?>|[^\-]*+(?:(?!--!?>)-[^\-]*+)*+(?:--!?>)?+)"

# SVG and MathML have no raw text of their own ("<svg><style/>" hides nothing), so
# the tokenizer must know where they are, but only if they contain such an element
# or a CDATA section. Otherwise they are tags like any other.
_FOREIGN = "(?i:svg|math)"
_FOREIGN_PLAIN = rf"""[^<]*+(?:(?!</?+{_FOREIGN}{_NAME_END}|<!|<(?i:script|plaintext|template|
    {"|".join(_RAW_TEXT_NAMES)}){_NAME_END})<[^<]*+)*+</"""

# A tag that needs a closer look.
_TAG = rf"""(?i:a|area|base|/?+template){_NAME_END}{_ATTRIBUTES}>
    |(?i:svg){_NAME_END}{_ATTRIBUTES}>(?!{_FOREIGN_PLAIN}(?i:svg){_NAME_END})
    |(?i:math){_NAME_END}{_ATTRIBUTES}>(?!{_FOREIGN_PLAIN}(?i:math){_NAME_END})"""

# Everything that a "<" can begin. The group captures one of four things: a safe
# reference, bare; another plain reference with the quote or hash that ended it; the
# whole of a tag that needs a closer look, ">" included; or nothing. The last
# character tells them apart. After a plain link's reference the search goes on
# inside the tag, which has no further "<".
TOKEN: Final = _compile(
    rf"""<(?!{_PLAIN_TAG})(?:{_PLAIN_LINK}|)
    ((?<=")(?:{_SAFE}|{_QUOTED})|{_TAG}|)
    (?:(?<=<)(?:{_COMMENT}
        |{_SCRIPT}
        |{"|".join(map(_raw_text, _RAW_TEXT_NAMES))}
        |(?i:plaintext){_NAME_END}{_ATTRIBUTES}>.*+
        |/?+[A-Za-z][^\t\n\f\r />]*+{_ATTRIBUTES}(?:>|\Z)
        |[!?/][^>]*+)|)""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)

# The href of a tag that was captured whole; the first one counts.
HREF: Final = _compile(
    rf"""[A-Za-z]++(?:[\t\n\f\r /]++
        |(?!(?i:href)[\t\n\f\r />=]){_ATTRIBUTE})*+
    (?i:href)(?=[\t\n\f\r />=])
    (?:{_S}*+={_S}*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r "'>][^\t\n\f\r >]*+))?+)?+""",
    re.VERBOSE,
)

RAW: Final = _compile(
    rf"""<(?:{_SCRIPT}|{"|".join(map(_raw_text, _RAW_TEXT_NAMES))}
        |(?i:plaintext){_NAME_END}{_ATTRIBUTES}>.*+)""",
    re.DOTALL | re.VERBOSE,
)


# The slow tokenizer: one tag at a time, keeping track of SVG and MathML.
STEP: Final = _compile(
    rf"""<(?:(/?+[A-Za-z][^\t\n\f\r />]*+)({_ATTRIBUTES})(>|\Z)
        |(!\[CDATA\[)|{_COMMENT}|[!?/][^>]*+)""",
    re.DOTALL | re.VERBOSE,
)
# The elements in which HTML begins again, and the tags that end SVG and MathML.
_HTML_INSIDE: Final = {
    "svg": frozenset(("foreignobject", "desc", "title")),
    "math": frozenset(("mi", "mo", "mn", "ms", "mtext")),
}
_BREAKS_OUT: Final = re.compile(
    r"""b|big|blockquote|body|br|center|code|dd|div|dl|dt|em|embed|h[1-6]|head|hr|i|img|li
    |listing|menu|meta|nobr|ol|p|pre|ruby|s|small|span|strong|strike|sub|sup|table|tt|u|ul|var
    |/p|/br""",
    re.VERBOSE,
)
_DEPTH: Final = 64  # of SVG and MathML; deeper nesting is not followed, as in browsers
_LINKS: Final = frozenset(("a", "area", "base", "template"))


def foreign_items(text: str) -> list[str]:
    """What :data:`TOKEN` would find, with SVG and MathML read by their own rules.

    In SVG and MathML, ``style``, ``title`` and ``script`` are elements like any
    other, CDATA sections exist, and most HTML start tags end the foreign content.
    """
    items: list[str] = []
    around: list[str] = []  # svg, math and the elements in them that hold HTML again
    at = 0
    while step := STEP.search(text, at):
        at = step.end()
        inside = _HTML_INSIDE.get(around[-1]) if around else None
        if step[4]:
            if inside is not None:
                end = text.find("]]>", at)
                at = len(text) if end < 0 else end + 3
            else:
                end = text.find(">", at)
                at = len(text) if end < 0 else end
            continue
        if not step[3]:
            continue
        name = step[1].lower()
        if inside is not None and _BREAKS_OUT.fullmatch(name):
            while around and around[-1] in _HTML_INSIDE:
                around.pop()
            inside = None
        if name.startswith("/"):
            if name[1:] in around and (inside is not None or around[-1] == name[1:]):
                while around.pop() != name[1:]:
                    pass
            elif name == "/template" and inside is None:
                items.append(step[0][1:])
        elif name in _HTML_INSIDE or (inside is not None and name in inside):
            if not step[0].endswith("/>") and len(around) < _DEPTH:
                around.append(name)
        elif name in _LINKS:
            if inside is None or name != "template":
                items.append(step[0][1:])
        elif inside is None and (raw := RAW.match(text, step.start())):
            at = raw.end()
    return items
