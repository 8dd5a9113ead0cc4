"""Repair of a storage folder and its tracking store."""
