"""Three hosts on one machine: network namespaces with addresses of their own (iproute2, root).

A bridge in a namespace of its own joins them, so nothing of the machine's own
network is touched, and everything is gone when the namespaces are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

NET = "10.77.0"


def ip(*arguments: str) -> None:
    """One call of ``ip``. Raises :class:`subprocess.CalledProcessError` when it fails."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=300)


class Network:
    """The namespaces; host ``n`` has the address ``10.77.0.n``, from 1."""

    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self.count = count

    def space(self, host: int) -> str:
        """The namespace of a host; 0 is the bridge's."""
        return f"{self.name}-{host}"

    def address(self, host: int) -> str:
        """Its address."""
        return f"{NET}.{host}"

    def inside(self, host: int, *command: str) -> list[str]:
        """A command as it runs on a host."""
        return ["ip", "netns", "exec", self.space(host), *command]

    def cut(self, host: int) -> None:
        """Unplug the host: all its packets are lost from now on."""
        ip("-n", self.space(0), "link", "set", f"to{host}", "down")

    def up(self) -> None:
        """Make it all."""
        ip("netns", "add", self.space(0))
        ip("-n", self.space(0), "link", "add", "bridge", "type", "bridge")
        ip("-n", self.space(0), "link", "set", "bridge", "up")
        for host in range(1, self.count + 1):
            own, far = self.space(host), f"to{host}"
            ip("netns", "add", own)
            ip("-n", own, "link", "set", "lo", "up")
            ip("-n", own, "link", "add", "eth0", "type", "veth", "peer", far)
            ip("-n", own, "link", "set", far, "netns", self.space(0))
            ip("-n", self.space(0), "link", "set", far, "master", "bridge", "up")
            ip("-n", own, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
            ip("-n", own, "link", "set", "eth0", "up")

    def down(self) -> None:
        """Take it all away."""
        for host in range(self.count + 1):
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", self.space(host))


@contextmanager
def network(count: int) -> Iterator[Network]:
    """So many hosts, for as long as they are needed."""
    made = Network(f"fleet{os.getpid()}", count)
    try:
        made.up()
        yield made
    finally:
        made.down()


def missing() -> str | None:
    """Why this machine cannot do it, None when it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "no ip (iproute2)"
    try:
        with network(1):
            return None
    except subprocess.CalledProcessError as error:
        return f"no network namespaces here: {error.stderr.decode().strip()}"
