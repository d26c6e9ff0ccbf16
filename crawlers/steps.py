"""Run the steps of "A Web Crawler With asyncio Coroutines", their exercises, and a trace.

Without arguments it lists the steps. Each step is a small program in crawlers/chapter; the trace
shows who has control in the four models. docs/chapter.md teaches with them.

  python -m crawlers chapter                   the steps, and what became of each
  python -m crawlers chapter 3                 run the third on a site of its own
  python -m crawlers chapter 3 http://127.0.0.1:8000/
  python -m crawlers chapter --all             run all, and print one table: half a minute
  python -m crawlers chapter --break           the exercises
  python -m crawlers chapter --break 2         run a step as it is, and broken
  python -m crawlers chapter --trace 3 --svg trace.svg
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType

from crawlers.chapter import CRAWLS, STEPS, judge, trace
from crawlers.job import CrawlReport, Job, JobError, PageResult
from crawlers.origins import make_origin, normal_root, origin_prefix
from crawlers.terminal import Parser, complain, whole

SITE = "tree:200:5:2048"
FEW, MANY = 10, 100
"""Connections held open to find the memory of one; for Redis, 2 and a tenth."""
SLOTS = 10
"""What a step with workers has; more connections at once mean that it has no cap."""
DEADLINE_S = 5.0
SHORT_MS = 0.5
"""A loop that rests no longer has only looked whether it may."""
PAGE = Path(__file__).parents[1] / "docs" / "chapter.md"
EXERCISE = re.compile(r"^### \d\. (.+)\n\n(.+)\n\n```diff\n# (\w+)\n((?:.+\n)+?)```", re.M)
"""An exercise of that page, with its patch to a step."""
FIELDS = re.compile(
    r'^""".+?: ((?s:.+?))[.;:]\s(?s:.+?)'
    r"Waits: (.+)\. Switches: (.+)\.\nCosts: (.+)\. Became: (.+)\n"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = make_parser()
    options = parser.parse_intermixed_args(arguments)  # a URL may come after an option
    if options.svg and not options.trace:
        parser.error("--svg goes with --trace")
    try:
        if options.all:
            return show_all(as_json=options.json)
        if options.trace:
            return show_trace(options.trace, options.svg)
        if options.number is not None and options.url is None:
            return show_exercise(options.number) if options.number else list_exercises()
        if options.step is None:
            return list_steps()
        return show_one(options)
    except BrokenPipeError:  # who read has read enough; Python flushes again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except JobError as error:
        complain(str(error))
        return 2
    except ConnectionError as error:
        complain(f"{options.url}: {(error.strerror or 'closed').lower()}")
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        complain(f"{where}{error.strerror}")
        return 1
    except KeyboardInterrupt:
        return 130


def make_parser() -> argparse.ArgumentParser:
    """The options. ``--slots`` is for the judge, as is ``--break`` beside a URL."""
    parser = Parser(
        prog="python -m crawlers chapter",
        description=__doc__,
        epilog="Exit codes: 0 done, 1 a step failed, 2 bad usage, 130 interrupted.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("step", nargs="?", metavar="STEP", help="run the step of this number or name")
    add("url", nargs="?", metavar="URL", help="crawl this site (default: a server of its own)")
    add("--all", action="store_true", help="run all steps and print one table")
    add(
        "--break",
        dest="number",
        type=whole(0),
        nargs="?",
        const=0,
        metavar="N",
        help="list the exercises, or do one",
    )
    words = "show who has control in the four models, on a site of so many pages"
    add("--trace", type=whole(1), metavar="PAGES", help=words)
    add("--svg", type=Path, metavar="FILE", help="with --trace: draw it to this file, too")
    add("--json", action="store_true", help="print one JSON object on standard output")
    add("--slots", type=whole(1), nargs=1, default=[], help=argparse.SUPPRESS)
    return parser


def chosen(text: str) -> str:
    """A step by its name or number, which counts from 1."""
    if text in STEPS:
        return text
    if text.isascii() and text.isdecimal() and 0 < int(text) <= len(STEPS):
        return STEPS[int(text) - 1]
    raise JobError(f"no step {text!r}: list them with: python -m crawlers chapter")


def file_of(step: str) -> Path:
    """Where a step is."""
    return Path(judge.__file__).with_name(f"{step}.py")


def exercises() -> list[tuple[str, str, str, str]]:
    """Title, question, step and patch of each; :class:`JobError` without a clone."""
    if not PAGE.exists():
        raise JobError("the exercises are in docs/chapter.md of a clone")
    return EXERCISE.findall(PAGE.read_text("utf-8"))


def load(step: str, patch: str = "") -> ModuleType:
    """The module of a step, with each line marked ``-`` replaced by those marked ``+``."""
    file = file_of(step)
    source = file.read_text("utf-8")
    for old, new in re.findall(r"^-( *\S.*\n)((?:\+.*\n)*)", patch, re.M):
        if source.count("\n" + old) != 1:
            raise JobError(f"{file.name} has no such line, or several: {old.strip()}")
        source = source.replace("\n" + old, "\n" + re.sub(r"^\+", "", new, flags=re.M))
    module = ModuleType(step)
    exec(compile(source, file, "exec"), module.__dict__)  # nosec B102  # a file beside this one
    return module


def list_steps() -> int:
    """Print the steps: the idea of each, and what became of it."""
    for number, step in enumerate(STEPS, 1):
        idea, *_, became = FIELDS.findall(file_of(step).read_text("utf-8"))[0]
        print(f"{number:2} {step:<14} {' '.join(idea.split())}\n{'':17} became {became}")
    return 0


def list_exercises() -> int:
    """Print the exercises with their questions."""
    for number, (title, question, step, _) in enumerate(exercises(), 1):
        print(f"{number} {title} ({step})\n  {question}")
    return 0


def processor() -> float:
    """Seconds of processor time, with those of children that have ended."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def run(step: str, url: str, patch: str, slots: Sequence[int]) -> judge.Answer:
    """Run one step in this process. Raises :class:`JobError` for a server on another machine."""
    module, root = load(step, patch), normal_root(url)
    if not root.startswith("http:"):
        raise JobError(f"{root}: the steps do not speak TLS")
    make_origin(origin_prefix(root), Job((root,)))
    wall, used = time.monotonic(), processor()
    if step in CRAWLS:
        takes_slots = "slots" in module.crawl.__annotations__
        pages = module.crawl(root, *slots) if takes_slots else module.crawl(root)
    else:
        pages = module.main() or []
    wall, used = time.monotonic() - wall, processor() - used
    rows = {page.url: PageResult(page.status, 0, page.checksum) for page in pages}
    report = CrawlReport(step, root, 1, wall, None, rows, {}, prefix=origin_prefix(root))
    return {
        "pages": len(pages),
        "duplicates": len(pages) - len(rows),
        "seconds": round(wall, 3),
        "processor": round(used, 3),
        "digest": report.digest,
    }


def show_one(options: argparse.Namespace) -> int:
    """Run one step: here on a URL, or by the judge on a site of its own."""
    step = chosen(options.step)
    *_, own, patch = exercise(options.number) if options.number else (step, "")
    if own != step:
        raise JobError(f"exercise {options.number} is of the step {own}")
    if options.url is None and step in CRAWLS:
        with judge.serving(SITE) as site:
            answer = judge.run(step, site)
        if "seconds" not in answer:
            raise JobError(answer["says"].removeprefix("crawlers: ") or f"{step} did not end")
        print(sentence(step, site, answer))
        return 0
    if options.json:  # its judge ends it so, also where a shell in the background ignores Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    url = "http://127.0.0.1/" if options.url is None else options.url
    answer = run(step, url, patch, options.slots)
    if options.json:
        print(json.dumps(answer))
    elif step in CRAWLS:
        print(
            f"{answer['pages']} pages, {answer['seconds']} s, {answer['duplicates']} duplicates, "
            f"{answer['processor']} s of processor time"
        )
    return 0


def exercise(number: int) -> tuple[str, str, str, str]:
    """An exercise by its number, which counts from 1."""
    known = exercises()
    if not 0 < number <= len(known):
        raise JobError(f"no exercise {number}: list them with: python -m crawlers chapter --break")
    return known[number - 1]


def show_exercise(number: int) -> int:
    """Run a step as it is, and with the patch of an exercise."""
    title, question, step, patch = exercise(number)
    print(f"{title}. {question}\n\n{patch}")
    with judge.serving(SITE) as site:
        for label, options in (("before", ()), ("after", ("--break", str(number)))):
            answer = judge.run(step, site, *options, deadline_s=DEADLINE_S)
            print(f"{label:<7} {sentence(step, site, answer)}")
    return 0


def sentence(step: str, site: judge.Answer, answer: judge.Answer) -> str:
    """What came of a run, in one line."""
    once = verdict(step, site, answer)
    words = [f"all pages once: {once}" if once.startswith(("yes", "no")) else once]
    if "seconds" in answer:
        share = 100 * answer["processor"] / answer["seconds"]
        words.append(f"{answer['seconds']} s, {share:.0f} % of a processor")
    else:
        words.append("did not end")
    if step in CRAWLS:
        most = answer["peak_connections"]
        words.append(f"{most} connection{'' if most == 1 else 's'} at once")
    return "; ".join(filter(None, [*words, answer["says"]]))


def verdict(step: str, site: judge.Answer, answer: judge.Answer) -> str:
    """Whether all pages came once, by the digest and the ledger of the server."""
    if step not in CRAWLS:
        return ""
    again = answer["total"] - answer["distinct"]
    if "seconds" not in answer:
        return f"{answer['distinct']} of {site['urls']} URLs"
    if again or answer["distinct"] != site["urls"] or answer.get("digest", "?") != site["digest"]:
        return f"no: {answer['distinct']} of {site['urls']} URLs, {again} requested again"
    if answer["peak_connections"] == 1:
        return "yes, one page at a time"
    return "yes" if answer["peak_connections"] <= SLOTS else "yes, a socket for each link"


def judged() -> Iterator[tuple[str, judge.Answer, judge.Answer]]:
    """Every step with what the judge found of it, and its row: numbers as far as it has them."""
    with (
        judge.serving(SITE) as site,
        judge.serving(f"tree:{FEW + 1}:{FEW}:4096") as few,
        judge.serving(f"tree:{MANY + 1}:{MANY}:16384") as many,
    ):
        for step in STEPS:
            answer, row = judge.run(step, site), {}
            if step in CRAWLS and "seconds" in answer:
                row = {
                    "pages_per_s": answer["pages"] / answer["seconds"],
                    "ms": 1000 * answer["processor"] / answer["pages"],
                    "kib": cost(step, few, many) if answer["peak_connections"] > 1 else None,
                    "at_once": answer["peak_connections"],
                }
            yield step, {**answer, "verdict": verdict(step, site, answer)}, row


def show_all(*, as_json: bool) -> int:
    """Judge every step, and print one table, or the numbers as one JSON object."""
    if as_json:
        print(json.dumps({step: row for step, _, row in judged()}))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table("step", "what waits", "what switches", box=None)
    for head in ("lines", "pages/s", "ms", "KiB", "at once"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("all pages once?")
    failed = 0
    for number, (step, answer, row) in enumerate(judged(), 1):
        source = file_of(step).read_text("utf-8")
        _, waits, switches, *_ = FIELDS.findall(source)[0]
        ended = "seconds" in answer
        failed += not ended
        table.add_row(
            f"{number} {step}",
            waits,
            switches,
            str(source.count("\n")) if ended else "",
            f"{row['pages_per_s']:.0f}" if row else "",
            f"{row['ms']:.2f}" if row else "",
            f"{row['kib']:.1f}" if row and row["kib"] is not None else "",
            f"{row['at_once']}" if row else "",
            answer["verdict"] if ended else answer["says"] or "did not end",
        )
    Console(width=max(100, Console().width)).print(table, highlight=False)
    print("ms: processor time of a page. KiB: user memory of one more connection.")
    return 1 if failed else 0


def cost(step: str, few: judge.Answer, many: judge.Answer) -> float | None:
    """The memory of one more connection in KiB; None where too few could be opened."""
    with ThreadPoolExecutor() as pool:
        sizes = (2, MANY // 10) if step == "redis_workers" else (FEW, MANY)
        both = pool.map(judge.held, (step, step), (few, many), sizes)
    (count, size), (more, larger) = both
    return (larger - size) / (more - count) / 1024 if more > count > 0 else None


def show_trace(pages: int, file: Path | None) -> int:
    """Crawl a small site with each model; print who had control, and draw it."""
    from crawlers.catalogue import MODELS

    traces = {}
    with judge.serving(f"tree:{pages}:4:1024") as site:
        judge.call(site, "/reset", {"delay": "fixed:5"})
        for model in MODELS:
            module = import_module(f"crawlers.{model}")
            traces[model] = trace.trace(module, f"http://{site['listening']}/")
    if file is not None:  # before the first line, after which a reader such as head may leave
        try:
            file.write_text(trace.svg(traces), "utf-8")
        except OSError as error:  # of a full disk it names no file
            raise OSError(error.errno, error.strerror, str(file)) from None
    for model, turns in traces.items():
        print(model)
        for who, begun, ended, does, waits in turns:
            if who != "loop" or ended - begun > SHORT_MS:
                print(f"{begun:8.2f} ms  {who:<7} {does and f'{does}; '}{waits}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
