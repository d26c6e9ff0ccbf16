"""Tests, laid out as the tree they test."""

from __future__ import annotations
