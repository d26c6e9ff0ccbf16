"""What encryption costs, recounted from made-up records with known costs."""

from __future__ import annotations

import pytest

from bench.questions import tls_pages
from tests.bench.encrypted import encrypted
from tests.bench.sure import sure
from tests.bench.synthetic import MODELS, analysed

FULL = analysed(encrypted(backends=(*MODELS, "aiohttp")))


def test_encryption_and_handshake_are_differences() -> None:
    found = tls_pages.measured(FULL)
    assert found.median("threads", "plain") == pytest.approx(1.1 * 20)
    assert found.median("threads", tls_pages.ENCRYPTION) == pytest.approx(1.1 * 12)
    assert found.median("threads", tls_pages.HANDSHAKE) == pytest.approx(1.1 * 1000)


def test_a_resumed_handshake_has_a_figure_only_where_the_server_saw_one() -> None:
    found = tls_pages.measured(FULL)
    assert found.median("aiohttp", tls_pages.RESUMPTION) == pytest.approx(1.1 * 0.4 * 1700)
    assert found.spread("threads", tls_pages.RESUMPTION) is None
    answer = sure(tls_pages.answer(FULL))
    assert "Sessions are resumed by `aiohttp`." in answer.prose
    assert "A full handshake costs the client 1.10 ms" in answer.prose
