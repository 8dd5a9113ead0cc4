"""Plans: which arms a sweep has, declared in full or proposed as it runs."""
