"""Captured files of /proc and /sys, and a fake root to put them in."""

from __future__ import annotations

from pathlib import Path

SLABINFO = """\
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables
TCP                   26     26   2368   13    8 : tunables    0    0    0 : slabdata 2 2 0
sock_inode_cache      76     76    832   19    4 : tunables    0    0    0 : slabdata 4 4 0
filp                 581    588    192   21    1 : tunables    0    0    0 : slabdata 28 28 0
dentry            100089 101136    192   21    1 : tunables    0    0    0 : slabdata 4816 4816 0
eventpoll_epi        192    192    128   32    1 : tunables    0    0    0 : slabdata 6 6 0
anon_vma_chain       499    960     64   64    1 : tunables    0    0    0 : slabdata 15 15 0
broken line
"""

NETSTAT = """\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts
TcpExt: 0 2641 2650 3912
IpExt: InNoRoutes
IpExt: 0
"""
SNMP = """\
Tcp: ActiveOpens PassiveOpens RetransSegs
Tcp: 10 9 -1
"""


def put(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
