"""What a crawl and a campaign do on a machine that runs out of something.

Most cases need root, for a namespace or another user; :func:`why_not` says what is missing. As a
program it is the crawl inside such a namespace.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.launch import ROOT
from tests.bench import small
from tests.server.fixture_server import running

SITE = "tree:100:5:1024"
SMOKE = "-m bench run --profile smoke --blocks 1 --seed 1 --no-charts --json"
HARNESS = [sys.executable, *SMOKE.split(), "--only", "throughput-100"]
HARNESS += ["--backends", "threads,callbacks"]
TIMEOUT_S = 100.0

NETWORK = ("unshare", "--net", "sh", "-c")
MOUNTS = ("unshare", "--mount", "sh", "-c")
UP = "ip link set lo up && "
GO = ' && exec "$@"'
ANOTHER_USER = (
    # Another one in each process: the limit counts the tasks of all processes of a user.
    "setpriv",
    f"--reuid={54321 + os.getpid() % 10_000}",
    "--clear-groups",
    # Root is exempt from the limit, and another user may not be able to read this folder.
    "--inh-caps=+dac_read_search,+dac_override",
    "--ambient-caps=+dac_read_search,+dac_override",
)
FILL = """
mount -t tmpfs -o size=60m none {folder} || exit 9
(for turn in $(seq 900); do
    [ $(cat {folder}/*/trials.jsonl 2>/dev/null | wc -l) -ge 2 ] && break; sleep 0.05
done; dd if=/dev/zero of={folder}/fill bs=1M 2>/dev/null) &
"$@"; code=$?; wait; rm {folder}/fill
"$1" -m bench run --resume {folder}/*/ --no-charts --json >/dev/null || exit 8
exit $code
"""
CLOCK = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    struct timespec up;
    int failed = syscall(SYS_clock_gettime, clock, now);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &up);
    if (clock == CLOCK_REALTIME) now->tv_sec += up.tv_sec % 2 ? 86400 : -86400;
    return failed;
}
"""
"""A clock that steps by two days, back and forth, every second."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The exit code, and words that must be in the output."""

    code: int
    words: str


@dataclass(frozen=True, slots=True)
class Case:
    """A thing that there is too little of, and the expected outcomes.

    ``wrap`` goes before the command; ``{folder}`` stands for an empty folder for the
    results. With ``inside`` the server is under the limit too.
    """

    name: str
    how: str
    wrap: tuple[str, ...]
    crawler: Expected | None
    harness: Expected
    root: bool = True
    backend: str = "callbacks"
    options: tuple[str, ...] = ()
    site: str = SITE
    inside: bool = False
    url: str = ""


CASES = (
    Case(
        "descriptors",
        "70 open files",
        ("prlimit", "--nofile=70:70"),
        Expected(2, "100 connections need 164 descriptors"),
        Expected(1, "descriptors: soft limit 70; 228 needed"),
        root=False,
        options=("-c", "100"),
    ),
    Case(
        "threads",
        "60 threads for this user (`RLIMIT_NPROC`)",
        (*ANOTHER_USER, "prlimit", "--nproc=60"),
        Expected(2, "this system starts no more than 59 threads"),
        Expected(1, "RLIMIT_NPROC leaves room for 5"),
        backend="threads",
        options=("-c", "100"),
    ),
    Case(
        "memory",
        "120 MB of address space (`RLIMIT_AS`), and pages of 8 MB",
        ("prlimit", "--as=120000000"),
        Expected(1, "out of memory"),
        Expected(2, "needs 1 GiB of address space"),
        root=False,
        options=("-c", "20"),
        site="tree:50:3:8000000",
    ),
    Case(
        "ports",
        "10 ephemeral ports",
        (*NETWORK, UP + "echo '20000 20009' >/proc/sys/net/ipv4/ip_local_port_range" + GO, "sh"),
        Expected(0, "× limit"),
        Expected(1, "10 ephemeral ports, 0 in TIME_WAIT; 100 needed"),
        options=("-c", "50", "--connection", "close"),
        inside=True,
    ),
    Case(
        "accept queue",
        "room for 20 connections that wait (`somaxconn`)",
        (*NETWORK, UP + "echo 20 >/proc/sys/net/core/somaxconn" + GO, "sh"),
        Expected(0, "no errors"),
        Expected(0, "3 trials, 0 bad"),
        options=("-c", "100"),
        inside=True,
    ),
    Case(
        "disk",
        "32 KB for results",
        (*MOUNTS, "mount -t tmpfs -o size=32k none {folder}" + GO, "sh"),
        None,
        Expected(1, " KiB free"),
    ),
    Case(
        "disk in the middle",
        "60 MB for results, used up by another program after the first trial",
        (*MOUNTS, FILL, "sh"),
        None,
        Expected(2, "the records before this one are safe; free some space and continue with"),
    ),
    Case(
        "read-only results",
        "the folder is mounted read-only",
        (*MOUNTS, "mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}" + GO, "sh"),
        None,
        Expected(2, "Read-only file system"),
    ),
    Case(
        "no whole /proc",
        "mounted, but for processes alone",
        (*MOUNTS, "mount -t proc -o subset=pid none /proc" + GO, "sh"),
        Expected(0, "no errors"),
        Expected(2, "no /proc here"),
    ),
    Case(
        "one processor",
        "pinned to one",
        ("taskset", "--cpu-list", "0"),
        Expected(0, "no errors"),
        Expected(0, "processors: 1 usable"),
        root=False,
    ),
    Case(
        "no IPv6",
        "switched off, and an IPv6 address to crawl",
        (*NETWORK, UP + "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6" + GO, "sh"),
        Expected(1, "or local address is left for a new connection"),
        Expected(0, "3 trials, 0 bad"),
        url="http://[::1]:8000/",
    ),
    Case(
        "clock",
        "the wall clock steps by two days, back and forth, every second",
        ("env", "LD_PRELOAD={clock}"),
        Expected(0, "no errors"),
        Expected(0, "3 trials, 0 bad"),
        root=False,
    ),
)


def why_not(case: Case) -> str | None:
    """Why a case cannot be set up here; None if it can."""
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    if case.root and os.geteuid() != 0:
        return "needs root"
    tools = {"unshare": "ip"} if case.wrap[0] == "unshare" else {"env": "gcc"}
    for tool in (case.wrap[0], tools.get(case.wrap[0], case.wrap[0])):
        if shutil.which(tool) is None:
            return f"needs {tool}"
    if case.wrap[0] == "unshare":
        tried = subprocess.run([*case.wrap[:2], "true"], capture_output=True)
        return "no namespaces here" if tried.returncode else None
    return None


def confined(case: Case, folder: Path, command: list[str]) -> tuple[int, str, str]:
    """Run a command under the limit; exit code, output and error output."""
    (folder / "results").mkdir()
    clock = folder / "clock.so"
    if "{clock}" in case.wrap[-1]:
        build = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(clock)]
        subprocess.run(build, input=CLOCK, text=True, check=True)
    wrap = [
        part.replace("{folder}", str(folder / "results")).replace("{clock}", str(clock))
        for part in case.wrap
    ]
    done = subprocess.run(
        [*wrap, *command],
        cwd=ROOT,
        env=small.environment() | {"COLUMNS": "1000"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    return done.returncode, done.stdout, done.stderr.replace(str(folder / "results"), "results")


def crawl(case: Case, folder: Path) -> str:
    """Crawl under the limit; the outcome in a line."""
    if case.inside:
        # The server must be under the limit as well, so this program runs there.
        arguments = ["-m", "tests.torture.limits", case.name]
        found = confined(case, folder, [sys.executable, *arguments])
    else:
        with running("--site", case.site) as server:
            url = case.url or f"http://{server.ready['listening']}/"
            found = confined(case, folder, crawler(case, url))
    code, output, errors = found
    assert case.crawler is not None
    line = errors.strip().rpartition("\n")[2].removeprefix("crawlers: ")
    if output and not line:
        report = json.loads(output)
        kinds = ", ".join(f"{count} × {kind}" for kind, count in report["errors"].items())
        line = f"{report['pages']} pages, {kinds or 'no errors'}"
    return judge(case, case.crawler, code, line, errors)


def crawler(case: Case, url: str) -> list[str]:
    short = ("--json", "--timeout", "2", "--max-tries", "8")
    return [sys.executable, "-m", "crawlers", case.backend, url, *short, *case.options]


def inside(case: Case) -> int:
    """Serve and crawl in this namespace."""
    with running("--site", case.site) as server:
        command = crawler(case, f"http://{server.ready['listening']}/")
        return subprocess.run(command).returncode


def campaign(case: Case, folder: Path) -> str:
    """Run a small campaign under the limit; the outcome in a line."""
    command = [*HARNESS, "--results", str(folder / "results")]
    code, output, errors = confined(case, folder, command)
    parts = []
    telling = ("refus", "failed", "void", "warning: processors", "python -m bench")
    for line in errors.splitlines():
        if line.startswith(telling):
            parts.append(line.removeprefix("python -m bench: "))
            break
    if output and not any(part.startswith("refusal") for part in parts):
        outcome = json.loads(output)
        parts.append(f"{outcome['trials']} trials, {outcome['bad']} bad")
    return judge(case, case.harness, code, "; ".join(parts), errors)


def judge(case: Case, expected: Expected, code: int, line: str, errors: str) -> str:
    """The outcome in a line; raises AssertionError if it is not the expected one."""
    assert code == expected.code, f"{case.name}: exit code {code}: {errors}"
    assert expected.words in line, f"{case.name}: {line!r}: {errors}"
    return f"exit {code}: {line}"


if __name__ == "__main__":
    raise SystemExit(inside(next(case for case in CASES if case.name == sys.argv[1])))
