"""Delays and the barrier, on a clock moved by hand."""

from __future__ import annotations

from typing import Any, cast

import pytest

from server.behaviour import Answer, Behaviour
from server.delays import Delay
from tests.server.clock import Clock


class World:
    """A behaviour, and when each answer left."""

    def __init__(self, delay: Delay | None = None) -> None:
        self.clock = Clock()
        self.in_flight = 0
        self.left: list[tuple[str, float]] = []
        self.behaviour = Behaviour(
            self.clock.loop,
            lambda: self.in_flight,
            delay or Delay(),
            lambda: None,
            self.clock.time,
        )

    def request(self, name: str) -> Answer:
        world = self

        class Waiting:
            def flush(self) -> None:
                world.in_flight -= 1
                world.left.append((name, round(world.clock.now - 100, 6)))

        answer = Answer(cast(Any, Waiting()), cast(Any, None), False, False)
        self.in_flight += 1
        self.behaviour.submit(answer, name.encode())
        return answer


def test_answers_wait_for_their_delay() -> None:
    world = World(Delay("fixed", 0.25))
    world.request("a")
    world.clock.advance(0.1)
    world.request("b")
    world.clock.advance(1)
    assert world.left == [("a", 0.25), ("b", 0.35)]


def test_a_released_answer_still_keeps_its_delay() -> None:
    world = World(Delay("fixed", 1.0))
    world.behaviour.hold(0)
    world.request("early")
    world.clock.advance(0.8)
    world.request("late")
    world.clock.advance(0.4)
    world.behaviour.release()
    world.clock.advance(5)
    assert world.left == [("early", 1.2), ("late", 1.8)]


def test_a_paced_release_lets_go_one_by_one() -> None:
    world = World()
    world.behaviour.hold(0)
    for name in ("a", "b", "c"):
        world.request(name)
    assert world.behaviour.release(2.0) == 3
    world.clock.advance(5)
    assert [name for name, _ in world.left] == ["a", "b", "c"]
    assert [when for _, when in world.left] == pytest.approx([0.0, 0.5, 1.0], abs=0.01)
    world.behaviour.hold(1)
    world.request("d")
    assert world.left[-1][0] == "d"
