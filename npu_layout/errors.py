"""The errors of npu_layout. Each is a ValueError, so a caller that knows nothing of them still catches them."""


class NpuLayoutError(ValueError):
    """Base of every error that the library raises on bad input."""


class LayoutError(NpuLayoutError):
    """A layout, shape, storage shape or stride that cannot be, or an operation that a layout does not allow."""


class BufferSizeError(NpuLayoutError):
    """A buffer that is shorter or longer than its layout needs."""


class RecordingError(NpuLayoutError):
    """A recording that is damaged, hostile, or does not fit its own description."""


class NoDeviceError(NpuLayoutError):
    """The accelerator is not here: what an engine's factory raises so that its tests are skipped and not failed."""
