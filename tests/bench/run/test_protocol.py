"""The messages between harness and worker: nothing lost on the way, nothing wrong accepted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bench.run.protocol import (
    Command,
    Failed,
    Message,
    ProtocolError,
    Ready,
    Schedule,
    decode,
    encode,
)
from tests.bench.small import RESULT

COMMAND = Command(
    backend="callbacks",
    prefix="http://127.0.0.1:1",
    warmup_prefix="http://127.0.0.1:2",
    urls=10,
    slots=2,
    timeout_s=10,
    schedule=Schedule(kind="poisson", rate=100.0, seed=3),
    switch_interval_s=None,
    recorder="times",
    out="/tmp/times",
    watch_parent=False,
)


@pytest.mark.parametrize(
    "message",
    [
        COMMAND,
        replace(COMMAND, schedule=None, urls=None, switch_interval_s=0.5, recorder="slots"),
        Ready(),
        RESULT,
        replace(RESULT, slots=1, ended=2, mechanism={"loop": "uvloop", "threads_peak": 1}),
        Failed("it broke\nin two lines"),
    ],
)
def test_a_message_survives_the_way(message: Message) -> None:
    line = encode(message)
    assert "\n" not in line
    assert decode(line) == message


@pytest.mark.parametrize("line", ["", "nonsense", "[]", "3", "{}", '{"message": "hello"}'])
def test_what_is_not_a_message_is_an_error(line: str) -> None:
    with pytest.raises(ProtocolError, match="not a message"):
        decode(line)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"slots": "2"}, r"Command\.slots cannot be '2'"),
        ({"slots": True}, r"Command\.slots cannot be True"),
        ({"slots": None}, r"Command\.slots cannot be None"),
        ({"urls": 1.5}, r"Command\.urls cannot be 1\.5"),
        ({"watch_parent": 1}, r"Command\.watch_parent cannot be 1"),
        ({"recorder": "all"}, r"Command\.recorder cannot be 'all'"),
        ({"schedule": {"kind": "poisson"}}, "Schedule needs the fields rate"),
        ({"schedule": {"kind": "late", "rate": 1}}, r"Schedule\.kind cannot be 'late'"),
        ({"schedule": 3}, r"Command\.schedule cannot be 3"),
        ({"colour": "red"}, "Command has no field colour"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, Any], error: str) -> None:
    values = json.loads(encode(COMMAND)) | changes
    with pytest.raises(ProtocolError, match=error):
        decode(json.dumps(values))


def test_missing_fields_are_named() -> None:
    values = json.loads(encode(COMMAND))
    del values["slots"], values["out"]
    with pytest.raises(ProtocolError, match="Command needs the fields out, slots"):
        decode(json.dumps(values))


def test_the_values_of_a_table_are_checked_too() -> None:
    values = json.loads(encode(RESULT))
    values["statuses"]["200"] = "ten"
    with pytest.raises(ProtocolError, match=r"Result\.statuses\['200'\] cannot be 'ten'"):
        decode(json.dumps(values))
