"""The sites: what the fixture server serves, and what a full crawl of each must find.

A *spec* names a site; :mod:`server.sites.specs` reads it.

``tree:PAGES:FANOUT:BYTES``
    A page graph made from a seed. Every page can be reached from ``/``, past
    redirect chains, query strings, relative links, dead links and links that a
    crawler must not follow. See :class:`server.sites.tree.Tree`.
``list:N:BYTES``
    Pages ``/p/0`` to ``/p/N-1`` without links. They share one body, so a
    million pages take four megabytes. With a third number, ``list:N:BYTES:LINES``, heads have
    so many lines that differ. See :class:`server.sites.listing.Listing`.
``dir:PATH``
    A directory of real HTML, served as a static file server would.
    See :class:`server.sites.directory.Directory`.
``faults:PAGES[:KIND,...]``
    Pages that break off, lie and flood. See :class:`server.sites.faults.Faults`.

Every site except the last knows its *expected outcomes*: for each URL that a
full, correct crawl from ``/`` requests, the status and the CRC-32 of the body.
A crawler is correct if its digest equals the digest of these outcomes. A tree
knows its outcomes by construction; the generator never reads its own HTML. The
outcomes of a directory come from :mod:`server.sites.reference`, which is slow
and simple and shares no code with any crawler.

Outcomes are keyed by target: the normal URL without ``http://host:port``. It is
at least ``/`` and has no fragment and no dot segments. Anything outside ASCII is
percent-encoded as UTF-8 in upper-case hex; existing ``%XX`` stay as written.
"""
