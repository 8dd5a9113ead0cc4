"""The member that keeps records in memory, for tests."""
