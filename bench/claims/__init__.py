"""The claims ledger: well-known claims about Python concurrency, then and now.

Each claim is one file in ``sentences/``, measured by the trials of a campaign or by a small
experiment in ``experiments/``, which the command runs as a study (:mod:`bench.study`). ``verdict``
turns records into numbers with intervals and compares these with the claim, ``ledger`` shows the
result. No verdict is stored: all are computed from the records.
"""
