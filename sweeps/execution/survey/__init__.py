"""What a sweep has and what it lacks: the look before a launch, `status` and `list`."""
