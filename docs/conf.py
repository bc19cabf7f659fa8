"""How scripts/docs makes pages: Markdown, docstrings, and pictures made by the pages' code."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import blocks  # noqa: E402

import npu_layout as nl  # noqa: E402

project, release = "npu_layout", nl.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["made"]
needs_sphinx = "7.3"

html_theme = "furo"
html_title = f"npu_layout {release}"
html_static_path, html_css_files = ["_static"], ["pages.css"]
html_extra_path = ["made/report.html"]
html_copy_source = html_show_copyright = html_use_index = html_domain_indices = False
pygments_style, pygments_dark_style = "friendly", "github-dark"

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
smartquotes = False
default_role = "obj"  # of docstrings: what names something is a link, all else is code

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
nitpick_ignore_regex = [("py:.*", r"(np|numpy|onnx|collections|concurrent|os|pathlib|pytest|typing)\..*")]

MADE, REPORT = HERE / "made", "proving.md"


def make_pictures() -> None:
    """Run the pages that show what they make, in the folder where it is looked for."""
    makers = [page for page in sorted(HERE.glob("*.md")) if "](made/" in page.read_text("utf-8") or page.name == REPORT]
    shutil.rmtree(MADE, ignore_errors=True)
    MADE.mkdir()
    (MADE / "samples").symlink_to(HERE.parent / "samples")
    before = Path.cwd()
    os.chdir(MADE)
    try:
        for page in makers:
            blocks.run(page, ("python",))
    finally:
        os.chdir(before)


def link(app: Any, env: Any, node: nodes.Element, contents: nodes.Node) -> nodes.Node | None:
    """A name from a docstring or a type: the public object of that name; without a link where it is none of ours."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    for where in ("npu_layout", "npu_layout.ops", "npu_layout.specs", "npu_layout.exchange", "npu_layout.kernels"):
        found = env.get_domain("py").objects.get(f"{where}.{name}")
        if found:
            from sphinx.util.nodes import make_refnode

            return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, contents)
    return contents if node["reftype"] in ("obj", "class") else None


_HEADING = re.compile(r"(\w+)\n-+\n", re.M)
_TERM = re.compile(r"^(?!>>>)[\w.]+(?:, [\w.]+)*$(?=\n[ ]{4}\S)", re.M)


def sections(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """A docstring's underlined headings as rubrics. What stands below them is a definition list already; its terms are
    names."""
    text = _HEADING.sub(r".. rubric:: \1\n\n", "\n".join(lines))
    lines[:] = _TERM.sub(lambda term: ", ".join(f"`{n}`" for n in term[0].split(", ")), text).split("\n")


def setup(app: Any) -> None:
    make_pictures()
    app.connect("autodoc-process-docstring", sections)
    app.connect("missing-reference", link)
