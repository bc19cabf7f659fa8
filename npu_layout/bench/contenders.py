"""Collect everything that does a case: this library's kernels, other libraries and memcpy, checked for equality."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from .. import kernels, ops
from ..buffers import plan
from ..decode import Decoder, masks, nms, people, use_backend
from ..frames import Preprocessor, compiled_pass, gray_views, to_gray
from . import peers
from .answer_cases import IOU, LIMIT, DetectCase, NmsCase, rows
from .cases import REDUCTIONS, TOP, Case, ContenderMemory
from .frame_cases import FrameCase
from .instance_cases import INPUT, MasksCase, PeopleCase
from .peers import Call
from .peers.calls import writes

OURS = "npu_layout"  # the public function, with the active kernels


def ours(case: Case) -> tuple[dict[str, Call], list[str]]:
    """Return this library's calls for a case, and the fast paths that they use.

    The calls are the public function, and the kernels of each backend without it, on one thread.
    """
    if isinstance(case, FrameCase):
        return frames(case), []
    out = case.zeros(case.target.storage_shape, case.target.stored)
    if case.kind in REDUCTIONS:
        return reductions(case)
    for kind, make in _ANSWERS.items():
        if isinstance(case, kind):
            return make(case), []
    if case.kind == "gray":
        return _grays(case, out)
    if case.kind in ("normalize", "input"):
        preprocess = Preprocessor(case.target, mean=case.mean, std=case.std)
        move = preprocess.plan
        found = {OURS: lambda: preprocess(case.x, out)[0]}
    else:
        conversion = plan(case.source, case.target)
        move = conversion.move
        found = {OURS: lambda: conversion(case.flat, out)}
    made = {name: move.program(name) for name in kernels.backends()}

    def directly(program: Any) -> Call:
        other = case.zeros(out.size, out.dtype)

        def run() -> np.ndarray:
            program.run(case.flat, other)
            return other

        return run

    found.update((name, directly(program)) for name, program in made.items())
    return found, sorted({path for program in made.values() for path in getattr(program, "paths", list)()})


def _grays(case: Case, out: np.ndarray) -> tuple[dict[str, Call], list[str]]:
    """Return the calls for gray, and the fast paths that they use."""
    image = case.flat.reshape(case.source.storage_shape)
    planes = gray_views(image, case.source.layout, out)

    def by(name: str) -> Call:
        def run() -> np.ndarray:
            kernels.gray(*planes, backend=name)
            return out

        return run

    calls: dict[str, Call] = {OURS: lambda: to_gray(image, case.source.layout, to=case.target.layout, out=out)}
    return {**calls, **{name: by(name) for name in kernels.backends()}}, paths_of("gray", *planes)


def frames(case: FrameCase) -> dict[str, Call]:
    """Return the calls for a frame: the Preprocessor, and its pass as each instruction set has it."""
    out, frame = case.out(), case.x
    preprocess = Preprocessor(case.asked, source=case.format, **case.options)
    found: dict[str, Call] = {OURS: lambda: preprocess(frame, out)[0]}
    for name in kernels.backends():
        run, other = compiled_pass(preprocess, frame, name), case.out()
        if run is not None:
            found[name] = writes(other, run, other, frame)
    return found


def suppressions(case: NmsCase) -> dict[str, Call]:
    """Return the call for boxes: `nms`."""
    return {OURS: lambda: case.filled(nms(case.boxes, case.scores, iou=IOU, class_id=case.class_id))}


def crops(case: MasksCase) -> dict[str, Call]:
    """Return the call for masks: `masks`, and its crops one after the other.

    Copies of a case share the memory of masks, as the frames of one stream do.
    """
    out = case.zeros(case.target.shape, np.uint8)
    rest = (case.coefficients, case.xyxy, (INPUT, INPUT))

    def run() -> np.ndarray:
        earlier = case.earlier.get("masks")
        found = masks(case.spec, case.flat, *rest, zero_point=case.zero_point, out=earlier)
        case.earlier["masks"] = found
        return np.concatenate([crop.view(np.uint8).reshape(-1) for crop in found], out=out)

    return {OURS: run}


def skeletons(case: PeopleCase) -> dict[str, Call]:
    """Return the call for maps and fields: `people`."""
    return {OURS: lambda: case.filled(people(case.maps))}


def detections(case: DetectCase) -> dict[str, Call]:
    """Return the calls for a detector's outputs: the decoder, with each backend.

    Copies of a case share its decoders, as the outputs of one network do: their tables are in the caches as code is.
    They share the memory of detections where they share results: as a loop over frames does with `out=`.
    """
    size = (INPUT, INPUT)
    earlier = case.outputs.found if case.outputs is not None and case.outputs.shared else {}

    def call(backend: str | None) -> Call:
        decoder, out = case.decoders.get(backend), case.out()
        if decoder is None:
            decoder = case.decoders[backend] = Decoder(case.head, case.specs, size)
            if backend is not None:
                use_backend(decoder, backend)
        memory = earlier.get(backend)
        if memory is None:
            memory = earlier[backend] = decoder(case.buffers, case.scene.confidence, IOU, LIMIT)

        def run() -> np.ndarray:
            found = decoder(case.buffers, case.scene.confidence, IOU, LIMIT, out=memory)
            xywha = found.xywha
            if xywha is not None:
                return rows(out, xywha[:, :4], found.confidence, found.class_id, xywha[:, 4:])
            return rows(out, found.xyxy, found.confidence, found.class_id, found.keypoints)

        return run

    return {OURS: call(None), **{name: call(name) for name in kernels.backends()}}


_ANSWERS: dict[type, Any] = {
    DetectCase: detections,
    NmsCase: suppressions,
    MasksCase: crops,
    PeopleCase: skeletons,
}


def paths_of(kernel: str, *arguments: Any) -> list[str]:
    """Return the fast paths that one of the compiled functions uses, at every level."""
    if kernels.active() == "numpy":
        return []
    from ..kernels import native

    return sorted({getattr(native, kernel)(*arguments, level=level).name for level in native.LEVELS})


class _Reduction(NamedTuple):
    """How a reduction is called: by its operator, as ``operator(x, out=target)``, and by its kernel.

    others: what the compiled function needs beside the kernel's arguments; None: it has one fast path alone.
    """

    operator: Callable[..., Any] | None
    kernel: Callable[..., Any]
    arguments: tuple[Any, ...]
    others: tuple[Any, ...] | None


def reductions(case: Case) -> tuple[dict[str, Call], list[str]]:
    """Return the calls for a reduction, and the fast paths that they use.

    The calls are the operator, and the kernels of each backend as the operator calls them: with the channel last, and
    on as many threads.
    """
    x, out = case.logical, case.zeros(case.target.storage_shape, case.target.stored)
    target = case.target.view(out)
    blocked = case.source.layout.is_blocked
    last = case.channels_last if blocked else x.transpose(0, 2, 3, 1)
    result = target.transpose(0, 2, 3, 1)

    indices, channels, dtype = result[..., 0], x.shape[1], x.dtype.name
    values = case.zeros(target.shape, x.dtype)

    def top(x: np.ndarray, out: np.ndarray) -> Any:
        return ops.top_k(x, TOP, out=(values, out))

    def first(x: np.ndarray, out: np.ndarray) -> Any:
        return ops.argmax_channels(*(case.source, case.flat) if blocked else (x,), out=out)

    reduction_of = {
        "argmax": _Reduction(first, kernels.argmax, (last, indices), (channels, dtype)),
        "top_k": _Reduction(top, kernels.top_k, (last, values.transpose(0, 2, 3, 1), result), (channels, dtype)),
        "softmax": _Reduction(
            ops.softmax_channels, kernels.softmax, (last, result), (last.ndim - 1, channels, dtype, 1.0, 0.0)
        ),
        "sigmoid": _Reduction(ops.sigmoid, kernels.sigmoid, (x, target), (dtype, 1.0, 0.0)),
        "peaks": _Reduction(None, kernels.peaks, (x, case.threshold), None),
    }
    operator, kernel, arguments, others = reduction_of[case.kind]

    def reduction(backend: str | None) -> Call:
        def run() -> np.ndarray:
            found = kernel(*arguments, backend=backend)
            return out if found is None else found

        return run

    mine = reduction(None) if operator is None else lambda: (operator(x, out=target), out)[1]
    paths = [case.kind] if others is None else paths_of(case.kind, *arguments, *others)
    return {OURS: mine, **{name: reduction(name) for name in kernels.backends()}}, paths


def check(case: Case, calls: dict[str, Call]) -> dict[str, str]:
    """Remove the calls whose result is not numpy's, and return the reason for each.

    This library's results must be equal to the last bit. For sigmoid and softmax that excludes the numpy fallback,
    which uses numpy's exponential. Other results may differ by rounding, integers by one, unless elements are only
    moved.
    """
    wrong: dict[str, str] = {}
    expected = case.cropped(np.asarray(calls[peers.peer_name("numpy", peers.PEERS[case.kind][0][1])]()))
    ours = kernels.backends()[:-1] if case.kind in ("sigmoid", "softmax") else kernels.backends()
    names = [name for name in calls if name == OURS or name in ours]
    first = np.array(calls[OURS]()).reshape(-1)
    tolerance = 1 if expected.dtype.kind in "iu" else 1e-4

    def right(got: np.ndarray) -> bool:
        if case.is_exact or got.shape != expected.shape:
            return np.array_equal(got, expected)
        return np.allclose(got.astype(np.float64), expected, rtol=1e-3, atol=tolerance)

    ours_are_right = right(case.cropped(first))
    for name, call in list(calls.items()):
        got = case.cropped(np.asarray(call()))
        good = ours_are_right and np.array_equal(got, case.cropped(first)) if name in names else right(got)
        if not good:
            wrong[name] = difference(got, expected)
            del calls[name]
    return wrong


def difference(got: np.ndarray, expected: np.ndarray) -> str:
    """Describe in what a result is not equal to the one that is expected."""
    if got.shape != expected.shape:
        return f"not equal: {got.size} values, expected {expected.size}"
    places = np.flatnonzero(got != expected)
    some = places[:4]
    return f"not equal: {len(places)} of {got.size} values differ: {got[some]} ..., expected {expected[some]} ..."


def memcpy(case: Case, result: np.ndarray) -> Call:
    """Return a copy of as many bytes as the case moves, onto `result` if it has as many.

    For arrays larger than the caches a copy's time depends on its pages, so it writes to those of our own result.
    """
    copied = np.ones(case.nbytes, np.uint8)  # ones, because all zeros that nobody wrote are one page
    same = result.nbytes == case.nbytes and result.flags.c_contiguous
    own = result.reshape(-1).view(np.uint8) if same else case.zeros(case.nbytes, np.uint8)
    return lambda: np.copyto(own, copied)


def competitors(case: Case, with_peers: bool) -> tuple[dict[str, Call], list[str], dict[str, str]]:
    """Return every call that does the case correctly, memcpy first; the fast paths used; and why others are wrong."""
    calls, paths = ours(case)
    libraries = peers.installed()
    for library, spelling, make in peers.PEERS[case.kind]:
        if library == "numpy" or (with_peers and library in libraries):
            try:
                call = make(case)
            except Exception as error:
                print(f"{library} cannot do {case.title}: {error}")
                continue
            if call is not None:
                calls[peers.peer_name(library, spelling)] = call
    wrong = check(case, calls)
    result = np.asarray(calls[OURS]()) if OURS in calls else np.zeros(0)
    return {"memcpy": memcpy(case, result), **calls}, paths, wrong


def rotating(case: Case, names: Collection[str], count: int, shared: bool) -> dict[str, list[Call]]:
    """Return the calls of these contenders for `count` sources with results of their own, or with `shared` ones."""
    spare = [case, *(case.elsewhere() for _ in range(count - 1))]
    calls: dict[str, list[Call]] = {name: [] for name in names}

    def collect(make: Callable[[Case], dict[str, Call]]) -> None:
        outputs = ContenderMemory(shared)
        for each in spare:
            each.outputs, outputs.at = outputs, 0
            for name, call in make(each).items():
                if name in calls:
                    calls[name].append(call)

    collect(lambda case: ours(case)[0])
    outputs = ContenderMemory(shared)
    for i, each in enumerate(spare):
        each.outputs, outputs.at = outputs, 0
        calls["memcpy"].append(memcpy(each, np.asarray(calls[OURS][i]()) if calls.get(OURS) else np.zeros(0)))
    for library, spelling, make in peers.PEERS[case.kind]:
        name = peers.peer_name(library, spelling)
        if name in calls:
            collect(lambda case, make=make, name=name: {name: make(case)})  # type: ignore[misc]
    case.outputs = None
    return {name: every for name, every in calls.items() if every}
