"""Read a network's outputs from Sony's IMX500, a camera that runs it on its own frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..specs import from_imx500
from ..support import checked_call, whole_number
from .runtime import RuntimeEngine, model_file, names_of, opening, runtime


class Imx500Engine(RuntimeEngine):
    """Reads with picamera2 what an IMX500 (Raspberry Pi AI Camera) finds in its next frame.

    The sensor feeds the network itself, so there are no inputs: ``infer({})`` waits for the next frame that has
    outputs. All outputs are in one run of float32, in which each output begins at its spec's `storage_offset`, and its
    first axis is the fastest (raspberrypi/picamera2, picamera2/devices/imx500/imx500.py, get_outputs). The buffer of
    every name is the whole run.
    Never run on a device: it was tried against a stand-in for picamera2.

    Parameters
    ----------
    model
        Path of the network's .rpk file.
    output_names
        Names of the outputs, which the camera does not report; None: output0, output1 ...
    frames
        At most so many frames without outputs are passed over: the first ones have none while the network is loaded.

    Raises
    ------
    NpuLayoutError
        If picamera2 is missing, there is no camera, it refuses the network, no frame has outputs, or there are not as
        many names as outputs.

    Attributes
    ----------
    metadata
        Metadata of the last frame, as picamera2 returns it: time stamps, ScalerCrop, CnnInputTensor.
    """

    metadata: dict[str, Any]

    @checked_call
    def __init__(
        self, model: str | os.PathLike[str], *, output_names: Sequence[str] | None = None, frames: int = 1000
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        self._frames, self._name = whole_number("frames", frames), name
        library = runtime("picamera2", "picamera2 (on Raspberry Pi OS: apt install python3-picamera2)")
        devices = runtime("picamera2.devices.imx500", "picamera2")
        self._camera = None
        with opening(name, self._release):
            self._device = devices.IMX500(path)
            self._camera = library.Picamera2(getattr(self._device, "camera_num", 0))
            self._camera.start()
            run = self._next()
            info = [{"size": list(size)} for size in self._device.get_output_shapes(self.metadata)]
            names = names_of(name, "output", len(info), output_names)
            specs = [from_imx500(info, index=i, name=one) for i, one in enumerate(names)]
            if specs and run.size != specs[0].size:
                raise NpuLayoutError(
                    f"{name}: expected {specs[0].size} floats, of outputs {[s['size'] for s in info]}, got {run.size}"
                )
        super().__init__(name, [], specs)

    def _next(self) -> np.ndarray:
        """Return the floats of the next frame that has some."""
        assert self._camera is not None
        for _ in range(max(1, self._frames)):
            self.metadata = self._camera.capture_metadata()
            found = self.metadata.get("CnnOutputTensor")
            if found is not None and len(found):
                return np.asarray(found, np.float32).reshape(-1)
        raise NpuLayoutError(
            f"{self._name}: {self._frames} frames had no outputs (CnnOutputTensor); is the network loaded?"
        )

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        run = self._next()
        return [run] * len(self.output_specs)

    def _release(self) -> None:
        if self._camera is not None:
            self._camera.close()
