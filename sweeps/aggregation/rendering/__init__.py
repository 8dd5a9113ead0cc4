"""Renderers: tables and reports as Markdown, CSV, LaTeX, HTML and terminal output."""
