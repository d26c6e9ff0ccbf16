"""What the second day of attacks found, and what became of it: the words of the report."""

from __future__ import annotations

from typing import Final

FOUND: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "an answer that begins with `RTSP/1.0` or `ICE/1.0`",
        "a page: llhttp reads these protocols too",
        "`protocol`, as with the parser in Python",
    ),
    (
        "`Transfer-Encoding: chunked` with a tab behind it",
        "`closed`: llhttp does not take it for chunked",
        "read, as RFC 9110 says",
    ),
    (
        "a `Content-Length` in a trailer",
        "`protocol`: both parsers took it for one in the head",
        "ignored; the connection is closed",
    ),
    (
        "a length or a chunk's size with many zeros in front",
        "the parser in Python took it for malformed, httptools did not",
        "both read it",
    ),
    (
        "`http://HOST:0/`",
        "port 80 was asked instead, with `Host: HOST:0`",
        "`refused`, in every backend",
    ),
    (
        "`http:`, `http:80` or `https:/HOST/` as a start URL",
        "a crawl of a host named `http` or `https`",
        "refused in one line",
    ),
    (
        "`--exclude` with `x{99999999999}` or 10,000 brackets",
        "a traceback (`OverflowError`, `RecursionError`)",
        "one line",
    ),
    (
        "`SSLKEYLOGFILE` in a folder that does not exist, a `GEVENT_LOOP` that is none",
        "a traceback from the import of aiohttp, or from gevent",
        "one line; so for anything that a library raises when it is imported",
    ),
    (
        "a line feed in a name given to `bench` or `server`",
        "a message of two lines",
        "one line, with `\\n`",
    ),
    (
        "an escape sequence as an argument of `bench`, in a site or an address of `server`",
        "it reached the terminal",
        "it is shown as `\\x1b`",
    ),
    ("`bench list --profile ''`", "listed every profile", "an error: there is no such profile"),
    (
        "a symbolic link to itself as `--out`",
        "the link was replaced by a file",
        "an error: too many levels of links",
    ),
    (
        "a whole number of 400 digits in a record",
        "tracebacks (`OverflowError`) from the reports, long after the file was read",
        "the line is no valid record; `--seed` takes at most 15 digits",
    ),
    (
        "a member of a bundle whose size or sparse map is no possible number",
        "a traceback (`OverflowError`, `ValueError`) from `bundle --verify`",
        "one line: not a bundle",
    ),
)
"""Attack, what happened, what happens now."""

LEFT: Final[tuple[str, ...]] = (
    "aiohttp refuses lines of more than 8,190 bytes and httpx URLs of more than 65,536; "
    "longer ones are tried on the link extractor alone.",
    "With `PYTHONUNBUFFERED` set, `--help` on a full disk fails silently: argparse ignores it.",
    "`bench sidebyside` and `bench bundle` find out that their `--out` is a folder only after "
    "their work, seconds later.",
)
