"""The errors of npu_layout. Each is a ValueError, so that callers who do not know these classes can catch them too."""


class NpuLayoutError(ValueError):
    """Base of every error that the library raises on bad input."""


class ArgumentError(NpuLayoutError, TypeError):
    """A call that does not fit the parameters of the function: an argument is unknown, missing, or given twice."""


class LayoutError(NpuLayoutError):
    """A layout, shape, storage shape or stride that is not possible, or an operation that a layout does not allow."""


class BufferSizeError(NpuLayoutError):
    """A buffer that is shorter or longer than its layout needs."""


class RecordingError(NpuLayoutError):
    """A recording that is damaged, hostile, or does not fit its own description."""


class NoDeviceError(NpuLayoutError):
    """The machine has no accelerator; an engine's factory raises it, so that tests are skipped instead of failed."""
