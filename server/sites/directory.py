"""``dir:PATH``: a directory of real HTML, served as a static file server would."""

from __future__ import annotations

import contextlib
import hashlib
import json
import mimetypes
import os
import platform
import tempfile
from copy import copy
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from server.sites import reference
from server.sites.site import Outcome, Resource, Site, SiteError, redirect

MOST_MIB = 512
"""A directory is kept in memory, so it may not be larger."""
VARIANTS = 100_000  # other names of files (with a query, say) that are remembered


class Directory(Site):
    """``dir:PATH``: a directory of real HTML, served as a static file server would.

    A directory answers with its ``index.html``, and with 301 if the final slash
    is missing. A query is ignored, but it is part of the URL. Everything else
    is a 404. So is every target that is not exactly one path below the root:
    dot segments and empty segments in any encoding, encoded slashes, NUL, and
    symbolic links that lead out of the root. The root itself may be a link.

    The site reads each file once, at the start or at the first request, and
    never looks at it again.

    A crawl with :mod:`server.sites.reference` finds the expected outcomes. It
    takes about 0.2 s for each megabyte of HTML, so a ``cache`` folder, if there
    is one, remembers them under a hash of everything they depend on.
    """

    def __init__(
        self,
        spec: str,
        root: str,
        authority: str | None,
        cache: Path | None = None,
        scheme: str = "http",
    ) -> None:
        super().__init__()
        self.spec = spec
        self.routes = {}
        self._root = os.path.realpath(root)
        self._files: dict[str, Resource] = {}
        self._variants = 0
        # Only the types Python itself knows: the machine's own tables differ.
        self._types = mimetypes.MimeTypes(filenames=())
        if not os.path.isdir(self._root):
            raise SiteError(f"{spec}: no such directory; give the path of a folder of HTML files")
        if not os.path.isfile(os.path.join(self._root, "index.html")):
            raise SiteError(
                f"{spec}: has no index.html at its top, so a crawl from / would find nothing; "
                "give the folder that holds it"
            )
        fingerprint = self._preload(authority)
        store = cache / f"{fingerprint}.json" if cache and fingerprint else None
        outcome = _recall(store)
        if outcome is None:
            outcome = reference.crawl(self.find, authority or "localhost", scheme)
            _remember(store, outcome)
        self._promise(*outcome)

    def find(self, target: bytes) -> Resource | None:
        """See :meth:`Site.find`; ``routes`` remembers the resource."""
        key = b"GET " + target
        known = self.routes.get(key)
        if known is not None:
            return known
        path, mark, _ = target.partition(b"?")
        resource = self._load(path, target)
        if resource is None:
            return None
        if mark or path != _canonical(path):
            # A file has any number of these names: remember only so many. The site
            # answers the others too, but the ledger misses them.
            if self._variants >= VARIANTS:
                return resource
            self._variants += 1
        self.routes[key] = resource
        return resource

    def _preload(self, authority: str | None) -> str | None:
        """Load all files; return a hash of everything a crawl's outcome depends on.

        Return None if there are links to directories, because the files behind
        those are neither loaded nor hashed, or if a page names this server's own
        address, which will be different at the next start.
        """
        sha = hashlib.sha256(platform.python_version().encode())
        for source in sorted(Path(__file__).parent.glob("*.py")):
            sha.update(source.read_bytes())
        complete, size = True, 0
        for folder, folders, files in os.walk(self._root):
            folders.sort()
            for name in folders:
                path = os.path.join(folder, name)
                complete = complete and not os.path.islink(path)
                sha.update(f"{self._target(path)}/\n".encode())
            for name in sorted(files):
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):  # a link to nothing
                    size += os.path.getsize(path)
                if size > MOST_MIB << 20:
                    raise SiteError(
                        f"{self.spec}: its files have more than {MOST_MIB} MiB, and are kept in "
                        "memory; give a smaller folder"
                    )
                target = self._target(path).encode()
                resource = self.find(target)
                if resource is None:
                    continue  # a link out of the root, or an unreadable file
                sha.update(b"%s %d %08x\n" % (target, resource.size, resource.checksum))
                if authority and authority.encode() in resource.payload:
                    complete = False
        return sha.hexdigest() if complete else None

    def _target(self, path: str) -> str:
        relative = os.path.relpath(path, self._root).replace(os.sep, "/")
        return quote(os.fsencode(f"/{relative}"), safe=_KEPT)

    def _load(self, path: bytes, target: bytes) -> Resource | None:
        if not path.startswith(b"/"):
            return None
        segments = [unquote_to_bytes(segment) for segment in path[1:].split(b"/")]
        last = segments.pop()
        if any(name in (b"", b".", b"..") or b"/" in name or b"\0" in name for name in segments):
            return None
        if last in (b".", b"..") or b"/" in last or b"\0" in last:
            return None
        asked = os.path.join(os.fsencode(self._root), *segments, last)
        real = os.fsdecode(os.path.realpath(asked))
        if real != self._root and not real.startswith(os.path.join(self._root, "")):
            return None
        if os.path.isdir(real):
            if last:
                # Two slashes in front would name a host; the tests above exclude them.
                location = (path + b"/" + target[len(path) :]).decode("latin-1")
                return redirect(301, location, location)
            real = os.path.realpath(os.path.join(real, "index.html"))
            if not real.startswith(os.path.join(self._root, "")):
                return None
        elif not last:
            return None
        if not os.path.isfile(real):
            return None
        known = self._files.get(real)
        if known is None:
            try:
                known = self._files[real] = self._read(real)
            except OSError:
                return None
        return copy(known)  # shares the bytes, has hits of its own

    def _read(self, file: str) -> Resource:
        kind = self._types.guess_type(file)[0] or "application/octet-stream"
        if self._types.guess_type(file)[1]:
            kind = "application/octet-stream"  # .gz and the like: the file is the body
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        return Resource(200, kind, Path(file).read_bytes())


def _recall(store: Path | None) -> tuple[dict[str, Outcome], int] | None:
    """The outcomes that :func:`_remember` wrote, or None."""
    if store is None:
        return None
    try:
        page_bytes, outcomes = json.loads(store.read_text("utf-8"))
        known = {str(key): (int(code), int(crc)) for key, (code, crc) in outcomes.items()}
        return known, int(page_bytes)
    except (OSError, ValueError, TypeError, AttributeError):
        return None  # absent or damaged: crawl again, and replace it


def _remember(store: Path | None, outcome: tuple[dict[str, Outcome], int]) -> None:
    """Write outcomes for the next start, if the folder can be written."""
    if store is None:
        return
    outcomes, page_bytes = outcome
    with contextlib.suppress(OSError):
        store.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=store.parent, suffix=".part")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                json.dump([page_bytes, outcomes], file)
            os.replace(name, store)
        except BaseException:
            os.unlink(name)
            raise


_KEPT = "/!$&'()*+,;=:@-._~"  # never encoded in a path


def _canonical(path: bytes) -> bytes:
    """The one spelling of a path that ``routes`` always remembers."""
    return quote(unquote_to_bytes(path), safe=_KEPT).encode()
