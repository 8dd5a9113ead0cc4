"""A sweep's report: made as a value, then written as files, then kept with its parent run."""

from sweeps.aggregation.rendering.contents import Report as Report
from sweeps.aggregation.report.making import make_report as make_report
from sweeps.aggregation.report.writing import publish_report as publish_report
from sweeps.aggregation.report.writing import report as report
from sweeps.aggregation.report.writing import write_report as write_report
