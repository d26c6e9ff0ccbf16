"""The judge: runs a step in a process of its own, and asks the fixture server what it saw."""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

from crawlers.job import JobError

Answer = dict[str, Any]


def start(*arguments: str) -> Popen[str]:
    command, folder = [sys.executable, "-m", *arguments], Path(__file__).parents[2]
    return Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, cwd=folder)


@contextmanager
def serving(site: str) -> Iterator[Answer]:
    """A fixture server, by its ready line. Raises :class:`JobError` if it does not start."""
    with start("server", "--json", "--exit-with-parent", "--cache", "", "--site", site) as server:
        if not (line := server.stdout.readline() if server.stdout else ""):
            raise JobError(f"no fixture server: {server.communicate()[1].strip()}")
        try:
            yield json.loads(line)
        finally:
            server.terminate()


def call(site: Answer, path: str, body: object = None) -> Answer:
    """Call the control plane; a body makes it a POST."""
    from http.client import HTTPConnection  # slow to import, and steps do without

    token = {"X-Token": os.environ.get("C10K_CONTROL_TOKEN") or "chapter"}
    with closing(HTTPConnection(site["control"], timeout=30)) as control:
        control.request("GET" if body is None else "POST", path, json.dumps(body), token)
        return dict(json.load(control.getresponse()))


def run(step: str, site: Answer, *options: str, deadline_s: float = 20.0) -> Answer:
    """Run a step on a site, up to a deadline; what it says of itself, and the ledger."""
    call(site, "/reset", {"delay": "fixed:5"})
    with start("crawlers.steps", step, site["listening"], "--json", *options) as child:
        try:
            out, err = child.communicate(timeout=deadline_s)
        except TimeoutExpired:
            child.send_signal(signal.SIGINT)
            out, err = child.communicate()
    says = re.findall(r"^Task was destroyed.*", err, re.M)  # may bring about other errors
    says += re.findall(r"^(?:crawlers: |\w*Error\b).*", err, re.M)
    answer = {} if child.returncode else json.loads(out.splitlines()[-1])
    return {"says": "".join(says[:1]), **call(site, "/ledger?summary=1"), **answer}


def memory(pid: int | str) -> int:
    """Bytes that a process and its children have for themselves."""
    own = re.findall(r"Pss_Anon: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return 1024 * int(own[0]) + sum(map(memory, children))


def held(step: str, site: Answer, slots: int) -> tuple[int, int]:
    """How many connections wait for the server, which holds all but the root; the memory then."""
    call(site, "/reset", {"delay": "fixed:300", "hold": 0})
    with start("crawlers.steps", step, site["listening"], "--slots", str(slots)) as child:
        count = 0
        while child.poll() is None and count < slots:
            time.sleep(0.05)
            count = call(site, "/hold", {"n": 0} if count else None)["in_flight"]
        size = memory(child.pid) if count else 0
        call(site, "/reset", {"delay": "none", "hold": 0})
        child.communicate()
    return count, size
