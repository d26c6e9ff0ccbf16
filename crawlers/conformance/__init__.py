"""The conformance suite: what every backend must do, ours and yours.

Run it on one backend with ``python -m crawlers conformance NAME``, or with
``pytest PATH-OF-THIS-FOLDER --backend NAME``. :mod:`crawlers.conformance.scripted`
has the servers, including the broken ones.
"""

from __future__ import annotations
