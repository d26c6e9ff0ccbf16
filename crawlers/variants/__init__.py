"""Further backends, one file each; each says what else it changes."""

from __future__ import annotations
