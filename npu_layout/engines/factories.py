"""Make the engine that a project names as "package.module:factory"."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import NoDeviceError, NpuLayoutError


def engine_named(name: str) -> Any:
    """Return the engine that a project's factory makes.

    Parameters
    ----------
    name
        ``"package.module:factory"``: a callable without arguments. It returns anything with
        ``infer({name: array}) -> {name: array}`` and ``output_specs`` (and ``input_specs``, if the form of its inputs
        differs from that of the ONNX model's). If there is no accelerator, it raises NoDeviceError with the reason, or
        returns None.

    Raises
    ------
    NoDeviceError
        If the factory raises it, or returns None.
    NpuLayoutError
        If there is no such factory, it fails, it calls exit(), or it returns no engine.

    Examples
    --------
    >>> engine_named("collections")
    Traceback (most recent call last):
    npu_layout.errors.NpuLayoutError: engine 'collections': expected package.module:factory
    """
    module, _, factory = name.partition(":")
    if not module or not factory:
        raise NpuLayoutError(f"engine {name!r}: expected package.module:factory")
    try:
        make: Any = importlib.import_module(module)
        for part in factory.split("."):
            make = getattr(make, part)
        engine = make()
    except NoDeviceError:
        raise
    except SystemExit as end:  # it is the caller who decides whether the program ends, and with which status
        status = "" if end.code is None else repr(end.code)
        raise NpuLayoutError(f"engine {name!r}: called exit({status}) instead of returning an engine") from end
    except Exception as error:  # whatever the project's own code raises
        raise NpuLayoutError(f"engine {name!r}: {type(error).__name__}: {error}") from error
    if engine is None:
        raise NoDeviceError(f"engine {name!r}: its accelerator is not here (the factory returned None)")
    lacking = [attribute for attribute in ("infer", "output_specs") if not hasattr(engine, attribute)]
    if lacking:
        raise NpuLayoutError(f"engine {name!r}: {type(engine).__name__} has no {' and no '.join(lacking)}")
    return engine
