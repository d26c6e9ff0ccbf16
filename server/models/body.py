"""The body of a request: its size and its checksum. Bytes in, values out."""

from __future__ import annotations

import re
from typing import Final
from zlib import crc32

from server.request import FIELD, LONGEST, Refused, bad

MAX_LINE: Final = 256
"""Bytes of a line between chunks; the extensions in it are dropped (RFC 9112, 7.1.1)."""

_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15}+)[ \t]*+(?:;[\t\x20-\x7e\x80-\xff]*+)?")


class Body:
    """The body of one request: its size in bytes and its CRC-32; the bytes are dropped."""

    __slots__ = ("_left", "_most", "_step", "checksum", "done", "size")

    def __init__(self, length: int, most: int) -> None:
        self.size = self.checksum = 0
        self.done = length == 0
        self._most = most
        self._left = max(length, 0)  # of the body, or of a chunk
        self._step = self._sized if length >= 0 else self._chunk_size
        self._admit(self._left)

    def feed(self, data: bytes) -> bytes:
        """Take bytes; returns those that are not needed yet, or belong to the next request."""
        at = 0
        while not self.done:
            begins, at = at, self._step(data, at)
            if at == begins:
                break
        return data[at:]

    def _admit(self, size: int) -> None:
        if self.size + size > self._most:
            raise Refused(413, "Content Too Large", f"a body may have {self._most} bytes")

    def _sized(self, data: bytes, at: int) -> int:
        piece = data[at : at + self._left]
        self.checksum = crc32(piece, self.checksum)
        self.size += len(piece)
        self._left -= len(piece)
        if not self._left:
            self.done = self._step == self._sized
            self._step = self._chunk_end
        return at + len(piece)

    def _chunk(self, data: bytes, at: int) -> int:
        return self._sized(data, at)  # another step, so that its end is not that of the body

    def _chunk_size(self, data: bytes, at: int) -> int:
        end = self._line_end(data, at)
        if end < 0:
            return at
        match = _CHUNK.fullmatch(data, at, end)
        if match is None:
            raise bad("a chunk begins with its size")
        self._left = int(match[1], 16)
        self._admit(self._left)
        self._step = self._chunk if self._left else self._trailer
        return end + 2

    def _chunk_end(self, data: bytes, at: int) -> int:
        end = data[at : at + 2]
        if not b"\r\n".startswith(end):
            raise bad("a chunk has another size than it says")
        if len(end) < 2:
            return at
        self._step = self._chunk_size
        return at + 2

    def _trailer(self, data: bytes, at: int) -> int:
        end = self._line_end(data, at)
        if end < 0:
            return at
        self._left += end - at  # trailers are dropped, but somebody must count them
        if self._left > LONGEST or (end > at and not FIELD.fullmatch(data, at, end)):
            raise bad("a trailer is not NAME: VALUE, or there are too many")
        self.done = end == at
        return end + 2

    def _line_end(self, data: bytes, at: int) -> int:
        """Where the line that begins here ends; -1 if that has not arrived."""
        end = data.find(b"\r\n", at, at + MAX_LINE + 2)
        if end < 0 and len(data) > at + MAX_LINE + 1:  # half of its end may be there
            raise bad(f"a line between chunks has more than {MAX_LINE} bytes")
        return end
