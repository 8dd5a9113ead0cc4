"""What `benchmarks/chaos.py` consists of."""
