"""The records of connections that are held open: memory at the barrier, and while it fills."""

from __future__ import annotations

from pydantic import Field

from bench.schema.base import Record


class MemoryParts(Record):
    """Memory by owner, in bytes; None where no source exists (see ``reasons``)."""

    user_bytes: int | None  # private anonymous, Pss_Anon of the worker
    rss_bytes: int | None
    page_table_bytes: int | None
    kernel_stack_bytes: int | None
    kernel_socket_bytes: int | None  # the client's side of the sockets
    send_buffer_bytes: int | None  # kept by each thread that has sent; calculated
    kernel_other_bytes: int | None  # dentries, inodes, files, epoll items, task structs
    server_socket_bytes: int | None  # the server's side, never counted as the client's
    threads: int
    descriptors: int | None


class Memory(Record):
    """Memory at the barrier, while connections are held open and nothing else happens."""

    connections: int
    before: MemoryParts  # started, warmed up, no connection yet
    held: MemoryParts  # all connections open, answers withheld
    machine_drop_bytes: int | None  # by the second method, for the whole machine
    sources: dict[str, str]  # part -> "smaps_rollup Pss_Anon", "slabinfo", "cgroup v1 kmem" ...
    reasons: dict[str, str] = Field(default_factory=dict)


class Ramp(Record):
    """Connections and memory while the barrier fills and opens, as columns of equal length."""

    at_ms: list[int]  # since the worker got the signal to start
    connections: list[int]  # open at the server
    own_kib: list[int | None]  # the worker's user memory, page tables and kernel stacks
    opened_ms: int | None  # when the barrier opened, None if it never did
