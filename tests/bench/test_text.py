"""Numbers, times and sizes in words."""

from __future__ import annotations

from bench.text import (
    capital,
    duration,
    duration_tick,
    number,
    printable,
    significant,
    size_words,
    times,
)


def test_number_words() -> None:
    assert [number(x) for x in (0, -0.0, 0.05, 7.5, 320, 5000, 60_000, 1.2e6)] == [
        "0",
        "0",
        "0.05",
        "7.5",
        "320",
        "5,000",
        "60k",
        "1.2M",
    ]
    assert [duration(x) for x in (0.0423, 1.84, 27.3, 582, 1310)] == [
        "42 µs",
        "1.8 ms",
        "27 ms",
        "580 ms",
        "1.3 s",
    ]
    assert [duration(-582), duration_tick(-0.01), duration_tick(-0.0)] == ["-580 ms", "-10 µs", "0"]
    assert size_words(8.86 * 1024, 2) == "8.9 KiB"
    assert size_words(547 * 1024**2) == "547 MiB"
    assert [times(x) for x in (0.661, 1.53, 6.09, 12.4)] == ["0.66", "1.53", "6.1", "12"]
    assert significant(0, 2) == "0"
    assert significant(9.996, 3) == significant(10.0, 3) == "10.0"


def test_a_capital_leaves_the_rest_and_what_has_none() -> None:
    found = [capital(text) for text in ("with Ctrl-C", "37 of 40", "°C", "")]
    assert found == ["With Ctrl-C", "37 of 40", "°C", ""]


def test_printable_keeps_text_and_shows_control_characters() -> None:
    assert printable("µs – 漢字\ttab\nline 🙂") == "µs – 漢字\ttab\nline 🙂"
    assert printable("a\x1b[2Jb\x9bd\u202ee\r") == r"a\x1b[2Jb\x9bd\u202ee\r"
