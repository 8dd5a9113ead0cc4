"""Small faults put into the packages, and the tests that find them."""
