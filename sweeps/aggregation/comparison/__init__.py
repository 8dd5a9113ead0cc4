"""Differences between two sweeps or two trials: which arms match, and what differs."""

from sweeps.aggregation.comparison.compare import compare as compare
from sweeps.aggregation.comparison.diff import Changed as Changed
from sweeps.aggregation.comparison.diff import Difference as Difference
from sweeps.aggregation.comparison.diff import diff as diff
