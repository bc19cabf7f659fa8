"""Who may import whom, and that no module but layout.py and its names asks which layout it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import npu_layout as nl

HOUSE = Path(nl.__file__).parent

# One floor a line, the ground first; a module imports from floors below its own.
FLOORS = (
    "errors host markup names whole_files",
    "elements layout arrays",
    "storage geometry",
    "spans misfits",
    "repack",
    "gray quantization strided",
    "tensor array_tensor reshaping pixel_units",
    "formats conversion frames engines metadata recording_frames identify parts labels channels processes progress",
    "format_loss operators recording_files comparison rknn_specs tflite_specs",
    "channel_operators element_operators moving_operators peaks_operator recording track_report",
    "resize_operator track tolerances specs",
    "ops",
    "foreign_files model_side",
    "raw_dumps onnx_test_data",
    "polygraphy_json rknn_snapshot",
    "exchange evidence scalings",
    "variants",
    "scales verdicts fixes pictures tables recorded_inputs",
    "causes contact_sheet",
    "page",
    "report",
    "validation",
    "many",
    "bench_cases",
    "peers",
    "bench",
    "bench_networks",
    "bench_layouts",
    "memory_lines reads",
    "palette",
    "scene",
    "figure",
    "terminal",
    "explanation",
    "sources factories cli_words",
    "capture junit console pytest_plugin",
    "cli_look cli_convert cli_prove cli_explain cli_track",
    "cli",
)
OUTSIDE = {"numpy", "npu_layout"}  # at import; these at first use:
LATE = {
    "format_loss": {"cv2"},
    "frames": {"cv2"},
    "geometry": {"cv2"},
    "resize_operator": {"cv2"},
    "engines": {"onnxruntime"},
    "kernels._numpy": {"cv2"},
    "kernels._numpy_gray": {"cv2"},
    "onnx_test_data": {"onnx"},
    "pictures": {"cv2"},
    "peers": {"cv2", "einops", "numba", "onnx", "onnxruntime", "openvino", "torch"},
    "bench": {"matplotlib", "rich"},
    "bench_layouts": {"matplotlib"},
    "bench_networks": {"torch"},
    "cli": {"shtab"},
    "console": {"rich"},
    "progress": {"rich"},
    "pytest_plugin": {"pytest"},
    "scene": {"cv2"},
    "sources": {"cv2"},
    "track": {"cv2"},
}
KERNELS = {path.stem for path in (HOUSE / "kernels").iterdir()} | {"_native"}
ASK_THE_KERNELS = {"repack", "gray", "channel_operators", "element_operators", "peaks_operator"}
ASK_THE_KERNELS |= {"bench", "bench_layouts", "cli", "report"}  # to name, measure and compare them


def modules() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(HOUSE).with_suffix("").parts).replace(".__init__", ""): ast.parse(path.read_text())
        for path in sorted(HOUSE.rglob("*.py"))
    }


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """(module, whether it is ours) of every import below `tree`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield from ((node.module or alias.name, True) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0], False


def standard(name: str) -> bool:
    import sys

    if hasattr(sys, "stdlib_module_names"):
        return name in sys.stdlib_module_names
    return name not in set().union(OUTSIDE, *LATE.values(), {"pytest", "hypothesis"})


def test_imports_go_down_only() -> None:
    floor = {name: i for i, line in enumerate(FLOORS) for name in line.split()}
    found = modules()
    assert {name for name in found if not name.startswith("kernels")} - {"__init__"} == floor.keys()
    for name, tree in found.items():
        for other, ours in imports(tree):
            if not ours or name == "__init__":
                continue
            if name.startswith("kernels"):
                assert other in KERNELS, f"{name} knows {other}; the kernels know nothing of ours but themselves"
            elif other.split(".")[0] == "kernels":
                assert name in ASK_THE_KERNELS, f"{name} asks the kernels; only {ASK_THE_KERNELS} do"
            else:
                assert floor[other] < floor[name], f"{name} imports {other}, which does not lie below it"


def test_what_comes_from_outside() -> None:
    for name, tree in modules().items():
        top = {other for node in tree.body for other, ours in imports(node) if not ours and not is_function(node)}
        every = {other for other, ours in imports(tree) if not ours}
        assert {n for n in top if not standard(n)} <= OUTSIDE, name
        assert {n for n in every if not standard(n)} <= OUTSIDE | LATE.get(name, set()), name


def is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef))


def compared_with_text(tree: ast.AST) -> Iterator[str]:
    """Source of every comparison that has a layout's name or tag on one side."""
    known = {entry.upper() for entry in nl.layout.NAMED} | {"NCHW", "NHWC", "CHWN", "NHCW", "HWC", "CHW"}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        texts = {
            constant.value.upper()
            for constant in ast.walk(node)
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
        }
        if texts & known:
            yield ast.unparse(node)


def test_no_module_asks_which_layout_it_has() -> None:
    # rknn_specs reads the vendor's own field fmt, whose values happen to be spelt so.
    allowed = {"layout", "names", "rknn_specs"}
    for name, tree in modules().items():
        assert name in allowed or not list(compared_with_text(tree)), (name, list(compared_with_text(tree)))
    assert list(compared_with_text(ast.parse("if layout == 'NHWC': pass")))
