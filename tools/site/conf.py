"""Settings of Sphinx. The folder of the pages is given on the command line."""

from __future__ import annotations

project = "c10k-crawlers"
author = "The c10k-crawlers authors"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
exclude_patterns = ["results/**/*.md"]
nitpicky = True

# Anchors as GitHub makes them, so that a link works in both places.
myst_heading_anchors = 4

html_theme = "furo"
html_title = project
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
html_show_copyright = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
