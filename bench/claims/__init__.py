"""The claims ledger: well-known claims about Python concurrency, then and now.

Each claim is one file in ``sentences/``, measured either by the trials of a campaign
or by a small experiment in ``experiments/``. Data flows one way: ``measure`` runs the
experiments and keeps their results, ``readings`` turns records into numbers with
intervals, ``verdict`` compares these with the claim, ``ledger`` and ``chart`` show the
result. No verdict is stored: all are computed from the records.
"""
