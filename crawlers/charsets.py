"""The encoding of a page, as browsers choose it.

A byte order mark comes first, then the charset of the Content-Type header, then
a ``<meta>`` in the first 1024 bytes, then UTF-8. An unknown name means UTF-8.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

_META_CHARSET: Final = re.compile(
    rb"<meta\s[^>]*?charset\s*+=\s*+[\"']?+\s*+([\w.:\-]++)", re.IGNORECASE
)
_PRESCAN: Final = 1024
_LABEL: Final = re.compile(r"\s*+[\"']?+([\w.:\-]{1,40}+)[\"']?+\s*+", re.ASCII)
# Python's names for the encodings of the web.
_WEB_CODEC: Final = re.compile(
    r"""utf-8|cp125[0-8]|cp866|cp874|iso8859-\d+|koi8-[ru]|mac-(?:roman|cyrillic)|tis-620
    |gbk|gb18030|gb2312|big5(?:hkscs)?|euc_jp|euc_kr|cp949|shift_jis|cp932
    |utf-16-[bl]e|iso2022_jp""",
    re.VERBOSE,
)
WHOLE: Final = frozenset(("utf-16-le", "utf-16-be", "iso2022_jp"))
"""Encodings in which a whole page must be decoded before it is read.

In all others no byte of a longer character looks like ``<``, ``>``, a quote,
``&``, ``#`` or ``=``. So the page is read byte by byte, and only its references
are decoded.
"""
_LABELS: Final = {
    # As all browsers read them.
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "utf-16": "utf-16-le",
    "gb2312": "gbk",
}
_MARKS: Final = {
    b"\xef\xbb": "utf-8",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}


def codec_of(body: bytes, charset: str | None) -> str:
    """The name of the Python codec that reads a page."""
    if (marked := _MARKS.get(body[:2])) is not None:
        return marked
    if charset is not None:
        return _codec(charset)
    if named := _META_CHARSET.search(body, 0, _PRESCAN):
        codec = _codec(named[1].decode("ascii", "replace"))
        # A page whose <meta> could be read is not in UTF-16, whatever it says.
        return "utf-8" if codec.startswith("utf-16") else codec
    return "utf-8"


@lru_cache(maxsize=64)
def _codec(label: str) -> str:
    """The Python codec for an encoding label; UTF-8 for a label the web does not use."""
    plain = _LABEL.fullmatch(label)
    if not plain:
        return "utf-8"
    try:
        name = codecs.lookup(plain[1]).name
    except LookupError:
        return "utf-8"
    name = _LABELS.get(name, name)
    return name if _WEB_CODEC.fullmatch(name) else "utf-8"
