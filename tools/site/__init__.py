"""The site: all documents and the reference report as pages that need no network.

``python -m tools.site`` (``nox -s docs`` installs what it needs) has Sphinx turn the documents
into pages where they lie (:mod:`~tools.site.conf`), draws the report beside them and checks every
link (:mod:`~tools.site.links`). ``navigation.toml`` has the order.
"""
