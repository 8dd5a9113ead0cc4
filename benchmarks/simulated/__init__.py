"""What `benchmarks/statistics_acceptance.py` consists of: networks that err by a known law."""
