"""The results of a validation for people and tools: text, JSON, a page with pictures, JUnit.

Imports diagnosis, comparison, decode, engines, buffers, layouts, kernels (their name) and support.
"""

from .collection import Reports, summary_line
from .junit import write_junit
from .output_report import UNSURE, Exhibit, OutputReport, plain
from .report import VERDICTS, Report

__all__ = ["UNSURE", "VERDICTS", "Exhibit", "OutputReport", "Report", "Reports", "plain", "summary_line", "write_junit"]
