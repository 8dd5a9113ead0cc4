"""A sweep's report: made as a value, written as files, stored with the sweep's own run."""

from sweeps.aggregation.rendering.contents import Report as Report
from sweeps.aggregation.report.files import CheckedReport as CheckedReport
from sweeps.aggregation.report.files import check_report as check_report
from sweeps.aggregation.report.files import publish_report as publish_report
from sweeps.aggregation.report.files import report as report
from sweeps.aggregation.report.files import write_report as write_report
from sweeps.aggregation.report.making import make_report as make_report
from sweeps.aggregation.report.summary import summarise as summarise
from sweeps.aggregation.report.summary import summary_of as summary_of
