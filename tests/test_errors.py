"""Every error of the library is a ValueError and an NpuLayoutError, has its own name at the top, and may be pickled."""

from __future__ import annotations

import inspect
import pickle

import pytest

import npu_layout as nl
from npu_layout import errors

ERRORS = [found for _, found in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_errors(error: type[Exception]) -> None:
    assert issubclass(error, ValueError) and issubclass(error, nl.NpuLayoutError)
    assert getattr(nl, error.__name__) is error and error.__name__ in nl.__all__ and error.__doc__
    again = pickle.loads(pickle.dumps(error("what")))
    assert type(again) is error and str(again) == "what"


def test_there_are_six() -> None:
    assert {error.__name__ for error in ERRORS} == {
        "NpuLayoutError",
        "ArgumentError",
        "LayoutError",
        "BufferSizeError",
        "RecordingError",
        "NoDeviceError",
    }
