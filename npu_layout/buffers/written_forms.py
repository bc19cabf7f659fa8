"""Write a TensorSpec as a dict that JSON can store or as Python text, and read the dict."""

from __future__ import annotations

from typing import Any

from ..errors import NpuLayoutError
from ..layouts import Layout, as_argument
from .quantization import Quantization
from .spec_checks import in_storage_order
from .stored import StoredTensor

_FIELDS = (
    "shape",
    "layout",
    "dtype",
    "axes",
    "quantization",
    "storage_shape",
    "storage_strides",
    "storage_offset",
    "size",
    "name",
    "channels",
)


def spec_dict(spec: StoredTensor) -> dict[str, Any]:
    """Return the fields of `spec` as lists, numbers and strings; TensorSpec.to_dict."""
    storage = spec.storage
    colours = {} if spec.channels is None else {"channels": spec.channels}
    return {
        "shape": list(storage.shape),
        "layout": str(storage.layout),
        "dtype": spec.element.name,
        "axes": spec.axes,
        "quantization": None if spec.quantization is None else spec.quantization.to_dict(),
        "storage_shape": list(storage.storage_shape),
        "storage_strides": list(storage.strides),
        "storage_offset": storage.start,
        "size": storage.size,
        "name": spec.name,
        **colours,
    }


def spec_arguments(d: Any) -> dict[str, Any]:
    """Return the arguments of TensorSpec that make a spec of `d`, a result of spec_dict; errors as from_dict."""
    if not isinstance(d, dict) or "shape" not in d or not set(d) <= set(_FIELDS):
        got = sorted(d, key=str) if isinstance(d, dict) else d
        raise NpuLayoutError(f"TensorSpec: expected a dict with shape and any of {', '.join(_FIELDS)}; got {got}")
    given = dict(d)
    if isinstance(given.get("quantization"), dict):
        try:
            given["quantization"] = Quantization(**given["quantization"])
        except TypeError as error:
            raise NpuLayoutError(f"TensorSpec quantization: {error}") from None
    if isinstance(given.get("layout"), str) and given["layout"] == given.get("axes"):
        given["layout"] = Layout.plain(given["axes"])
    return given


def spec_text(spec: StoredTensor) -> str:
    """Return `spec` as Python text, without what is default; TensorSpec's repr."""
    storage = spec.storage
    text = as_argument(storage.layout)
    has_axes = text.startswith("Layout(")  # TensorSpec has an argument for them
    parts = [repr(storage.shape), repr(storage.layout.tag) if has_axes else text, repr(spec.element.name)]
    if has_axes or in_storage_order(storage.layout, storage.shape):
        parts.append(f"axes={spec.axes!r}")
    if spec.quantization is not None:
        parts.append(f"quantization={spec.quantization!r}")
    parts += [f"{field}={value!r}" for field, value in spec.given_places.items()]
    if spec.name:
        parts.append(f"name={spec.name!r}")
    if spec.channels is not None:
        parts.append(f"channels={spec.channels!r}")
    return f"TensorSpec({', '.join(parts)})"
