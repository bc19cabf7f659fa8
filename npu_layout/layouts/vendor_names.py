"""Translate vendors' names for layouts, such as ``NC1HWC2``, into tags. Sources are cited with each group.

Each help sentence names the C array that the layout is equivalent to, and which element of it is (n,c,h,w).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from ..errors import LayoutError
from ..support import Plugin, integer, plugins, shown

_Method = TypeVar("_Method", bound=Callable[..., Any])

# Letters of a tensor whose axes have none, by rank; higher ranks have those of the alphabet.
BY_RANK = {1: "N", 2: "NC", 3: "NCW", 4: "NCHW", 5: "NCDHW"}

# VeriSilicon (TIM-VX include/tim/vx/types.h) lists axes fastest first.
FASTEST_FIRST = {"WHCN": "NCHW", "CWHN": "NHWC"}

_KNERON = "specs.from_kneron reads the descriptor"
# Forms that no tag describes: their split depends on the width or on the chip.
SHAPE_DEPENDENT = {
    "K210": "Kendryte's KPU packs 4, 2 or 1 channels into 64-byte rows by the width (nncase runtime_op_utility.h)",
    "KDLALINEAR": "rows are padded to 64 bytes, so the pitch depends on the dtype (TensorRT NvInferRuntimeBase.h)",
    "KDLAHWC4": "1, 3 or 4 channels become 1 or 4, rows are padded to 64 bytes, on Xavier to 32 (TensorRT)",
    "DLALINEAR": "rows are padded to 64 bytes, so the pitch depends on the dtype (TensorRT NvInferRuntimeBase.h)",
    "DLAHWC4": "1, 3 or 4 channels become 1 or 4, rows are padded to 64 bytes, on Xavier to 32 (TensorRT)",
    "KNERON": f"16W1C8B is [H][C][W padded to 16] on KL520 and [C][H][W padded to 16] on KL630 and KL720; {_KNERON}",
    "4W4C8B": f"Kneron's image input is [H][W][4 channels], W padded to 16 on KL520 and to 4 on others; {_KNERON}",
    "16W1C8B": f"Kneron: [H][C][W padded to 16] on KL520 and [C][H][W padded to 16] on KL630 and KL720; {_KNERON}",
    "8W1C16B": f"Kneron: [H][C][W padded to 8] on KL520 and [C][H][W padded to 8] on KL630 and KL720; {_KNERON}",
    "TIDL": "planes with a border: pitches come from the tensor's descriptor, which specs.from_tidl reads",
}


class Name(NamedTuple):
    """One vendor name: its tag (``{block}`` if the name leaves it open), default block, axes, help."""

    name: str
    tag: str
    help: str
    block: int | None = None
    axes: str | None = None


def _help_text(array: str, element: str, source: str, index: str = "n,c,h,w") -> str:
    """Return what a vendor's name means, as a C array and the place of an element in it."""
    return f"equivalent to a C array {array}; ({index}) is element {element} ({source})"


def _brackets(letters: str) -> str:
    return "".join(f"[{letter}]" for letter in letters)


def _channel_major(name: str, block: str, source: str, default: int | None = None) -> Name:
    array = f"[N][ceil(C/{block})][H][W][{block}]"
    return Name(name, f"NCHW{block}c", _help_text(array, f"[n][c//{block}][h][w][c%{block}]", source), default)


_OPEN = "{block}"
_ENTRIES = [
    # Rockchip rknn_api.h; Huawei CANN aclFormat; C2 and C0 depend on chip and dtype.
    _channel_major("NC1HWC2", _OPEN, "Rockchip RKNN; block is the native attr's dims[4]"),
    _channel_major("NC1HWC0", _OPEN, "Ascend; block is the last extent of the storage shape"),
    _channel_major("5HD", _OPEN, "Ascend NC1HWC0"),
    # MNN source/backend/cpu/CPUTensorConvert.cpp: the channel block is stored before N.
    *(
        Name(
            name,
            "CNHW{block}c",
            _help_text(
                "[ceil(C/{block})][N][H][W][{block}]",
                "[c//{block}][n][h][w][c%{block}]",
                "MNN; block is 4 unless given",
            ),
            4,
        )
        for name in ("NC4HW4", "C4NHW4")
    ),
    # oneDNN doc/advanced/understanding_memory_formats.md
    *(_channel_major(f"nChw{b}c", str(b), "oneDNN") for b in (4, 8, 16, 32)),
    *(_channel_major(f"aBcd{b}b", str(b), "oneDNN") for b in (4, 8, 16, 32)),
    # TensorRT NvInferRuntimeBase.h
    *(_channel_major(f"CHW{b}", str(b), "TensorRT") for b in (2, 4, 16, 32)),
    *(
        Name(f"HWC{b}", f"NHWC{b}c", _help_text(f"[N][H][W][C padded to {b}]", "[n][h][w][c]", "TensorRT"))
        for b in (8, 16)
    ),
    Name("DHWC8", "NDHWC8c", _help_text("[N][D][H][W][C padded to 8]", "[n][d][h][w][c]", "TensorRT", "n,c,d,h,w")),
    Name(
        "CDHW32",
        "NCDHW32c",
        _help_text("[N][ceil(C/32)][D][H][W][32]", "[n][c//32][d][h][w][c%32]", "TensorRT", "n,c,d,h,w"),
    ),
    # Arm Ethos-U: apache/tvm src/relay/op/contrib/ethosu/common.cc
    Name(
        "NHCWB16",
        "NHCW16c",
        _help_text("[N][H][ceil(C/16)][W][16]", "[n][h][c//16][w][c%16]", "Arm Ethos-U"),
    ),
    # Hailo: hailort src/transform/transform.cpp
    Name("F8CR", "NHCW8c", _help_text("[N][H][ceil(C/8)][W][8]", "[n][h][c//8][w][c%8]", "Hailo device order")),
    # Kneron PLUS src/kp_inference.c and its examples for KL630 and KL720
    _channel_major("1W16C8B", "16", "Kneron"),
    # Sophgo BM1684 bmruntime: BM_STORE_2N for 16-bit, BM_STORE_4N for 8-bit types
    *(
        Name(
            f"{b}N",
            f"NCHW{b}n",
            _help_text(f"[ceil(N/{b})][C][H][W][{b}]", f"[n//{b}][c][h][w][n%{b}]", "Sophgo BM1684"),
        )
        for b in (2, 4)
    ),
    # Horizon hbdk_layout.h: outer order, then the tile always in the order N,H,W,C
    Name(
        "NHCW_8W4C",
        "NHCW8w4c",
        _help_text("[N][H][ceil(C/4)][ceil(W/8)][8][4]", "[n][h][c//4][w//8][w%8][c%4]", "Horizon"),
    ),
    Name(
        "NHCW_4H4W8C",
        "NHCW4h4w8c",
        _help_text("[N][ceil(H/4)][ceil(C/8)][ceil(W/4)][4][4][8]", "[n][h//4][c//8][w//4][h%4][w%4][c%8]", "Horizon"),
    ),
    Name("NHCW_32C", "NHCW32c", _help_text("[N][H][ceil(C/32)][W][32]", "[n][h][c//32][w][c%32]", "Horizon")),
    Name("NHCW_8C", "NHCW8c", _help_text("[N][H][ceil(C/8)][W][8]", "[n][h][c//8][w][c%8]", "Horizon, int32")),
    Name(
        "NHCW_16W16C",
        "NHCW16w16c",
        _help_text("[N][H][ceil(C/16)][ceil(W/16)][16][16]", "[n][h][c//16][w//16][w%16][c%16]", "Horizon"),
    ),
    # Huawei CANN "Data Layout Formats": ND (m,k) and conv weights
    Name(
        "FRACTAL_NZ",
        "KM16m{block}k",
        _help_text(
            "[ceil(K/{block})][ceil(M/16)][16][{block}]",
            "[k//{block}][m//16][m%16][k%{block}]",
            "Ascend; block is C0",
            "m,k",
        ),
        16,
        "MK",
    ),
    Name(
        "FRACTAL_Z",
        "CHWN16n{block}c",
        _help_text(
            "[ceil(C/{block})][H][W][ceil(N/16)][16][{block}]",
            "[c//{block}][h][w][n//16][n%16][c%{block}]",
            "Ascend weights, group 1; block is C0",
        ),
        16,
    ),
    *(
        Name(name, tag, _help_text(_brackets(tag), _brackets(tag.lower()), "listed fastest first"))
        for name, tag in FASTEST_FIRST.items()
    ),
    # oneDNN and onnxruntime weights
    *(
        Name(
            f"OIHW{b}o",
            f"OIHW{b}o",
            _help_text(f"[ceil(O/{b})][I][H][W][{b}]", f"[o//{b}][i][h][w][o%{b}]", "onnxruntime weights", "o,i,h,w"),
        )
        for b in (8, 16)
    ),
    *(
        Name(
            f"OIHW{b}i{b}o",
            f"OIHW{b}i{b}o",
            _help_text(
                f"[ceil(O/{b})][ceil(I/{b})][H][W][{b}][{b}]",
                f"[o//{b}][i//{b}][h][w][i%{b}][o%{b}]",
                "onnxruntime and oneDNN weights",
                "o,i,h,w",
            ),
        )
        for b in (8, 16)
    ),
    Name(
        "OIHW4i16o4i",
        "OIHW4i16o4i",
        _help_text(
            "[ceil(O/16)][ceil(I/16)][H][W][4][16][4]",
            "[o//16][i//16][h][w][i//4%4][o%16][i%4]",
            "oneDNN OIhw4i16o4i weights",
            "o,i,h,w",
        ),
    ),
]

OWN_NAMES = {entry.name: entry for entry in _ENTRIES}
NAMED = {entry.name.replace("_", "").upper(): entry for entry in _ENTRIES}


def _key(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).upper()


_GROUP = "npu_layout.layout_names"
_OWN = {"npu_layout": "npu_layout.layouts.vendor_names:OWN_NAMES"}


@lru_cache(maxsize=1)
def every_name() -> dict[str, Name]:
    """Return the entries of every name, also of those that installed packages add, by their keys.

    An entry point of the group npu_layout.layout_names is a mapping: {name: a tag, or a mapping of a Name's fields}.
    """
    found: dict[str, Name] = {}
    for added in plugins(_GROUP, _OWN).values():
        names = added.load()
        if not isinstance(names, Mapping):
            raise LayoutError(f"{added.describe()}: expected a mapping of names, got {shown(names)}")
        for name, given in names.items():
            if _key(str(name)) in found:
                raise LayoutError(f"{added.describe()}: layout name {name!r} is known already; call it otherwise")
            found[_key(str(name))] = _added(added, str(name), given)
    return found


def _added(added: Plugin, name: str, given: Any) -> Name:
    """Return the entry of a name as a plug-in describes it."""
    if isinstance(given, Name):
        return given
    fields = {"tag": given} if isinstance(given, str) else given
    try:
        return Name(**{"name": name, "help": f"added by the package {added.package}", **fields})
    except TypeError:
        raise LayoutError(
            f"{added.describe()}: layout name {name!r}: expected a tag, or a mapping of {', '.join(Name._fields)}, "
            f"got {shown(given)}"
        ) from None


def vendor_name(name: str) -> Name | None:
    """Return the library's entry of a vendor's name, however it is spaced and capitalised; None if it is unknown."""
    return NAMED.get(_key(name))


def _known_name(name: str) -> Name | None:
    """Return the entry of a vendor's name, of the library or of an installed package; None if it is unknown."""
    return vendor_name(name) or every_name().get(_key(name))


def is_vendor_name(name: str) -> bool:
    """Return whether a vendor uses this name, also if it stands for no single layout."""
    return _key(name) in SHAPE_DEPENDENT or _known_name(name) is not None


def resolve_name(name: str, block: int | None) -> tuple[str, str | None]:
    """Return the tag and the axes (None: default) of a vendor's name; arguments and errors as Layout.named."""
    if not isinstance(name, str):
        raise LayoutError(f"layout name: expected a string, got {shown(name)}")
    if _key(name) in SHAPE_DEPENDENT:
        raise LayoutError(
            f"layout name {name!r} is no single layout: {SHAPE_DEPENDENT[_key(name)]}. "
            f"Describe it with TensorSpec(..., storage_shape=...) or TensorSpec(..., storage_strides=...)"
        )
    entry = _known_name(name)
    if entry is None:
        known = ", ".join(sorted({e.name for e in every_name().values()}))
        raise LayoutError(f"unknown layout name {name!r}; known: {known}; a tag such as NCHW16c goes to Layout(tag)")
    given, block = block, None if block is None else integer(block)
    if block is None and given is not None:
        raise LayoutError(f"layout name {name!r}: block must be a whole number, got {shown(given)}")
    needs_block = "{block}" in entry.tag
    if block is None:
        if needs_block and not entry.block:
            words = entry.help.replace("{block}", "block")
            raise LayoutError(f"layout name {name!r} needs block=, the channels of one block ({words})")
    elif needs_block:
        if block < 1:
            raise LayoutError(f"layout name {name!r}: block must be 1 or more, got {block!r}")
    elif f"{block}" not in re.findall(r"[0-9]+", entry.tag):
        raise LayoutError(
            f"layout name {name!r}: block must be left out (the name itself means {entry.tag}), got {block!r}"
        )
    return entry.tag.format(block=block or entry.block), entry.axes


def lists_vendor_names(method: _Method) -> _Method:
    """Append the vendors' names and what each means to the docstring of `method`: ``help`` then shows them."""
    lines = "\n".join(f"        * {e.name}: layout {e.tag}; {e.help}.".format(block="B") for e in NAMED.values())
    method.__doc__ = f"""{method.__doc__ or ""}
        The names; B is `block`:

{lines}
        """
    return method
