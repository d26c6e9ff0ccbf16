"""Tests of the crawlers package: the shared parts by themselves, and every backend."""

from __future__ import annotations
