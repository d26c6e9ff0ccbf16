"""The site: all documents and the reference report as pages that need no network.

``python -m tools.site`` (``nox -s docs`` installs what it needs) stages the documents
(:mod:`~tools.site.stage`), has Sphinx turn them into pages, draws the report beside them and
checks every link (:mod:`~tools.site.links`). ``navigation.toml`` has the order.
"""
