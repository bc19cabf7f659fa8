"""A call that does not fit is the library's error, which names the argument that is meant; others are the same."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.engines import registry
from npu_layout.support import checked_call, plugins
from npu_layout.support.keywords import MEANT
from tests import public_face

# What the library makes itself, what is as Python's or another's protocol says, and what takes any keyword.
MADE_HERE = (
    *("Comparison", "Conversion", "Counts", "ComparedLayer", "Detections", "Engine", "Explanation", "Form", "Guess"),
    *("Identification", "InputReport", "LayerComparison", "Masks", "OrientedDetections", "OutputReport", "Recordings"),
    *("Report", "Reports", "Result", "StreamError", "Toolchain"),
)
LEFT = (
    *("result_layout", "table", "Quantization.affine"),  # for operators and tables, not for users' pictures
    "TensorSpec.unpack",  # takes a microsecond, of which the check would be a quarter
)


@checked_call
def one(a: int, b: int = 2, *, c: int, confidence: int = 4) -> tuple[int, ...]:
    """One."""
    return a, b, c, confidence


class Several:
    @checked_call
    def __init__(self, a: int, *, out: int = 1) -> None:
        self.held = a, out

    @checked_call
    def __call__(self, a: int = 0) -> int:
        return a

    @classmethod
    @checked_call
    def made(cls, a: int, *, out: int = 2) -> Several:
        return cls(a, out=out)


def test_a_call_that_fits_is_the_same() -> None:
    assert (
        one(1, c=3) == (1, 2, 3, 4) and one(1, 5, c=6, confidence=7) == (1, 5, 6, 7) and one(c=1, a=2) == (2, 2, 1, 4)
    )
    assert Several(1).held == (1, 1) and Several.made(3).held == (3, 2) and Several(1)(a=4) == 4
    assert (
        str(inspect.signature(one))
        == "(a: 'int', b: 'int' = 2, *, c: 'int', confidence: 'int' = 4) -> 'tuple[int, ...]'"
    )
    assert one.__doc__ == "One." and pickle.loads(pickle.dumps(one)) is one


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: one(1, c=3, conf=1), "one: no argument 'conf'; expected a, b, c, confidence. Is it confidence?"),  # type: ignore[call-arg]
        (lambda: one(1, c=3, confidense=1), "one: no argument 'confidense'; .* Is it confidence"),  # type: ignore[call-arg]
        (lambda: one(1, c=3, zzz=1), "one: no argument 'zzz'; expected a, b, c, confidence$"),  # type: ignore[call-arg]
        (lambda: one(conf=1), "one: no argument 'conf'"),  # type: ignore[call-arg]
        (lambda: one(1, a=2, c=3), "one: argument .a. is given by position and by name"),  # type: ignore[call-arg]
        (lambda: one(1), "one: argument 'c' is missing; expected a, b, c, confidence"),  # type: ignore[call-arg]
        (lambda: one(1, 2, 3), "one: expected only a, b by position, got 3 arguments; give c=, confidence= by name"),  # type: ignore[call-arg, misc]
        (lambda: Several(1)(2, 3), "expected only a by position, got 2 arguments$"),  # type: ignore[call-arg]
        (lambda: Several(), "Several: argument 'a' is missing"),  # type: ignore[call-arg]
        (lambda: Several(1, dst=1), "Several: no argument 'dst'; expected a, out. Is it out"),  # type: ignore[call-arg]
        (lambda: Several(1)(b=1), "Several call: no argument 'b'; expected a$"),  # type: ignore[call-arg]
        (lambda: Several.made(1, b=1), r"Several\.made: no argument 'b'"),  # type: ignore[call-arg]
    ],
)
def test_a_call_that_does_not_fit(call: Any, says: str) -> None:
    with pytest.raises(nl.ArgumentError, match=says) as refused:
        call()
    assert isinstance(refused.value, (nl.NpuLayoutError, TypeError)) and isinstance(refused.value, TypeError)


class Heir(Several):
    """Inherits all calls."""


class Other(Several):
    """Has arguments of its own, of which one is not its base's."""

    def __init__(self, b: int) -> None:
        super().__init__(1, b=b)  # type: ignore[call-arg]


def test_the_name_of_a_subclass() -> None:
    wrong: Any
    for wrong, says in (
        (lambda: Heir(1, zzz=3), "^Heir: no argument 'zzz'; expected a, out$"),  # type: ignore[call-arg]
        (lambda: Heir(1)(b=1), "^Heir call: no argument 'b'"),  # type: ignore[call-arg]
        (lambda: Heir.made(1, b=1), r"^Heir\.made: no argument 'b'"),  # type: ignore[call-arg]
        (lambda: Other(1), "^Several: no argument 'b'"),
    ):
        with pytest.raises(nl.ArgumentError, match=says):
            wrong()


def test_the_name_of_a_class_whose_constructor_is_made() -> None:
    """Dataclasses of Python 3.9 call it "__create_fn__.<locals>.__init__"."""

    class Made:
        def __init__(self, a: int) -> None:
            self.a = a

    class Heir(Made):
        def __init__(self, a: int) -> None:
            super().__init__(a, c=a)  # type: ignore[call-arg]

    Made.__init__.__qualname__ = "__create_fn__.<locals>.__init__"
    Made.__qualname__ = "Made"
    checked_call(Made)
    assert Made.__init__.__qualname__ == "Made.__init__"
    wrong: Any
    for wrong in (lambda: Made(1, c=2), lambda: Heir(1)):  # type: ignore[call-arg]
        with pytest.raises(nl.ArgumentError, match=r"^Made: no argument 'c'; expected a$"):
            wrong()


def test_what_parameters_do_not_explain_is_said_in_pythons_words() -> None:
    @checked_call
    def any_number(a: int, *rest: int, **others: int) -> int:
        return a

    assert any_number(1, 2, 3, b=4) == 1
    wrong: Any
    for wrong, says in (
        (lambda: checked_call(len)(3), r"object of type 'int' has no len\(\)"),  # type: ignore[arg-type]
        (lambda: any_number(b=1), "missing 1 required positional argument: 'a'"),  # type: ignore[call-arg]
    ):
        with pytest.raises(nl.ArgumentError, match=says):
            wrong()


def test_what_newcomers_write() -> None:
    spec = nl.TensorSpec((1, 84, 8400), "NCW", name="y")
    decoder = decode.Decoder(decode.yolov8(80), [spec], (640, 640))
    image = nl.TensorSpec((1, 3, 8, 8))
    wrong: Any
    for wrong, says in (
        (lambda: nl.FrameSpec("NV12", (8, 8), pitch=16), "Is it strides, in bytes from one row to the next"),  # type: ignore[call-arg]
        (lambda: nl.FrameSpec(fmt="NV12", size_wh=(8, 8)), "Is it format"),  # type: ignore[call-arg]
        (lambda: decoder([], conf=0.3), "Decoder call: no argument 'conf'; .* Is it confidence"),  # type: ignore[call-arg]
        (lambda: decoder([], max_det=3), "Is it limit"),  # type: ignore[call-arg]
        (lambda: nl.Preprocessor(image, scale=1 / 255), "Is it std, which divides: for a scale of 1/255, std=255"),  # type: ignore[call-arg]
        (lambda: nl.Preprocessor(image, pad=0), "Is it pad_value"),  # type: ignore[call-arg]
        (lambda: nl.TensorSpec((1, 3, 8, 8), strides=(1,)), "Is it storage_strides, in elements"),  # type: ignore[call-arg]
        (lambda: nl.TensorSpec(dims=(1, 3, 8, 8)), r"Is it shape, whose letters are axes\?$"),  # type: ignore[call-arg]
        (lambda: nl.TensorSpec((1, 3, 8, 8), offset=64), "Is it storage_offset, in elements"),  # type: ignore[call-arg]
        (lambda: nl.FrameSpec("NV12", (8, 8), full_range=True), "Is it range, 'limited' or 'full'"),  # type: ignore[call-arg]
        (lambda: nl.Preprocessor(image, full_range=True), "Is it source, a FrameSpec, which has .* range"),  # type: ignore[call-arg]
        (lambda: nl.Preprocessor(image, strides=16), "Is it source, a FrameSpec, which has strides"),  # type: ignore[call-arg]
        (lambda: nl.Preprocessor(image, size=(8, 8)), "Is it target, a TensorSpec, whose shape is the size"),  # type: ignore[call-arg]
        (lambda: nl.Quantization(0.1, zp=3), "Is it zero_point"),  # type: ignore[call-arg]
        (lambda: decode.yolov8(nc=80), "Is it classes, their number"),  # type: ignore[call-arg]
        (lambda: nl.validate("x", "y", atol=1), "Is it max_abs"),  # type: ignore[call-arg]
        (
            lambda: decoder([], agnostic_nms=True),
            r"limit, out. The head says it: .*suppression, per_class=False\)\), of dataclasses$",
        ),  # type: ignore[call-arg]
        (lambda: decoder([], classes=[0]), r"A Decoder finds every class; found\[np.isin\("),  # type: ignore[call-arg]
        (lambda: decoder([], multi_label=True), "It is an argument of the head$"),  # type: ignore[call-arg]
        (lambda: decode.yolov8(80, conf=0.3), "It is an argument of the Decoder's call$"),  # type: ignore[call-arg]
        (lambda: decode.scrfd(iou=0.3), "It is an argument of the Decoder's call$"),  # type: ignore[call-arg]
        (lambda: decode.yolov8(80, imgsz=640), r"Decoder\(head, specs, \(640, 640\)\) takes it$"),  # type: ignore[call-arg]
        (lambda: decode.yolov8(80, agnostic_nms=True), r"The head says it: .*per_class=False"),  # type: ignore[call-arg]
        (lambda: decode.yolov8(80, multi_label=True), "Is it labels, of which 'all' counts every class"),  # type: ignore[call-arg]
        (lambda: decode.Decoder(decode.yolov8(80), [spec], (640, 640), confidence=1), "of the Decoder's call$"),  # type: ignore[call-arg]
        (lambda: decode.nms([], [], iou=0.5, idxs=[]), "Is it class_id, of each box"),  # type: ignore[call-arg]
        (lambda: decode.Suppression(per_clas=True), "Suppression: no argument 'per_clas'; .* Is it per_class"),  # type: ignore[call-arg]
    ):
        with pytest.raises(nl.ArgumentError, match=says):
            wrong()


def test_a_hint_is_for_the_functions_that_mean_it() -> None:
    wrong: Any
    for wrong, says in (
        (lambda: decode.yolov8(stride=(8,)), r"Is it strides\?$"),  # type: ignore[call-arg]
        (lambda: nl.specs.from_rknn(size=3), r"expected attr, native_attr, target$"),  # type: ignore[call-arg]
        (lambda: decode.Part("box", 4, conf=0.3), r"across, shared$"),  # type: ignore[call-arg]
        (lambda: decode.classify(nl.TensorSpec((1, 9), "NC"), b"", classes=3), r"buffer, k, activation$"),  # type: ignore[call-arg]
        (lambda: nl.streams.Stream(pitch=3), r"watchdog, depth, debug$"),  # type: ignore[call-arg]
    ):
        with pytest.raises(nl.ArgumentError, match=says):
            wrong()


def public_calls() -> list[tuple[str, Any]]:
    items = [(item.line.partition("(")[0], item.function) for item in public_face.items() if item.function is not None]
    engines = [(entry.name, entry.load()) for entry in plugins(registry.GROUP, registry.OWN).values()]
    return [*items, *engines]


def test_every_public_call_with_options_answers() -> None:
    seen = set()
    for name, call in public_calls():
        call = vars(call).get("__init__") if isinstance(call, type) else call
        if ".kernels." in name or not inspect.isfunction(call) or set(name.split(".")) & set(MADE_HERE):
            continue
        given = [p for p in inspect.signature(call).parameters.values() if p.name not in ("self", "cls")]
        options = any(p.default is not p.empty or p.kind is p.KEYWORD_ONLY for p in given)
        if not options or any(p.kind is p.VAR_KEYWORD for p in given) or name.endswith(LEFT):
            continue
        with pytest.raises(nl.ArgumentError, match="no argument 'zzz'"):
            call(*[None] * len({"self", "cls"} & set(inspect.signature(call).parameters)), zzz=1)
        seen.add(name)
    assert len(seen) > 100


def test_what_a_stranger_guesses_is_answered() -> None:
    for call, wrong, meant in (
        (lambda **given: nl.FrameSpec("NV12", (8, 8), **given), "line_stride", "strides"),
        (lambda **given: nl.decode.draw(None, None, **given), "class_names", "names"),  # type: ignore[arg-type]
        (lambda **given: nl.Recorder(None, "x", **given), "path", "folder"),
        (lambda **given: nl.RknnEngine("x", **given), "core", "core_mask"),
    ):
        with pytest.raises(nl.ArgumentError, match=rf"no argument '{wrong}'.*\. Is it {meant}(,|\?)"):
            call(**{wrong: 1})


def test_the_table_names_arguments_that_exist() -> None:
    known = {name for _, call in public_calls() for name in inspect.signature(call).parameters}
    for arguments, _, names in MEANT:
        assert set(arguments.split()) <= known and arguments.split()[0] not in names.split(), arguments
        assert len(set(names.split())) == len(names.split())
