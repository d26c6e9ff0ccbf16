"""The encoding of a page, as browsers choose it.

A byte order mark comes first, then the charset of the Content-Type header, then
a ``<meta>`` in the first 1024 bytes, then UTF-8. Labels are those of the WHATWG
Encoding Standard, from the library webencodings; an unknown one means UTF-8.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_META_CHARSET: Final = re.compile(
    rb"<meta\s[^>]*?charset\s*+=\s*+[\"']?+\s*+([\w.:\-]++)", re.IGNORECASE
)
_PRESCAN: Final = 1024
_LABEL: Final = re.compile(r"\s*+[\"']?+([\w.:\-]{1,40}+)[\"']?+\s*+", re.ASCII)
WHOLE: Final = frozenset(("utf-16-le", "utf-16-be", "iso2022_jp"))
"""Encodings in which a whole page must be decoded before it is read.

In all others no byte of a longer character looks like ``<``, ``>``, a quote,
``&``, ``#`` or ``=``. So the page is read byte by byte, and only its references
are decoded.
"""
_CODECS: Final = {
    # Python's codecs of these names know fewer characters than browsers.
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "gbk": "gb18030",
    # These have another name, or none; the last two come close.
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "iso-2022-jp": "iso2022_jp",
    "iso-8859-8-i": "iso-8859-8",
    "windows-874": "cp874",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-user-defined": "latin-1",
    "replacement": "ascii",
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
    if not plain or plain[1].lower() in ("utf-8", "utf8"):
        return "utf-8"
    from webencodings.labels import LABELS  # few crawls need it

    name: str = LABELS.get(plain[1].lower(), "utf-8")
    return _CODECS.get(name, name)
