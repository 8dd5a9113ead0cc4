"""A sweep's report: made as a value, then written as files, then kept with its parent run.

Files can be held against the records later, and two sweeps be set side by side.
"""

from sweeps.aggregation.rendering.contents import Report as Report
from sweeps.aggregation.report.checking import CheckedReport as CheckedReport
from sweeps.aggregation.report.checking import check_report as check_report
from sweeps.aggregation.report.comparing import ComparedSweeps as ComparedSweeps
from sweeps.aggregation.report.comparing import compare_sweeps as compare_sweeps
from sweeps.aggregation.report.making import make_report as make_report
from sweeps.aggregation.report.summary import sum_up as sum_up
from sweeps.aggregation.report.writing import publish_report as publish_report
from sweeps.aggregation.report.writing import report as report
from sweeps.aggregation.report.writing import write_report as write_report
