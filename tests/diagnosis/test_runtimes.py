"""The matrix of real runtimes on one that is always there: the zoo's quantised network, integers in and out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def matrix() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    import runtime_matrix

    yield runtime_matrix
    sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture
def here(matrix: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Onnxruntime's CPU provider as a runtime "here", and one that is not installed."""
    from verdicts.runtimes import on_qnn

    runtimes = matrix.runtimes

    def opened(folder: Path) -> Any:
        engine = nl.OnnxRuntimeEngine(folder / "model.onnx", threads=1)
        return on_qnn.on_integers(lambda x: list(engine.infer(x).values()), folder)

    known = {
        "here": runtimes.Runtime({"onnxruntime": "onnxruntime"}, on_qnn.compiled, opened, {"pose": "slow"}),
        "absent": runtimes.Runtime({"no_such_runtime": "no-such-runtime"}, on_qnn.compiled, opened),
    }
    monkeypatch.setattr(runtimes, "known", lambda: known)
    yield matrix
    matrix.models.load.cache_clear()
    matrix.models.engine.cache_clear()
    runtimes.opened.cache_clear()


def test_glue_of_every_runtime_is_there_without_the_runtimes(matrix: Any) -> None:
    known = matrix.runtimes.known()
    assert {"openvino-int8", "qnn-htp", "ncnn-int8", "ncnn-bf16", "mnn-int8", "litert-int8", "tvm-int8"} <= set(known)
    assert {"rknn-rk3588", "executorch-int8"} <= set(known)
    assert all(isinstance(runtime.missing, list) and runtime.packages for runtime in known.values())


def test_integers_at_both_ends(here: Any) -> None:
    model, zoo = here.models.load("segmentation@here"), here.models.load("segmentation")
    assert model.quantised.startswith(here.runtimes.PREFIX) and model.path == zoo.path
    assert model.fed.dtype == "int8" and model.codes == {"mask": "int8"}
    image = here.cases.pictures.stream(np.random.default_rng(5), "mixed", 1, zoo.shape[:1:-1])[0]
    x = here.cases.feed(zoo, image, zoo.preprocess)
    whole = here.models.engine(zoo.quantised).infer(x)["mask"]
    ends = here.models.engine(model.quantised).infer(x)["mask"]
    low, high = model.ranges["mask"]  # from which a case makes the runtime's own quantization again
    step = float(np.max(np.subtract(high, low))) / 255
    np.testing.assert_allclose(ends, whole, atol=1.01 * step)  # onnxruntime 1.17 rounds one of them otherwise
    spec = here.ports.Port("mask", model.outputs["mask"], low, high).spec("NCHW", "int8")
    np.testing.assert_allclose(spec.unpack(spec.pack(ends)), ends, atol=1e-5)


@pytest.mark.parametrize(
    ("fault", "network"),
    [
        ("faultless", "segmentation"),
        ("nhwc_as_nchw", "segmentation"),
        ("scale_x2", "maps"),
        ("bgr", "segmentation"),
        ("late_one", "maps"),
    ],
)
def test_planted_in_a_runtimes_outputs(here: Any, fault: str, network: str) -> None:
    outcomes = here.run([here.Case(fault, f"{network}@here", "int8", "qdq", 0)])
    assert outcomes and {o.outcome for o in outcomes} == {"right"}, outcomes


def test_inputs_are_judged(here: Any) -> None:
    """The integers of a recorded input come from the declared preprocessing, and are found to."""
    recorded = [here.cases.build(here.Case("stretched", "maps@here", "int8", "qdq", 0)).recording]
    assert all("frame" in r.frames[0].inputs and r.specs["image"].dtype == "int8" for r in recorded)
    outcomes = here.run([here.Case("late_one", "segmentation@here", "int8", "qdq", seed) for seed in range(1)])
    assert {o.outcome for o in outcomes if o.output.startswith("input ")} <= {"right"}


def test_what_is_not_run_is_named(here: Any) -> None:
    assert dict(here.available("absent", ["maps"])) == {"absent": "not installed: pip install no-such-runtime"}
    assert dict(here.available("here", ["pose"])) == {"pose@here": "slow"}


def test_the_next_network_where_a_fault_cannot_be_planted(here: Any) -> None:
    work = list(here.planted("here", ["segmentation", "twins"], 1, 0))
    assert len(work) == len(
        [f for f in here.faults.FAULTS if not f.models or {"segmentation", "twins"} & set(f.models)]
    )
    exchanged = next(a for a in work if a[0].fault == "exchanged_equal")
    assert {case.model for case in exchanged} == {"segmentation@here", "twins@here"}
    assert {o.case.split("/")[1] for o in here.run(exchanged)} == {"twins@here"}


def test_the_table(matrix: Any) -> None:
    clean = matrix.Outcome("faultless/maps@a/int8/qdq/0", "maps", "match", "match", "right", "", "", 20.0, 20.0)
    wrong = clean._replace(verdict="layout", outcome="accused")
    fault = clean._replace(case="bgr/maps@b/int8/qdq/0", planted="preprocessing", verdict="preprocessing")
    lines = matrix.by_runtime([clean, wrong, fault]).splitlines()
    assert lines[1].split() == ["a", *["."] * 7, "2", "1"] and lines[2].split() == ["b", "1", *["."] * 6, "0", "0"]
