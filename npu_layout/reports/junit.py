"""Write reports as JUnit XML for build servers: a test case for each output and input that was judged."""

from __future__ import annotations

import os
import re
from xml.etree import ElementTree

from ..support import whole
from .collection import Reports

# Characters that XML 1.0 cannot contain.
_UNWRITABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(reports: Reports, path: str | os.PathLike[str], command: str) -> None:
    """Write reports to a file in JUnit's format.

    An output or input that does not match is a failure. A recording that could not be judged, or in which nothing was
    compared, is an error. `command`: the command line that validates again, which the file shows.
    """
    suite = ElementTree.Element("testsuite", name="npu-layout validate")
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="command", value=_plain(command))
    count = {"tests": 0, "failures": 0, "errors": 0}

    def case(recording: str, name: str) -> ElementTree.Element:
        count["tests"] += 1
        return ElementTree.SubElement(suite, "testcase", classname=_plain(recording), name=_plain(name))

    def wrong(of: ElementTree.Element, kind: str, message: str, text: str) -> None:
        count[f"{kind}s"] += 1
        ElementTree.SubElement(of, kind, message=_plain(message), type=kind).text = _plain(text)

    for recording, result in reports.items():
        if isinstance(result, str):
            wrong(case(recording, "recording"), "error", result, result)
        elif not result.frames or not result.outputs:
            wrong(case(recording, "recording"), "error", result.note, str(result))
        else:
            for found in result.findings:
                of = case(recording, found.title)
                if not found:
                    wrong(of, "failure", f"{found.verdict}: {found.why}", str(found))
    for name, number in count.items():
        suite.set(name, str(number))
    with whole(path) as file:
        ElementTree.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _plain(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
