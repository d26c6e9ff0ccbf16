"""The site: all documents and the reference report as pages that need no network."""
