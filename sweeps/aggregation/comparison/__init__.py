"""Sweeps and trials beside each other, as values for a program."""

from sweeps.aggregation.comparison.compared_frame import compare as compare
from sweeps.aggregation.comparison.diff import diff as diff
from sweeps.aggregation.comparison.difference import Changed as Changed
from sweeps.aggregation.comparison.difference import Difference as Difference
