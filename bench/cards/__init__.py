"""Cards: one for each backend, with all that a reader needs to choose, to doubt and to cite it.

:mod:`~bench.cards.libraries` holds what a library's documentation recommends,
:mod:`~bench.cards.card` collects a backend's numbers from the records,
:mod:`~bench.cards.advantages` says where it comes out ahead, and the cards are shown as
Markdown (:mod:`~bench.cards.document`) and in reports (:mod:`~bench.cards.extension`).
"""
