"""The claims ledger: well-known claims about Python concurrency, then and now.

Each claim is one file in ``sentences/``, measured either by the trials of a campaign
or by a small experiment in ``experiments/``. Data flows one way: ``measure`` makes the
experiments a study (:mod:`bench.study`), ``verdict`` turns records into numbers with intervals and
compares these with the claim, ``ledger`` shows the result. No verdict is stored: all are computed
from the records.
"""
