"""Programs for developers of the suite; no user needs them."""
