"""The storage folder: where things lie, locks that die with their process, SQLite files."""
