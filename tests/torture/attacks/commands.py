"""Command lines, environments, folders and limits against the three programs.

An error must be exit code 1 or 2 and one line, after at most a usage; never a traceback.
Cases without a surrounding of their own run in this process.
"""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench import store
from bench.__main__ import main as bench_main
from bench.launch import ROOT
from bench.text import CONTROL
from crawlers.command import main as crawlers_main
from crawlers.conformance.scripted import ScriptedServer, page
from tests.bench.synthetic import campaign

LINE, FINE, EITHER = "one line, exit 1 or 2", "exit 0", "exit 0, or one line"
PATIENCE_S: Final = 300.0
LONGEST: Final = 1500
"""Characters of a message, when the argument itself is short."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its arguments and its surroundings; ``URL`` and ``AT/`` are filled in."""

    name: str
    program: str
    arguments: tuple[str, ...]
    wanted: str = LINE
    env: Mapping[str, str] = field(default_factory=dict)
    shell: str = ""  # redirections
    before: str = ""  # shell commands

    @property
    def alone(self) -> bool:
        return bool(self.env or self.shell or self.before or self.program == "server")


def crawl(name: str, *arguments: str, wanted: str = LINE) -> Case:
    return Case(name, "crawlers", arguments, wanted)


def serve(name: str, *arguments: str, wanted: str = LINE) -> Case:
    return Case(name, "server", arguments, wanted)


def bench(name: str, *arguments: str, wanted: str = LINE) -> Case:
    return Case(name, "bench", arguments, wanted)


GO: Final = ("threads", "URL")
NUMBERS: Final = (
    ("an empty number", ""),
    ("Arabic digits", "٣x"),
    ("a number with a NUL", "1\x01"),
    ("a number of 5,000 digits", "9" * 5000),
    ("a number with an escape", "\x1b[2J"),
)
CRAWLERS: Final = (
    *(crawl(f"{what} as --concurrency", *GO, "-c", text) for what, text in NUMBERS),
    crawl("no arguments"),
    crawl("an empty backend", "", "URL"),
    crawl("a backend of newlines", "a\nb\n", "URL"),
    crawl("a backend with an escape", "\x1b[2J", "URL"),
    crawl("a backend that is a path", "../threads", "URL"),
    crawl("a backend of 100,000 letters", "x" * 100_000, "URL"),
    crawl("a surrogate as URL", "threads", "http://\udcff/"),
    crawl("a regex that repeats too often", *GO, "--exclude", "x{99999999999}"),
    crawl("a regex of 10,000 brackets", *GO, "--exclude", "(" * 10_000),
    crawl("a regex with a surrogate", *GO, "--exclude", "\udcff", wanted=FINE),
    crawl("an unknown option", *GO, "--\u202e"),
    crawl("conformance of a newline", "conformance", "a\nb"),
    crawl("more slots than descriptors", *GO, "-c", "999999999"),
)
SERVER: Final = (
    *(serve(f"{what} as --seed", "--seed", text) for what, text in NUMBERS),
    serve("an empty site", "--site", ""),
    serve("a site of colons", "--site", ":::"),
    serve("a site with a newline", "--site", "tree:1:1:1\n"),
    serve("a tree of fullwidth digits", "--site", "tree:１:1:1"),
    serve("a tree of 5,000 digits", "--site", "tree:" + "9" * 5000 + ":1:1"),
    serve("a folder that is a FIFO", "--site", "dir:AT/fifo"),
    serve("a folder that loops", "--site", "dir:AT/loop"),
    serve("a folder of surrogates", "--site", "dir:\udcff"),
    serve("a fault that is none", "--site", "faults:9:\x1b[2J"),
    serve("a delay of nan", "--delay", "fixed:nan"),
    serve("a delay with a newline", "--delay", "fixed:1\n2"),
    serve("an empty address", "--listen", ""),
    serve("a port of 65536", "--listen", "127.0.0.1:65536"),
    serve("a host with a NUL", "--listen", "a\x01b:0"),
    serve("a host of 300 letters", "--listen", "x" * 300 + ":0"),
    serve("a host of surrogates", "--listen", "\udcff:0"),
    serve("IPv6 with a zone", "--listen", "[::1%nothing]:0"),
    serve("an address of others", "--listen", "192.0.2.1:0", "--any-address"),
    serve("the same port twice", "--listen", "127.0.0.1:59999", "--control", "127.0.0.1:59999"),
)
BENCH: Final = (
    bench("no command"),
    bench("an unknown option", "check", "AT/good", "--\x1b[2J\n"),
    bench("a command with an escape", "\x1b[2J"),
    bench("a command with a newline", "run\nx"),
    *(
        bench(f"{command} of {what}", command, path, *more)
        for command, *more in (["report"], ["check"], ["export"], ["cite"], ["findings"])
        for what, path in (
            ("a FIFO", "AT/fifo"),
            ("a loop", "AT/loop"),
            ("an empty folder", "AT/empty"),
            ("binary", "AT/binary"),
        )
    ),
    bench("check of nothing", "check", ""),
    bench("check of a surrogate", "check", "\udcff"),
    bench("check of a sparse terabyte", "check", "AT/sparse"),
    bench("check of /dev/zero", "check", "/dev/zero"),
    bench("export into a folder", "export", "AT/good", "--out", "AT/empty"),
    bench("export into a loop", "export", "AT/good", "--out", "AT/loop"),
    bench("export to /proc", "export", "AT/good", "--out", "/proc/x"),
    bench("findings into binary", "findings", "AT/good", "--into", "AT/binary"),
    bench("findings without marks", "findings", "AT/good", "--into", "AT/text"),
    bench("a profile that is none", "run", "--profile", "\x1b[2J"),
    bench("an empty profile", "list", "--profile", ""),
    bench("a point that is none", "run", "--profile", "smoke", "--only", "[b]x"),
    bench("a backend that is none", "run", "--profile", "smoke", "--backends", "a\nb"),
    *(bench(f"{what} as --blocks", "run", "--blocks", text) for what, text in NUMBERS),
    bench("results in a file", "run", "--no-budget", "--results", "AT/binary"),
    bench("results in /proc", "run", "--no-budget", "--results", "/proc/x"),
    bench("resume of binary", "run", "--resume", "AT/binary"),
    bench("resume of a complete campaign", "run", "--resume", "AT/good", wanted=EITHER),
    bench("an interpreter that is none", "interpreters", "AT/binary"),
    bench("micro from binary", "micro", "--redraw", "--out", "AT/binary"),
    bench("a fleet report of binary", "fleet", "report", "AT/binary"),
    bench("a scheduler that is none", "fleet", "hold", "--scheduler", "\x1b[2J"),
    bench("a doctor of 5,000 digits", "doctor", "--connections", "9" * 5000, wanted=EITHER),
)
CRAWL: Final = ("crawlers", GO)
CITE: Final = ("bench", ("cite", "AT/good"))
HELP: Final = ("server", ("--help",))


def around(name: str, case: tuple[str, tuple[str, ...]], wanted: str = FINE, *,
           shell: str = "", before: str = "", **env: str) -> Case:  # fmt: skip
    """A right command line in odd surroundings."""
    return Case(f"{name}: {case[0]}", case[0], case[1], wanted, env, shell, before)


SURROUNDINGS: Final = tuple(
    case
    for program in (CRAWL, CITE)
    for case in (
        around("no TERM and no size", program, TERM="", COLUMNS="0", LINES="-1"),
        around("one column", program, COLUMNS="1"),
        around("colours forced", program, FORCE_COLOR="1", TERM="x\x1b"),
        around("a poor locale", program, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
        around("a strict encoding", program, PYTHONIOENCODING="ascii:strict"),
        around("UTF-16 output", program, PYTHONIOENCODING="utf-16"),
        around("without docstrings", program, PYTHONOPTIMIZE="2"),
        around("warnings as errors", program, PYTHONWARNINGS="error"),
        around("no home", program, HOME="/nonexistent", XDG_CACHE_HOME="x", XDG_CONFIG_HOME="\n"),
        around("no temporary folder", program, TMPDIR="/nonexistent"),
        around("all closed", program, shell="<&- >&- 2>&-"),
        around("a full disk", program, LINE, shell="> /dev/full"),
        around("a full disk for errors", program, shell="2> /dev/full"),
        around("no files of any size", program, before="ulimit -f 0"),
        around("a stack of 128 KB", program, EITHER, before="ulimit -s 128"),
        around("12 descriptors", program, EITHER, before="ulimit -n 12"),
        around("300 MB of memory", program, EITHER, before="ulimit -v 300000"),
        around("a folder that vanished", program, before='cd "$(mktemp -d)" && rmdir "$PWD"'),
        around("ignored signals", program, before="trap '' INT TERM HUP PIPE CHLD"),
    )
)  # fmt: skip
MORE: Final = (
    around("without docstrings, the help", ("bench", ("--help",)), PYTHONOPTIMIZE="2"),
    around("a full disk", HELP, LINE, shell="> /dev/full"),
    around("all closed", HELP, shell="<&- >&- 2>&-"),
    around("a strict encoding", HELP, PYTHONIOENCODING="ascii:strict"),
    around("one column", HELP, COLUMNS="1"),
    around("a full disk for --json", ("server", ("--json", "--site", "list:1:1")), LINE,
           shell="> /dev/full"),
    around("a token with a newline", ("server", ("--site", "x")), LINE, C10K_CONTROL_TOKEN="a\nb"),
    # As it ships, requests would read NETRC, however long it is.
    *(around("certificates that are none", ("crawlers", (name, "URL")), EITHER,
             SSL_CERT_FILE="/nonexistent", SSL_CERT_DIR="/x", REQUESTS_CA_BUNDLE="/nonexistent",
             SSLKEYLOGFILE="/nonexistent/x",
             NETRC="/nonexistent" if name in ("requests", "httpx") else "/dev/zero")
      for name in ("urllib3", "requests_tuned", "aiohttp", "httpx_tuned", "requests", "httpx")),
    around("an event loop that is none", ("crawlers", ("gevent", "URL")), LINE,
           GEVENT_LOOP="nonsense"),
)  # fmt: skip
CASES: Final = (*CRAWLERS, *SERVER, *BENCH, *SURROUNDINGS, *MORE)


@contextmanager
def scene() -> Iterator[tuple[Path, str]]:
    """A folder with odd files in it, and the URL of a good site."""
    with ExitStack() as stack:
        at = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attacks-")))
        server = stack.enter_context(ScriptedServer())
        server.script["/"] = page("/a")
        server.script["/a"] = page()
        for name in ("good", "empty", "sparse"):
            (at / name).mkdir(parents=True)
        lines = [one.model_dump_json() for one in campaign(samples=10, workloads=["throughput"])]
        (at / "good" / store.FILE_NAME).write_text("\n".join(lines) + "\n")
        (at / "binary").write_bytes(bytes(range(256)) * 10)
        (at / "text").write_text("text\n")
        (at / "loop").symlink_to(at / "loop")
        os.mkfifo(at / "fifo")
        with open(at / "sparse" / store.FILE_NAME, "wb") as sparse:
            sparse.truncate(1 << 40)
        yield at, server.url


def filled(case: Case, at: Path, url: str) -> list[str]:
    return [url if word == "URL" else word.replace("AT/", f"{at}/", 1) for word in case.arguments]


def here(case: Case, at: Path, url: str) -> tuple[int, str]:
    program: Callable[[list[str]], int] = bench_main if case.program == "bench" else crawlers_main
    errors, limits = io.StringIO(), resource.getrlimit(resource.RLIMIT_NOFILE)
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        try:
            code = program(filled(case, at, url))
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limits[0], limits[1]))
    return code, errors.getvalue()


def apart(case: Case, at: Path, url: str) -> tuple[int, str]:
    command = [sys.executable, "-m", case.program, *filled(case, at, url)]
    script = f'{case.before or ":"}; exec "$@" {case.shell}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *(os.fsencode(word) for word in command)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""} | dict(case.env),
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stderr.decode(errors="surrogateescape")


def judged(case: Case, code: int, errors: str) -> str | None:
    """What is wrong with an exit, None if nothing is."""
    if "Traceback" in errors:
        return errors.strip().splitlines()[-1]
    if CONTROL.search(errors):
        return f"control characters: {errors!r:.200}"
    if code == 0 and case.wanted != LINE:
        return None
    lines = [line for line in errors.splitlines() if not line.startswith(("usage:", " "))]
    if code not in (1, 2) or case.wanted == FINE:
        return f"exit {code}: {errors!r:.300}"
    if code == 1 and not lines and case.wanted == EITHER:
        return None  # doctor has said it on standard output
    if len(lines) != 1 and "2>&-" not in case.shell:
        return f"{len(lines)} lines: {errors!r:.300}"
    long = len(errors) > LONGEST + sum(map(len, case.arguments))
    return f"{len(errors)} characters" if long else None


def fault(case: Case, at: Path, url: str) -> str | None:
    try:
        return judged(case, *(apart if case.alone else here)(case, at, url))
    except subprocess.TimeoutExpired:
        return "it hangs"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


def wrong(cases: Sequence[Case], processes: int = 1) -> dict[str, str]:
    """What is wrong, by program and case; those with a process of their own run side by side."""
    with scene() as (at, url), ThreadPoolExecutor(processes) as pool:
        # Those in this process take over its standard streams.
        quick, alone = ([case for case in cases if case.alone is own] for own in (False, True))
        found = [(case, fault(case, at, url)) for case in quick]
        found += zip(alone, pool.map(lambda case: fault(case, at, url), alone), strict=True)
    return {f"{case.name} {case.arguments!r:.40}": text for case, text in found if text}
