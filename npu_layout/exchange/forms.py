"""Load recordings from the files of other tools, and save them as such files, by the table FORMS."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple

from ..buffers import TensorSpec
from ..errors import NpuLayoutError, RecordingError
from ..recordings import Model, Recording, checked_specs, new_folder, rechecked
from ..support import (
    PathLike,
    argument,
    checked_call,
    errors_named,
    items_of,
    nearest,
    path_of,
    plugin,
    plugins,
    text_of,
)
from . import onnx_data, polygraphy, raw, rknn_snapshot
from .foreign_files import existing

__all__ = ["FORMS", "Form", "load", "save"]


class Form(NamedTuple):
    """How recordings are read from, and written to, the files of one tool: a value of FORMS.

    Attributes
    ----------
    importer
        ``importer(path, **options)`` returns the Recording; `load` calls it with the options that this form has.
    exporter
        ``exporter(recording, path, **options)`` writes it; `save` calls it with the options that this form has. None:
        this form cannot be written.
    recognises
        ``recognises(path)`` returns whether a path looks like this form.
    help
        What the form is, in a line.
    """

    importer: Callable[..., Recording]
    exporter: Callable[..., None] | None
    recognises: Callable[[Path], bool]
    help: str


RAW = Form(
    raw.load_raw,
    raw.save_raw,
    raw.recognises,
    "a folder of .bin or .npy dumps with a spec.json that describes them",
)
POLYGRAPHY = Form(
    polygraphy.load_polygraphy,
    polygraphy.save_polygraphy,
    polygraphy.recognises,
    "Polygraphy's JSON: saved inputs and RunResults, in a folder or as files",
)
ONNX = Form(
    onnx_data.load_onnx,
    onnx_data.save_onnx,
    onnx_data.recognises,
    "ONNX test data: test_data_set_* folders of input_*.pb and output_*.pb (needs the onnx package)",
)
RKNN = Form(
    rknn_snapshot.load_rknn,
    None,
    rknn_snapshot.recognises,
    "a snapshot folder of RKNN-Toolkit2's accuracy_analysis",
)

_GROUP = "npu_layout.exchange"
_OWN = {name: f"npu_layout.exchange.forms:{name.upper()}" for name in ("raw", "polygraphy", "onnx", "rknn")}


class Forms(Mapping[str, Form]):
    """Every form by name: entry points of the group npu_layout.exchange, the library's own first."""

    def __getitem__(self, name: str) -> Form:
        found = plugin(_GROUP, _OWN, name)
        if found is None:
            raise KeyError(name)
        form = found.load()
        if not isinstance(form, Form):
            raise NpuLayoutError(f"{found.describe()}: expected a Form, got {form!r}")
        return form

    def __iter__(self) -> Iterator[str]:
        return iter(plugins(_GROUP, _OWN))

    def __len__(self) -> int:
        return len(plugins(_GROUP, _OWN))


FORMS = Forms()


@checked_call
def load(
    path: PathLike,
    *,
    form: str | None = None,
    specs: Mapping[str, TensorSpec] | None = None,
    description: PathLike | Mapping[str, Any] | None = None,
    inputs: PathLike | None = None,
    runner: str | None = None,
    model: PathLike | None = None,
    outputs: Sequence[str] | None = None,
    side: str | None = None,
) -> Recording:
    """Load a recording from files that another tool wrote; they are never written to.

    Most of these files have no checksum: if two dumps of the same size were exchanged, that is not detected.

    Parameters
    ----------
    path
        Folder or file. Each run is read from it whenever it is accessed, so do not delete or move it meanwhile.
    form
        A name of FORMS; None: recognised from what is at `path`.
    specs
        ``{name: TensorSpec}`` of outputs that are an accelerator's flat buffers, and of inputs that are not stored as
        the ONNX model reads them. Outputs without a spec are tensors in C order (raw: as spec.json describes them).
    description
        For the form raw: the path of the spec file, if it is not spec.json in the folder, or its content as a dict.
    inputs
        For polygraphy: the file of the saved inputs, if it is elsewhere.
    runner
        For polygraphy: the name of the runner, if the file has several.
    model
        For onnx and rknn: the path of the ONNX model, for names that the files lack.
    outputs
        For rknn: the names of the layers that are outputs.
    side
        For rknn: which values are read, "runtime", "simulator" or "golden"; None: the first of these that is there.

    Returns
    -------
    Recording, whose ``meta["source"]`` names the form, except for raw, which has its own meta.

    Raises
    ------
    RecordingError
        If the form is not recognised, or anything is missing, damaged or unsafe, such as a link out of the folder; the
        message names file and field.
    NpuLayoutError
        If the form is unknown or does not accept an argument, or the onnx package is needed and missing.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "heat.bin").write_bytes(bytes([1, 2, 3, 4]))
    >>> words = {"outputs": {"heat": {"shape": [1, 2, 1, 2], "layout": "NHWC", "dtype": "int8", "scale": 0.5}}}
    >>> recording = load(folder, form="raw", description=words)
    >>> recording.specs["heat"].unpack(recording.frames[0].outputs["heat"]).tolist()
    [[[[0.5, 1.5]], [[1.0, 2.0]]]]
    """
    for what, given in (("path", path), ("inputs", inputs), ("model", model)):
        if given is not None or what == "path":
            path_of(what, given)
    if description is not None and not isinstance(description, Mapping):
        path_of("description", description)
    for what, word in (("runner", runner), ("side", side)):
        if word is not None:
            text_of(what, word)
    if outputs is not None and not isinstance(outputs, str):  # a form says itself what it makes of one name
        outputs = items_of("outputs", outputs, str, "names")
    specs = None if specs is None else checked_specs(specs)
    chosen = _form(form) if form is not None else _recognised(existing(path))
    options = dict(
        specs=specs, description=description, inputs=inputs, runner=runner, model=model, outputs=outputs, side=side
    )
    importer = FORMS[chosen].importer
    return importer(path, **_options(chosen, importer, 1, options))


@checked_call
def save(recording: Recording, path: PathLike, *, form: str, model: Model | None = None) -> None:
    """Write a recording in another tool's form: a new folder, which appears complete or not at all.

    form: "raw" keeps everything. "polygraphy" and "onnx" get the outputs unpacked by their specs (float32 if quantised)
    and the inputs as the ONNX model reads them, and lose specs, meta and the camera's frames. model: for these two, the
    ONNX model (path, bytes or engine) that the files are meant for: inputs and outputs are written as `validate`
    compares them, with the model's names, dtypes and order of axes. Without a model a quantised input becomes real
    values, though the model may need the stored integers, and axes stay as the specs have them.

    Raises RecordingError if `path` exists, or there are no runs, or they do not fit the model or the recording's edited
    specs; NpuLayoutError if the form cannot be written, or has no `model`, if the model cannot be loaded, or the onnx
    package is needed and missing.

    >>> import tempfile, numpy as np
    >>> spec = TensorSpec((1, 2, 1, 2), "NHWC", "int8")
    >>> recording = Recording({"y": spec}, [({}, {"y": np.array([1, 2, 3, 4], np.int8)})])
    >>> folder = Path(tempfile.mkdtemp()) / "dumps"
    >>> save(recording, folder, form="raw")
    >>> load(folder).specs == recording.specs
    True
    """
    known = FORMS.get(form) if isinstance(form, str) else None
    exporter = None if known is None else known.exporter
    if exporter is None:
        writable = [name for name, other in FORMS.items() if other.exporter is not None]
        words = f"form {form!r} cannot be written;" if known is not None else f"form {form!r}:"
        raise NpuLayoutError(f"{words} expected one of {', '.join(writable)}{nearest(form, writable)}")
    if not isinstance(recording, Recording):
        raise NpuLayoutError(f"recording: expected a Recording, got {type(recording).__name__}")
    if not len(recording):
        raise RecordingError(f"{path}: there are no frames to write")
    checked = rechecked(recording)
    with new_folder(path) as folder:
        exporter(checked, folder, **_options(form, exporter, 2, {"model": model}))


def _options(form: str, call: Callable[..., Any], own: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given; NpuLayoutError if `call` has other parameters after its `own` ones."""
    given = {name: value for name, value in options.items() if value is not None}
    accepted = [*inspect.signature(call).parameters][own:]
    if not set(given) <= set(accepted):
        lacking = ", ".join(sorted(set(given) - set(accepted)))
        raise NpuLayoutError(f"form {form!r} accepts no {lacking}; it accepts {', '.join(accepted) or 'nothing more'}")
    return given


def _form(name: str) -> str:
    if not isinstance(name, str) or name not in FORMS:
        raise NpuLayoutError(f"form {name!r}: expected one of {', '.join(FORMS)}{nearest(name, FORMS)}")
    return name


def _recognised(path: Path) -> str:
    with errors_named(path):
        found = [name for name, form in FORMS.items() if form.recognises(path)]
    if len(found) == 1:
        return found[0]
    if (path / "recording.json").exists():
        raise RecordingError(f"{path}: a recording of npu_layout's own; Recording.load reads it")
    if found:
        raise RecordingError(f"{path}: could be {' or '.join(found)}; give {argument('form')}")
    forms = "; ".join(f"{name}: {form.help}" for name, form in FORMS.items())
    raise RecordingError(f"{path}: its form is not recognised; give {argument('form')}. {forms}")
