"""Servers that change one thing against a model, and whole stacks."""

from __future__ import annotations
