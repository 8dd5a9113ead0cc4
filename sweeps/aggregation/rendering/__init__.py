"""Tables turned into Markdown, CSV, LaTeX and a terminal's lines, and written whole."""
