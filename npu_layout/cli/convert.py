"""repack, import and export: from one form into another."""

from __future__ import annotations

import argparse

from .. import exchange
from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..recordings import Recording
from . import console, words


def repack_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="a raw file, or .npy")
    parser.add_argument("target", metavar="OUT", help="the same; the name says which")
    parser.add_argument("--shape", type=words.shape, required=True, help="logical shape, such as 1x57x46x46")
    parser.add_argument("--from", dest="source_layout", type=words.layout, required=True, metavar="LAYOUT",
                        help="a tag (NCHW16c) or a vendor's name with its block (NC1HWC2:16)")  # fmt: skip
    parser.add_argument("--to", dest="target_layout", type=words.layout, required=True, metavar="LAYOUT")
    parser.add_argument("--dtype", help="of the elements; needed for raw files")
    parser.add_argument("--axes", help="letters of --shape, where they are not in the order N C D H W")
    parser.add_argument("--force", action="store_true", help="overwrite OUT")


def repack_file(options: argparse.Namespace) -> int:
    words.free(options.target, options.force)
    raw = not options.source.endswith(".npy")
    if raw and options.dtype is None:
        raise NpuLayoutError(f"{options.source}: raw bytes need --dtype")
    buffer = words.buffer_in(options.source)
    dtype = options.dtype or buffer.dtype
    source, target = (
        TensorSpec(options.shape, layout, dtype, axes=options.axes)
        for layout in (options.source_layout, options.target_layout)
    )
    packed = target.pack(source.unpack(buffer.data if raw else buffer))
    whole = packed if target.element.nibbles else packed.reshape(target.storage_shape)
    words.write_array(options.target, whole)
    console.say(f"{options.target}: {target.describe()}, {target.nbytes} bytes")
    return 0


def import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="what another tool wrote")
    parser.add_argument("out", metavar="OUT", help="the recording's folder")
    parser.add_argument("--form", help="raw, polygraphy, onnx or rknn (default: told from what lies there)")
    parser.add_argument("--specs", metavar="FILE", help="TensorSpecs as JSON, of outputs that are flat buffers")
    parser.add_argument("--description", metavar="FILE", help="raw: the spec file, where it is not PATH/spec.json")
    parser.add_argument("--inputs", metavar="PATH", help="polygraphy: the saved inputs, where they lie elsewhere")
    parser.add_argument("--runner", help="polygraphy: whose results, where there are several")
    parser.add_argument("--model", metavar="FILE", help="onnx, rknn: the model, for names that the tensors lack")
    parser.add_argument("--outputs", type=lambda text: text.split(","), metavar="NAMES", help="rknn: a,b,c")
    parser.add_argument("--side", help="rknn: runtime, simulator or golden")


def import_recording(options: argparse.Namespace) -> int:
    names = ("form", "description", "inputs", "runner", "model", "outputs", "side")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.specs is not None:
        given["specs"] = words.specs_in(options.specs)
    recording = exchange.load(options.path, **given)
    recording.save(options.out)
    console.say(f"{options.out}: {len(recording)} frames")
    return 0


def export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RECORDING", help="its folder")
    parser.add_argument("out", metavar="OUT", help="a new folder")
    parser.add_argument("--form", required=True, help="raw, polygraphy or onnx")
    parser.add_argument("--model", metavar="FILE", help="polygraphy, onnx: the model, whose tensors they then are")


def export_recording(options: argparse.Namespace) -> int:
    recording = Recording.load(options.recording)
    exchange.save(recording, options.out, form=options.form, model=options.model)
    console.say(f"{options.out}: {len(recording)} frames")
    return 0
