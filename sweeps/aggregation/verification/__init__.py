"""Checks that the numbers in a paper still follow from the records."""
