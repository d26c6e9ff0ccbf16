"""The names of a report's files."""

from __future__ import annotations

CHARTS = "charts"
SUMMARY = "summary.md"
PAGE = "report.html"
CITATION = "citation.bib"
PLAIN_WIDTH = 140
"""Columns of a table where there is no terminal to ask."""
