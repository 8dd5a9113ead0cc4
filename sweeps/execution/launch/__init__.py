"""A launch: survey, train what is missing, record it, evaluate, report."""
