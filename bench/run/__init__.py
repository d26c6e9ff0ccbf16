"""The life of a trial, from the plan to the figure.

A trial is a crawl under conditions. Its record holds what each of them saw. A question reads
columns of records.

1. **Planned.** A ``Profile`` is a set of ``Point``s (:mod:`bench.plan.workloads`): a site, a number
   of slots, and the conditions of all its trials. Where a point is ``varied``, each backend has
   further labels, each under one more condition. A ``Label`` is a backend, an interpreter and that
   condition: ``callbacks@3.13.5/asleep``. :mod:`bench.plan.plan` gives every label its ``Turn`` in
   every block, in a random order that the seed decides.

2. **Allowed.** :mod:`bench.run.preflight` asks what this machine forbids. Such a trial is recorded
   as refused, with the reason. Where time is short, blocks are cut before anything runs.

3. **Started.** :class:`bench.run.campaign.Campaign` goes through the blocks, point by point, and
   hands each to :func:`bench.run.block.run`. A trial has two sides. One is tested, the other is
   there for it: :mod:`bench.run.crawling` has a worker under test and a fixture server,
   :mod:`bench.run.serving` a server under test and a load. On the way down every condition has its
   say: what the server is told (``server``, ``site``), what the worker is told (``command``,
   ``environment``), and where both run (``wide``, ``place``).

4. **Ready.** The worker gets a ``Command``, imports its backend, warms up and answers ``Ready``.
   The server zeroes its ledger. Nothing is timed yet.

5. **Run.** In turns, all labels of the block are alive, and one of them runs at a time for ten
   milliseconds (:mod:`bench.run.turns`). A whole trial is a block with one label that is never
   stopped; its conditions go ``around`` the start: they hold the answers, read the memory,
   interrupt the crawl. The worker ends its crawl and answers with a ``Result``.

6. **Judged.** The server says what it saw in its ``Ledger``. :func:`bench.run.judge.void_reason`
   compares: each page answered as the site has it, and served once, and then whatever a condition
   asks for (``void``). The first reason makes the trial void. A death, a refusal or a hang of
   either side makes it failed, and the others of its block go on.

7. **Recorded.** :func:`bench.run.record.finish` puts down what both sides and every condition saw
   (``seen``), with the noise of the host, the pinning and the seeds. The ``TrialRecord`` is a line
   of trials.jsonl, on disk before the next trial starts. What is void is kept, and never averaged.

8. **Read.** From here on nothing runs. :mod:`bench.analysis` pairs trials within blocks. A question
   (:mod:`bench.questions`) reads columns of records: where a trial was, and which number of it.
   What it finds are values, and from them come its headline, its table and its figure
   (:mod:`bench.show`), and in the end the page (:mod:`bench.report`).

To measure something new, write one condition and one question, and give the point a place in a
profile: see docs/adding-a-question.md.
"""
