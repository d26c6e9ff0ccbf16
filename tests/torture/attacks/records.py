"""Hostile records: trials.jsonl and turns.jsonl.gz.

Every command that reads records must end with exit code 0 or 1, or with 2 and one line;
and nothing may be written outside the folder that was named.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

from bench import store, turnlog
from bench.__main__ import main
from bench.text import CONTROL
from tests.bench.synthetic import campaign

COMMANDS: Final = ("check", "cite", "export", "findings", "compare", "claims", "report")
Lines = list[bytes]
BLOCKS: Final = 3
"""More would take longer, for the resampling."""
ERROR, FINE, EITHER = "error", "fine", "either"


@dataclass(frozen=True, slots=True)
class Case:
    """How the lines of a campaign are spoilt, and whether they may still be read."""

    name: str
    spoil: Callable[[Lines], bytes]
    wanted: str = ERROR


def joined(lines: Lines) -> bytes:
    """Lines as a file."""
    return b"".join(line + b"\n" for line in lines)


def edited(at: int, **changes: Any) -> Callable[[Lines], bytes]:
    """Change fields of one record; a dotted name is a field of a field, ``__`` for the dot."""

    def spoil(lines: Lines) -> bytes:
        record = json.loads(lines[at])
        for name, value in changes.items():
            *path, last = name.split("__")
            place = record
            for step in path:
                place = place[step]
            place[last] = value
        return joined([*lines[:at], json.dumps(record).encode(), *lines[at + 1 :]])

    return spoil


def every(**changes: Any) -> Callable[[Lines], bytes]:
    """Change fields of all trials."""

    def spoil(lines: Lines) -> bytes:
        for at, line in enumerate(lines):
            if b'"kind":"trial"' in line:
                lines = edited(at, **changes)(lines).splitlines()
        return joined(lines)

    return spoil


def raw(old: bytes, new: bytes) -> Callable[[Lines], bytes]:
    """Replace bytes in the first trial."""

    def spoil(lines: Lines) -> bytes:
        assert old in lines[1], lines[1][:500]
        return joined([lines[0], lines[1].replace(old, new, 1), *lines[2:]])

    return spoil


def first_without(name: str) -> Callable[[Lines], bytes]:
    """Leave a field out of the first trial."""

    def spoil(lines: Lines) -> bytes:
        record = json.loads(lines[1])
        del record[name]
        return joined([lines[0], json.dumps(record).encode(), *lines[2:]])

    return spoil


def kept(wanted: Callable[[dict[str, Any]], bool]) -> Callable[[Lines], bytes]:
    """Keep some of the records after the first."""
    return lambda lines: joined(
        [lines[0], *(line for line in lines[1:] if wanted(json.loads(line)))]
    )


NESTED = b'{"kind":' * 100_000
HUGE = 10**400
CASES: Final = (
    Case("no bytes", lambda lines: b""),
    Case("one newline", lambda lines: b"\n"),
    Case("a thousand newlines between lines", lambda lines: (b"\n" * 1000).join(lines) + b"\n",
         FINE),
    Case("NULs alone", lambda lines: bytes(10_000)),
    Case("NULs at the end, as after a crash", lambda lines: joined(lines) + bytes(4096), EITHER),
    Case("NULs and a newline at the end", lambda lines: joined(lines) + bytes(4096) + b"\n"),
    Case("a BOM", lambda lines: b"\xef\xbb\xbf" + joined(lines)),
    Case("CRLF", lambda lines: joined(lines).replace(b"\n", b"\r\n"), FINE),
    Case("CR alone", lambda lines: joined(lines).replace(b"\n", b"\r")),
    Case("blanks around lines", lambda lines: joined([b" \t" + line + b" " for line in lines]),
         FINE),
    Case("UTF-16", lambda lines: joined(lines).decode().encode("utf-16")),
    Case("UTF-32", lambda lines: joined(lines).decode().encode("utf-32-le")),
    Case("gzip", lambda lines: gzip.compress(joined(lines))),
    Case("one JSON array", lambda lines: b"[" + b",".join(lines) + b"]\n"),
    Case("all on one line", lambda lines: b" ".join(lines) + b"\n"),
    Case("cut in the middle", lambda lines: joined(lines)[: len(joined(lines)) // 2], EITHER),
    Case("cut in the first line", lambda lines: lines[0][:100]),
    Case("no last newline", lambda lines: joined(lines)[:-1], EITHER),
    Case("no first line", lambda lines: joined(lines[1:])),
    Case("the first line alone", lambda lines: joined(lines[:1]), EITHER),
    Case("backwards", lambda lines: joined(lines[::-1])),
    Case("trials backwards", lambda lines: joined([lines[0], *lines[:0:-1]]), EITHER),
    Case("the first line twice", lambda lines: joined([lines[0], *lines])),
    Case("a trial twice", lambda lines: joined([*lines, lines[1]])),
    Case("all trials twice", lambda lines: joined([*lines, *lines[1:]])),
    Case("the end twice", lambda lines: joined([*lines, lines[-1]]), EITHER),
    Case("the end first", lambda lines: joined([lines[0], lines[-1], *lines[1:-1]]), EITHER),
    Case("a number", lambda lines: joined([*lines, b"1"])),
    Case("null", lambda lines: joined([*lines, b"null"])),
    Case("an empty object", lambda lines: joined([*lines, b"{}"])),
    Case("an unknown kind", lambda lines: joined([*lines, b'{"kind":"x"}'])),
    Case("a kind that is a list", lambda lines: joined([*lines, b'{"kind":[]}'])),
    Case("a kind with an escape", lambda lines: joined([*lines, b'{"kind":"\\u001b[2J"}'])),
    Case("a line of 100,000 brackets", lambda lines: joined([*lines, b"[" * 100_000])),
    Case("100,000 objects in each other", lambda lines: joined([*lines, NESTED])),
    Case("a thousand objects in each other", lambda lines: joined(
        [*lines, b'{"kind":' * 1000 + b"1" + b"}" * 1000])),
    Case("the same key twice", raw(b'{"kind":"trial"', b'{"kind":"trial","kind":"end"')),
    Case("a lone surrogate", raw(b'"reason":null', b'"reason":"\\ud800"'), EITHER),
    Case("a NUL in a string", raw(b'"reason":null', b'"reason":"\\u0000"'), EITHER),
    Case("bad UTF-8", raw(b'"reason":null', b'"reason":"\xff"')),
    Case("NaN", raw(b'"trial":', b'"trial":NaN,"x":')),
    Case("a trailing comma", raw(b'"reason":null', b'"reason":null,')),
    Case("a comment", raw(b'"reason":null', b'"reason":null/**/')),
    Case("single quotes", raw(b'"reason"', b"'reason'")),
    Case("an unknown field", edited(1, surprise=1)),
    Case("a missing field", first_without("label")),
    Case("a schema of the future", edited(0, schema_version=2)),
    Case("a schema that is a string", edited(0, schema_version="1")),
    Case("a schema of 400 digits", edited(0, schema_version=HUGE)),
    Case("a schema that is a list", edited(0, schema_version=[[]])),
    Case("a trial of 400 digits", edited(1, trial=HUGE)),
    Case("a block of 5,000 digits", raw(b'"block":0', b'"block":' + b"9" * 5000)),
    Case("a block of 21 digits", edited(1, block=10**20)),
    Case("a block of -1", edited(1, block=-1), EITHER),
    Case("a block of 1.5", edited(1, block=1.5)),
    Case("a block that is true", edited(1, block=True), EITHER),
    Case("pages of 400 digits", edited(1, pages=HUGE)),
    Case("pages of 31 digits", edited(1, pages=10**30)),
    Case("pages of 19 digits", every(pages=10**19 - 1, bytes=10**19 - 1), EITHER),
    Case("pages of -1", edited(1, pages=-1), EITHER),
    Case("no pages anywhere", every(pages=0, pages_per_s=0), EITHER),
    Case("a rate of -1", edited(1, pages_per_s=-1)),
    Case("a rate of 1e400", raw(b'"pages_per_s":', b'"pages_per_s":1e400,"x":')),
    Case("a rate that is a string", edited(1, pages_per_s="1e400")),
    Case("all rates the same", every(pages_per_s=1000.0), EITHER),
    Case("all rates tiny", every(pages_per_s=5e-324), EITHER),
    Case("all rates zero", every(pages_per_s=0.0), EITHER),
    Case("all rates huge", every(pages_per_s=9e11), EITHER),
    Case("no rates", every(pages_per_s=None), EITHER),
    Case("a time of no length", every(elapsed_s=0.0), EITHER),
    Case("no processor time", every(cpu=None), EITHER),
    Case("processor time of zero", every(cpu__client_user_s=0.0, cpu__client_system_s=0.0),
         EITHER),
    Case("no ledger", every(ledger=None), EITHER),
    Case("no latencies", every(service_time=None), EITHER),
    Case("latencies of zero", every(service_time__p50_ms=0, service_time__p99_ms=0), EITHER),
    Case("latencies of -1", every(service_time__p50_ms=-1), EITHER),
    Case("latencies of 1e308", every(service_time__p99_ms=1e308), EITHER),
    Case("latencies of no samples", every(service_time__count=0), EITHER),
    Case("a histogram that is none", every(service_time__hdr="x"), EITHER),
    Case("an empty histogram", every(service_time__hdr=""), EITHER),
    Case("a histogram outside ASCII", every(service_time__hdr="é" * 99), EITHER),
    Case("a histogram of zeros", every(service_time__hdr="A" * 400), EITHER),
    Case("all trials void", every(status="void", reason="x"), EITHER),
    Case("all trials failed", every(status="failed", reason=None), EITHER),
    Case("all trials refused", every(status="refused", reason=""), EITHER),
    Case("no trials", kept(lambda record: record["kind"] != "trial"), EITHER),
    Case("one trial", kept(lambda record: record.get("trial") == 1), EITHER),
    Case("one block", kept(lambda record: record.get("block", 0) == 0), EITHER),
    Case("one label", kept(lambda record: record.get("label", "threads") == "threads"), EITHER),
    Case("no base", kept(lambda record: record.get("label") != "threads"), EITHER),
    Case("no twin", kept(lambda record: "#" not in record.get("label", "")), EITHER),
    Case("no ceiling", kept(lambda record: record["kind"] != "ceiling"), EITHER),
    Case("ceilings of zero", lambda lines: joined(
        [line.replace(b'"requests_per_s":', b'"requests_per_s":0,"ignored":', 0) for line in lines
         ]), EITHER),
    Case("an unknown backend", every(backend="x", label="x"), EITHER),
    Case("an empty label", edited(1, label=""), EITHER),
    Case("a label of 100,000 letters", edited(1, label="x" * 100_000), EITHER),
    Case("a label with a newline", edited(1, label="a\nb|c"), EITHER),
    Case("a label with markup", edited(1, label="<script>[/b]$x^2$\\alpha"), EITHER),
    Case("a point of dots", every(point="../../x"), EITHER),
    Case("a point with a slash", every(point="/etc/x"), EITHER),
    Case("an empty point", every(point=""), EITHER),
    Case("a workload that is none", every(workload="x"), EITHER),
    Case("a workload of dots", every(workload="../x"), EITHER),
    Case("slots that are a string", every(params__slots="x"), EITHER),
    Case("slots of 0", every(params__slots=0), EITHER),
    Case("slots of -1", every(params__slots=-1), EITHER),
    Case("slots of 31 digits", every(params__slots=10**30)),
    Case("no params", every(params={}), EITHER),
    Case("a digest of markup", every(digest="<b>"), EITHER),
    Case("a thousand statuses", edited(1, statuses={str(n): n for n in range(1000)}), EITHER),
    Case("an error with an escape", edited(1, errors={"\x1b[2J": 1}), EITHER),
    Case("an extra of 1e308", every(extra={"x": 1e308, "": -1e308}), EITHER),
    Case("a start that is no time", every(started="yesterday"), EITHER),
    Case("no blocks planned", edited(0, blocks=0, plan=[]), EITHER),
    Case("blocks of -1", edited(0, blocks=-1), EITHER),
    Case("blocks of 20 digits", edited(0, blocks=10**18), EITHER),
    Case("no backends", edited(0, backends=[]), EITHER),
    Case("no points", edited(0, points=[]), EITHER),
    Case("a base that is none", edited(0, base="x"), EITHER),
    Case("a twin that is none", edited(0, twin="x"), EITHER),
    Case("a campaign of dots", edited(0, campaign="../../x"), EITHER),
    Case("a campaign that is a path", edited(0, campaign="/etc/x"), EITHER),
    Case("an empty campaign", edited(0, campaign=""), EITHER),
    Case("a campaign of 5,000 letters", edited(0, campaign="x" * 5000), EITHER),
    Case("a campaign with a NUL", edited(0, campaign="a\0b"), EITHER),
    Case("a campaign of TeX", edited(0, campaign="{\\input{/etc/passwd}}}%"), EITHER),
    Case("created never", edited(0, created="never"), EITHER),
    Case("created in the year 99999", edited(0, created="99999-01-01"), EITHER),
    Case("no memory", edited(0, environment__memory_total_bytes=0), EITHER),
    Case("memory of 31 digits", edited(0, environment__memory_total_bytes=10**30)),
    Case("memory of -1", edited(0, environment__memory_total_bytes=-1), EITHER),
    Case("no processors", edited(0, environment__cpu_count=0), EITHER),
    Case("a thousand packages", edited(0, environment__packages={f"<{n}>": "]" for n in range(999)}
         ), EITHER),
    Case("a seed of 400 digits", edited(0, seed=HUGE)),
)  # fmt: skip


TURNS: Final = {
    "turns of nothing": b"",
    "turns of text": b"{}\n",
    "turns of zeros": bytes(1000),
    "turns of null": gzip.compress(b"null\n"),
    "turns of brackets": gzip.compress(b"[" * 100_000),
    "turns of a bomb": gzip.compress(bytes(50_000_000), 9),
    "turns that are cut": gzip.compress(b"{}\n")[:-5],
    "turns and a tail": gzip.compress(b'{"kind":"turns"}\n') + b"tail",
    "a thousand empty turns": gzip.compress(b"") * 1000,
    "turns of a wrong checksum": gzip.compress(b"{}")[:-8] + bytes(8),
}


def call(*arguments: str) -> tuple[int, str, str]:
    """Run a command in this process: exit code, standard output, standard error."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            code = main(list(arguments))
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
    return code, out.getvalue(), errors.getvalue()


def judged(code: int, out: str, errors: str, wanted: str) -> str | None:
    """What is wrong with an exit, None if nothing is."""
    if CONTROL.search(out + errors):
        return "control characters"
    if code not in (0, 1, 2) or (code == 2 and errors.count("\n") != 1):
        return f"exit {code}: {errors!r:.200}"
    if (wanted == ERROR and code == 0) or (wanted == FINE and code == 2):
        return f"exit {code}: {errors!r:.200}"
    return None


@cache
def lines_of() -> Lines:
    """The lines of a made-up campaign: its own, the trials, the rest, the end."""
    made = campaign(blocks=BLOCKS, samples=10, workloads=["throughput"])
    first, *rest = (record.model_dump_json().encode() for record in made)
    return [first, *sorted(rest[:-1], key=lambda line: b'"kind":"trial"' not in line), rest[-1]]


@contextmanager
def guarded(folder: Path) -> Iterator[list[str]]:
    """What is written beside the folder ``in`` of ``folder`` while this runs."""
    found: list[str] = []
    before = set(folder.iterdir())
    yield found
    found += sorted(path.name for path in set(folder.iterdir()) - before)


def read(case: Case, lines: Lines, at: Path, commands: tuple[str, ...] = COMMANDS) -> str | None:
    """Spoil the records and run every command on them: what is wrong, None if nothing is."""
    folder = at / "in" / "campaign"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / store.FILE_NAME
    file.write_bytes(case.spoil(list(lines)))
    before = file.read_bytes()
    for command in commands:
        more = {"compare": [str(folder)], "report": ["--out", str(folder / "out")]}
        more["claims"] = ["--out", str(folder / "out" / "claims.md")]
        with guarded(at) as strays, mock.patch("bench.report.charts.CHARTS", ()):
            try:
                code, out, errors = call(command, str(folder), *more.get(command, []))
                out = "" if command == "export" else out  # it is data
                wrong = judged(code, out, errors, case.wanted)
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"[:200]
        if wrong or strays:
            return f"{command}: {wrong or f'wrote {strays}'}"
    return None if file.read_bytes() == before else "the records were changed"


def turns(name: str, at: Path) -> str | None:
    """Load a damaged file of turns: a StoreError of one line, or what could be read."""
    (at / turnlog.FILE_NAME).write_bytes(TURNS[name])
    try:
        turnlog.load(at)
    except store.StoreError as error:
        return "an error of several lines" if "\n" in str(error) else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return None


def checks(at: Path, commands: tuple[str, ...] = COMMANDS) -> dict[str, Callable[[], str | None]]:
    """Every case as a call: by name, what it does."""
    lines = lines_of()
    found: dict[str, Callable[[], str | None]] = {}
    for case in CASES:
        found[f"records: {case.name}"] = lambda case=case: read(  # type: ignore[misc]
            case, lines, at, commands
        )
    for name in TURNS:
        found[name] = lambda name=name: turns(name, at)  # type: ignore[misc]
    return found
