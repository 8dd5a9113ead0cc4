"""How many seeds and test images a difference takes, from the spread of what was trained."""
