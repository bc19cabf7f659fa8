"""What a fuzzer calls with bytes of its own: each target raises on a finding and returns on everything else.

scripts/fuzz runs them with atheris, tests/project/test_fuzzing.py runs the corpora (an input on each line, in
hexadecimal) and findings again. A target's bytes are a choice, a line, and content; `seeds` gives some to begin with.
``python -m tests.support.fuzzing out TARGET FOLDER`` writes all inputs that there are to files, ``keep TARGET FOLDER``
makes a corpus of files.
"""

from __future__ import annotations

import base64
import hashlib
import io
import itertools
import json
import random
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Callable

import numpy as np

import npu_layout as nl
from npu_layout import exchange
from npu_layout.layouts.vendor_names import NAMED
from npu_layout.recordings.model_inputs import model_inputs
from npu_layout.recordings.model_outputs import model_outputs
from tests.support.damage import mutate_json
from tests.support.exchanged import SNAPSHOT, recording
from tests.support.fuzz_pictures import pictures
from tests.support.paths import TESTS
from tests.support.vendor_metadata import EXAMPLES

READERS = {name: getattr(nl.specs, f"from_{name}") for name in EXAMPLES if name != "rknn"}
_MOST = 1 << 12  # elements of which every one is looked at
_SHM = Path("/dev/shm")


class Finding(AssertionError):
    """An invariant that does not hold."""


def expect(good: Any, *what: object) -> None:
    if not good:
        raise Finding(" ".join(map(str, what)))


# layouts


def layout(data: bytes) -> None:
    """``tag or name / axes / block`` and a shape: what parses has offsets within its size, each element its own."""
    text, _, more = data.partition(b"\n")
    tag, axes, block = (*text.decode("latin-1").split("/"), "", "")[:3]
    made = []
    with suppress(nl.NpuLayoutError):
        made.append(nl.Layout(tag, axes or None))
    with suppress(nl.NpuLayoutError):
        made.append(nl.Layout.named(tag, int(block) if block.isdecimal() and len(block) < 40 else None))
    for one in made:
        check_layout(one, more)


def check_layout(one: nl.Layout, more: bytes) -> None:
    again = nl.Layout(str(one), one.axes)
    expect(again == one and hash(again) == hash(one) and again.dims == one.dims, "round trip", repr(one))
    expect(eval(repr(one), {"Layout": nl.Layout}) == one, "repr", repr(one))
    rank = len(one.axes)
    shape = tuple(1 + (more[i] if i < len(more) else 3) % 19 for i in range(rank))
    stored, size = one.storage_shape(shape), one.size(shape)
    expect(len(stored) == len(one.dims) and all(type(n) is int and n > 0 for n in stored), "storage shape", stored)
    expect(np.prod([*map(float, stored)]) == size or size > 1 << 53, "size", stored, size)
    last = one.offset(shape, *(n - 1 for n in shape))
    expect(one.offset(shape, *[0] * rank) == 0 and 0 <= last < size, "ends", repr(one), shape, last, size)
    for index in ((-1, *shape[1:]), shape):
        with suppress(IndexError):
            raise Finding("outside", one.offset(shape, *index), repr(one), shape)
    if size < 1 << 63:
        arrays = one.offset(shape, *(np.array([0, n - 1]) for n in shape))
        expect(arrays.dtype == np.int64 and arrays.tolist() == [0, last], "arrays", repr(one), shape)
    if rank and np.prod([*map(float, shape)]) <= _MOST and size < 1 << 62:
        grid = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
        places = one.offset(shape, *grid)
        expect(places.min() >= 0 and places.max() < size, "range", repr(one), shape)
        expect(len(np.unique(places)) == places.size, "two elements at one place", repr(one), shape)
    if size <= _MOST:
        check_spec(nl.TensorSpec(shape, one, "uint8"))


# specs


def check_spec(spec: nl.TensorSpec) -> None:
    """What holds of every spec that can be made."""
    expect(nl.TensorSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec, "dict", repr(spec))
    expect(spec.nbytes > 0 and spec.size >= 1, "size", repr(spec))
    first, last = spec.offset(*[0] * len(spec.shape)), spec.offset(*(n - 1 for n in spec.shape))
    expect(0 <= first < spec.size and 0 <= last < spec.size, "ends", repr(spec))
    if spec.size > _MOST:
        return
    stored = np.arange(spec.nbytes, dtype=np.uint8).tobytes()
    tensor = spec.unpack(stored)
    expect(tensor.shape == spec.shape, "unpacked", repr(spec), tensor.shape)
    flat = spec.flat(stored)
    if spec.quantization is None and not spec.element.nibbles and spec.dtype != "bfloat16":
        for index in itertools.islice(np.ndindex(*spec.shape), 64):
            expect(tensor[index].tobytes() == flat[spec.offset(*index)].tobytes()[:: 1 if flat.dtype.isnative else -1])
        packed = spec.pack(tensor)
        expect(packed.dtype == spec.stored and spec.unpack(packed).tobytes() == tensor.tobytes(), "packed", repr(spec))


def specs(data: bytes) -> None:
    """JSON ``[what, arguments]``: a runtime's metadata gives a spec or an error of the library."""
    try:
        what, arguments = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return
    with suppress(nl.NpuLayoutError):
        if what == "rknn":
            given = [*(arguments if isinstance(arguments, list) else [arguments]), None, None, None]
            check_spec(nl.specs.from_rknn(given[0], given[1], target=given[2]))
        elif isinstance(what, str) and what in READERS:
            check_spec(READERS[what](arguments, **EXAMPLES[what][1]))
        else:
            check_spec(nl.TensorSpec.from_dict(arguments))


# recordings


@contextmanager
def folder_of(kind: str) -> Iterator[Path]:
    """A folder of that kind, fresh for this call."""
    with tempfile.TemporaryDirectory(dir=_SHM if _SHM.is_dir() else None) as home:
        folder = Path(home) / kind
        folder.mkdir()
        for name, content in originals(kind).items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        yield folder


@cache
def originals(kind: str) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / kind
        if kind == "rknn":
            shutil.copytree(SNAPSHOT, folder)
        elif kind == "recording":
            recording(2).save(folder)
        else:
            exchange.save(recording(2), folder, form=kind)
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _signed(content: bytes) -> bytes:
    about = json.loads(content)
    about.pop("sha256", None)
    words = json.dumps(about, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    return json.dumps({**about, "sha256": hashlib.sha256(words).hexdigest()}).encode()


def _archive(content: bytes) -> bytes:
    """A frame whose checksums fit: the manifest is the first line; the rest is its first array's member."""
    manifest, _, member = content.partition(b"\n")
    whole = zipfile.ZipFile(io.BytesIO(originals("recording")["frame-000000.npz"]))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = hashlib.sha256(manifest).hexdigest().encode()
        archive.writestr("manifest.json", manifest)
        for name in whole.namelist()[1:]:
            archive.writestr(name, member if member and name == "0.npy" else whole.read(name))
    return file.getvalue()


def _bytes_of(found: nl.Recording) -> Any:
    sides = [[{k: (a.dtype, a.shape, a.tobytes()) for k, a in side.items()} for side in frame] for frame in found]
    return found.specs, found.meta, sides


@cache
def _original() -> Any:
    with folder_of("recording") as folder:
        return _bytes_of(nl.Recording.load(folder))


RECORDED: dict[bytes, tuple[str, Callable[[bytes], bytes]]] = {
    b"about": ("recording.json", bytes),
    b"signed": ("recording.json", _signed),
    b"frame": ("frame-000001.npz", bytes),
    b"archive": ("frame-000000.npz", _archive),
}


def recordings(data: bytes) -> None:
    """A file of a recording is replaced: it is refused, or is what it was, or was signed anew and reads to its end."""
    kind, _, content = data.partition(b"\n")
    if kind not in RECORDED:
        return
    name, made = RECORDED[kind]
    try:
        replaced = made(content)
    except (ValueError, AttributeError, RecursionError):
        return
    with folder_of("recording") as folder:
        (folder / name).write_bytes(replaced)
        try:
            found = nl.Recording.load(folder)
            loaded = _bytes_of(found)
        except nl.RecordingError as error:
            expect(str(folder) in str(error), "names no file:", error)
            return
        if kind in (b"about", b"frame"):
            expect(loaded == _original(), "loads as another")
        for spec in found.specs.values():
            check_spec(spec)
        with tempfile.TemporaryDirectory(dir=folder) as home:
            found.save(Path(home) / "again")
            expect(_bytes_of(nl.Recording.load(Path(home) / "again")) == loaded, "saved as another")


# importers


def _npy_in_json(content: bytes) -> bytes:
    """The bytes as an .npy in Polygraphy's JSON."""
    words = json.loads(originals("polygraphy")["outputs.json"])
    values = words["lst"][0][1][0]["outputs"]["heat"]["values"]
    values["array"] = base64.b64encode(content).decode()
    return json.dumps(words).encode()


IMPORTED: dict[bytes, tuple[str, str, Callable[[bytes], bytes]]] = {
    b"spec": ("raw", "spec.json", bytes),
    b"dump": ("raw", "frame-000000/input-1.npy", bytes),
    b"outputs": ("polygraphy", "outputs.json", bytes),
    b"inputs": ("polygraphy", "inputs.json", bytes),
    b"npy": ("polygraphy", "outputs.json", _npy_in_json),
    b"output": ("onnx", "test_data_set_0/output_0.pb", bytes),
    b"input": ("onnx", "test_data_set_1/input_1.pb", bytes),
    b"map": ("rknn", "map_name_to_file.txt", bytes),
    b"errors": ("rknn", "error_analysis.txt", bytes),
    b"layer": ("rknn", "simulator/npy/heat_out_0.npy", bytes),
    b"model": ("rknn", "model.onnx", bytes),
}


def importers(data: bytes) -> None:
    """A file that another tool wrote is replaced: it is refused, or all that it holds can be read."""
    kind, _, content = data.partition(b"\n")
    if kind not in IMPORTED:
        return
    form, name, made = IMPORTED[kind]
    with folder_of(form) as folder:
        (folder / name).write_bytes(made(content))
        model = {"model": folder / "model.onnx"} if form == "rknn" else {}
        try:
            found = exchange.load(folder, form=None if len(content) % 2 else form, **model)  # type: ignore[arg-type]
            for frame in found:
                model_inputs(found, frame)
                model_outputs(found, frame)
            loaded = _bytes_of(found)
        except nl.RecordingError as error:
            expect(str(folder) in str(error) or "meta: preprocess" in str(error), "names no file:", error)
            return
        for spec in found.specs.values():
            check_spec(spec)
        found.save(folder / "again")
        expect(_bytes_of(nl.Recording.load(folder / "again")) == loaded, "saved as another")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "layout": layout,
    "specs": specs,
    "recording": recordings,
    "importers": importers,
    "pictures": pictures,
}


def seeds(target: str) -> Iterator[bytes]:
    if target == "layout":
        tags = ["NCHW16c", "NHWC8h4w", "CHWN16n16c", "OIHW4i16o4i", "NM", "NCDHW", "KM16m16k/MK", "NHWC/NHWC"]
        yield from (f"{tag}\n\x01\x11\x05\x04".encode() for tag in [*tags, *(f"{name}//16" for name in NAMED)])
    elif target == "specs":
        heat = dict(
            name="h", dims=[1, 5, 3, 3], fmt="NCHW", type="INT8", qnt_type="AFFINE_ASYMMETRIC", zp=-3, scale=0.1
        )
        native = dict(heat, dims=[1, 1, 3, 3, 16], fmt="NC1HWC2", size_with_stride=192, w_stride=0)
        image = dict(heat, dims=[1, 4, 5, 3], fmt="NHWC", type="UINT8", qnt_type="DFP", fl=4, w_stride=8, n_dims=4)
        quantised = dict(scales=[0.5, 1.0], zero_points=[0, 1], quantized_dimension=3)
        tflite = dict(name="y", shape=[1, 2, 2, 2], dtype="uint8", quantization=[0.5, 128])
        spec = nl.TensorSpec((1, 5, 3, 3), "NCHW4c", "int8", quantization=nl.Quantization(0.5, 3), size=200, name="x")
        for rknn in ([heat], [heat, native], [heat, None, "rk3588"], [image, None, "rk3566"], [image], [image, image]):
            yield json.dumps(["rknn", rknn]).encode()
        for known in (tflite, dict(tflite, quantization_parameters=quantised)):
            yield json.dumps(["tflite", known]).encode()
        yield from (json.dumps([name, EXAMPLES[name][0]]).encode() for name in READERS)
        yield from (json.dumps(["spec", one.to_dict()]).encode() for one in (spec, *recording(1).specs.values()))
    elif target == "recording":
        files = originals("recording")
        frame = zipfile.ZipFile(io.BytesIO(files["frame-000000.npz"]))
        for kind in (b"about", b"signed", b"frame"):
            yield kind + b"\n" + files[RECORDED[kind][0]]
        yield b"archive\n" + frame.read("manifest.json") + b"\n" + frame.read("0.npy")
    elif target == "pictures":
        yield from (random.Random(i).randbytes(60) for i in range(60))
    else:
        heat = exchange_npy("polygraphy")
        for kind, (form, name, _) in IMPORTED.items():
            yield kind + b"\n" + (heat if kind == b"npy" else originals(form)[name])


def exchange_npy(form: str) -> bytes:
    words = json.loads(originals(form)["outputs.json"])
    return base64.b64decode(words["lst"][0][1][0]["outputs"]["heat"]["values"]["array"])


def mutated(data: bytes, seed: int) -> bytes | None:
    """The input with some changes to the JSON that it holds; None where it holds none."""
    rng = random.Random(seed)
    head, newline, content = data.partition(b"\n")
    text, rest = (content, b"") if newline else (head, b"")
    if head == b"archive":
        text, split, rest = content.partition(b"\n")
        rest = split + rest
    try:
        changed = mutate_json(rng, text)
        for _ in range(rng.choice((0, 0, 1, 3))):
            changed = mutate_json(rng, changed)
    except (ValueError, RecursionError, IndexError):
        return None
    return head + newline + changed + rest if newline else changed


# corpora


def kept(target: str) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of the seeds, the corpus and the findings; "core" too."""
    corpus = TESTS / "corpus" / f"{target}.txt"
    lines = corpus.read_text("ascii").split() if corpus.exists() else []
    if target in TARGETS:
        yield from ((f"seed-{i}", seed) for i, seed in enumerate(seeds(target)))
    yield from ((f"{target}-{i}", bytes.fromhex(line)) for i, line in enumerate(lines))
    yield from ((file.name, file.read_bytes()) for file in sorted((TESTS / "findings" / target).glob("*")))


def reached(target: str, data: bytes) -> set[tuple[str, int, int]]:
    """The steps from line to line that the library takes."""
    steps = set()

    def trace(frame: Any, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if "npu_layout" not in name:
            return None
        before = 0

        def line(frame: Any, event: str, _: Any) -> Any:
            nonlocal before
            steps.add((name, before, frame.f_lineno))
            before = frame.f_lineno
            return line

        return line

    sys.settrace(trace)
    try:
        TARGETS[target](data)
    finally:
        sys.settrace(None)
    return steps


def keep(target: str, inputs: list[bytes]) -> None:
    """Make the corpus of those inputs that reach something new, the short ones first; of the core's, of all."""
    chosen, seen = [], set()
    for data in sorted(inputs, key=lambda data: (len(data), data)):
        steps = reached(target, data) if target in TARGETS else {data}
        if steps - seen:  # type: ignore[operator]
            chosen.append(data)
            seen |= steps  # type: ignore[arg-type]
    (TESTS / "corpus").mkdir(exist_ok=True)
    (TESTS / "corpus" / f"{target}.txt").write_text("".join(f"{data.hex()}\n" for data in chosen if data))


if __name__ == "__main__":
    verb, name, folder = sys.argv[1:]
    if verb == "keep":
        keep(name, [file.read_bytes() for file in Path(folder).iterdir()])
    else:
        for stem, data in kept(name):
            (Path(folder) / stem).write_bytes(data)
