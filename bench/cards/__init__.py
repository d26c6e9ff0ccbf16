"""Cards: all that a reader needs to choose a backend, to doubt its numbers and to cite them.

:mod:`~bench.cards.document` collects a backend's numbers from the records and shows them: in
docs/cards, and as HTML in a report.
:mod:`~bench.cards.libraries` holds what a library's documentation recommends.
"""
