"""The claims ledger: famous sentences about Python concurrency, then and now.

Each claim is one file in ``sentences/``. What it says is measured in one of two
ways: by the trials of a campaign, or by a small experiment of its own in
``experiments/``. Data flow one way: ``measure`` runs the experiments and keeps
what they found; ``readings`` turns records into numbers with intervals,
``verdict`` holds those against the claim, ``ledger`` and ``chart`` show it. No
verdict is written down anywhere: all of it is rebuilt from the records.
"""
