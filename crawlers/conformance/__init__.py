"""The conformance suite: what every backend must do, ours and yours.

Run it on one backend with ``python -m crawlers conformance NAME``, or with
``pytest PATH-OF-THIS-FOLDER --backend NAME``. The servers it needs
are in :mod:`crawlers.conformance.scripted`, and say what a bad one says.
"""

from __future__ import annotations
