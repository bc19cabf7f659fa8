"""Write the fix of an output as Python that can be pasted, and as a line of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..buffers import TensorSpec
from ..engines import axes_in_model
from ..support import quoted


class _FixText(NamedTuple):
    """How the fix of a verdict is written: as Python (of the fix, the spec and the channels' axis), and as a line."""

    code: Callable[[Any, TensorSpec, int | None], str]
    line: Callable[[Any], str] = repr


def code(verdict: str, fix: Any, spec: TensorSpec, channel_axis: int | None) -> str | None:
    """Return Python for the fix of an output; None if there is none.

    spec, channel_axis: as the output is declared, and the axis of its channels in the model's order. The reader has
    `buffer`, `inputs` and `outputs`: one frame's flat output, all frames' inputs, one frame's or all frames' outputs.

    >>> print(code("wrong_input", -1, TensorSpec((1, 3, 4, 4)), 1))
    shift = -1
    pairs = [(inputs[k + shift], outputs[k]) for k in range(len(outputs)) if 0 <= k + shift < len(inputs)]
    """
    written = _WRITTEN.get(verdict)
    return None if fix is None or written is None else written.code(fix, spec, channel_axis)


def line(verdict: str, fix: Any) -> str:
    """Return the fix as a line of text.

    >>> line("wrong_input", -1)
    "outputs' frame minus inputs' frame is -1"
    """
    return _WRITTEN[verdict].line(fix) if verdict in _WRITTEN else repr(fix)


def _spec(fix: TensorSpec, spec: TensorSpec, channel_axis: int | None) -> str:
    same = fix.stored == spec.stored
    return _reading(fix, buffer="buffer" if same else f"buffer.view({str(fix.stored)!r})")


def _channel_order(fix: Sequence[int], spec: TensorSpec, channel_axis: int | None) -> str:
    axis = axes_in_model(spec.axes)[channel_axis or 0]
    return _reading(spec, f"order = {[int(c) for c in fix]}\n", f".take(order, axis={axis})")


def _reading(spec: TensorSpec, before: str = "", after: str = "", buffer: str = "buffer") -> str:
    text = repr(spec)
    uses = ", ".join(name for name in ("Layout", "Quantization", "TensorSpec") if re.search(rf"\b{name}\b[.(]", text))
    if spec.quantization is not None:
        given = f" quantization={spec.quantization!r}"
        if len(text) > 100:
            text = text.replace(given, f"\n   {given}", 1)
    return f"from npu_layout import {uses}\n\n{before}spec = {text}\ntensor = spec.unpack({buffer}){after}"


def _preprocessing(fix: Mapping[str, Any], spec: TensorSpec, channel_axis: int | None) -> str:
    lines = "".join(f"    {k!r}: {v!r},\n" for k, v in fix.items())
    uses = "from npu_layout import Quantization, TensorSpec\n\n" if "target" in fix else ""
    return f"{uses}# What was done to the frame, as arguments of Preprocessor:\nhow = {{\n{lines}}}"


def _renaming(tensors: str) -> Callable[[Any, TensorSpec, int | None], str]:
    """Return what writes the Python that renames the `tensors`, "outputs" or "inputs"."""

    def write(fix: Mapping[str, str], spec: TensorSpec, channel_axis: int | None) -> str:
        lines = "".join(f"    {k!r}: {v!r},\n" for k, v in fix.items())
        renamed = f"{{names.get(name, name): value for name, value in {tensors}.items()}}"
        return f"names = {{\n{lines}}}\n{tensors} = {renamed}"

    return write


def _names(fix: Mapping[str, str]) -> str:
    """Return the renaming on one line."""
    return f"{{{', '.join(f'{quoted(name)}: {quoted(other)}' for name, other in fix.items())}}}"


def _wrong_input(fix: int, spec: TensorSpec, channel_axis: int | None) -> str:
    pairs = "(inputs[k + shift], outputs[k]) for k in range(len(outputs)) if 0 <= k + shift < len(inputs)"
    return f"shift = {int(fix)}\npairs = [{pairs}]"


#: Verdicts whose fix is more than words.
_WRITTEN: Mapping[str, _FixText] = {
    "layout": _FixText(_spec),
    "quantization": _FixText(_spec),
    "channel_order": _FixText(_channel_order, "channels {!r}".format),
    "preprocessing": _FixText(_preprocessing),
    "output_order": _FixText(_renaming("outputs"), lambda fix: f"rename {_names(fix)}"),
    "input_order": _FixText(_renaming("inputs"), lambda fix: f"rename inputs {_names(fix)}"),
    "wrong_input": _FixText(_wrong_input, "outputs' frame minus inputs' frame is {!r}".format),
}
