"""The studies of ``python -m bench study``: a module each, shaped like a command."""
