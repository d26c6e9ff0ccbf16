"""Tables of a campaign: each is built once, and shown in three ways.

One module per subject builds a :class:`~bench.show.table.Table` from an
:class:`~bench.analysis.analysis.Analysis`. The renderers :mod:`markdown <.markdown>` and
:mod:`terminal <.terminal>`, and the page's template, show any table.
"""
