"""Cleaning a storage folder, and deleting a sweep."""
