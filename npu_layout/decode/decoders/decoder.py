"""Turn an accelerator's stored outputs into detections, as a head says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, counted, instance, items_of, real_number, safe_lock, shown
from ..arithmetic.mask_logits import MaskLogits
from ..heads.form import ROLES
from ..heads.head import Head
from ..heads.records import height_and_width, percent_words, share_of
from ..outputs.input_sizes import fit_or_name_input
from ..outputs.places import Fitted, checked_specs
from ..outputs.ranges import largest_score, most_probable, warn_of_improbable, warn_of_scores, warn_of_unit
from ..results.crops import Masks, Pool, no_masks, pool_of
from ..results.detections import Detections, Memory, detections, memory_for, memory_of
from ..results.mask_crops import masks_in
from . import reference
from .compiling import compiled, decoded_whole, has_boxes, in_steps
from .finishing import finish
from .gathering import Gather, gathers
from .gathering import reader as stored_reader
from .least_codes import thresholds
from .output_buffers import UsualBuffers, in_order, unpacked_buffer, unpacked_spec
from .workspace import Workspace

MOST = 30000  #: detections of one call, at most


class Decoder:
    """Decodes the outputs of one network.

    Parameters
    ----------
    head
        What the outputs mean: a Head, as the functions of `npu_layout.decode` return, such as ``yolov8(classes=80)``.
    specs
        TensorSpecs of the outputs, in any order: channels and extents say which output is which part.
    input_shape
        Height and width of the network's input, in pixels.
    outputs
        {role: names of outputs, one for each level} for parts that extents do not distinguish, such as "score" and
        "bound" (the sum of scores) of a single class. The roles are those of `Part`.

    Raises
    ------
    LayoutError
        If the outputs do not fit the head; the message names part and level, and what was expected and given.
    NpuLayoutError
        If `head` is no Head, or `specs` has something else than TensorSpecs.

    Attributes
    ----------
    head, specs, input_shape
        As given.
    largest_score
        The largest score that a detection can have, by the dtypes and quantizations of the outputs; infinity if they
        set no bound. A greater `confidence` is refused; if there is no bound, a `confidence` above 1 is.

    Examples
    --------
    >>> from npu_layout.decode import yolov8
    >>> maps = [TensorSpec((1, n, k, k), "NCHW16c", "int8", name=f"{n}/{k}") for k in (8, 4, 2) for n in (64, 2)]
    >>> decoder = Decoder(yolov8(classes=2), maps, (64, 64))
    >>> decoder([np.zeros(spec.size, np.int8) for spec in maps], confidence=1)
    <Detections: 0>
    """

    head: Head
    specs: tuple[TensorSpec, ...]
    input_shape: tuple[int, int]
    largest_score: float

    @checked_call
    def __init__(
        self,
        head: Head,
        specs: Iterable[TensorSpec],
        input_shape: Sequence[int],
        *,
        outputs: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.head = instance("head", head, Head, "a Head, such as decode.yolov8(classes=80)")
        self.specs = checked_specs(specs)
        self.input_shape = height_and_width(input_shape)
        self._outputs = _names(outputs, self.specs)
        self._inner = tuple(map(unpacked_spec, self.specs))
        self._packed = self._inner != self.specs
        self._fitted: Fitted = fit_or_name_input(head, self._inner, self.input_shape, self._outputs)
        warn_of_unit(head, self._fitted, self.specs)
        warn_of_scores(head, self._fitted, self.specs)
        self.largest_score = largest_score(head, self._fitted, self.specs)
        self._probable = most_probable(self._fitted, self.specs)  # infinity once a greater score was warned of
        self._warning = safe_lock()
        self._most = 1.0 if self.largest_score == np.inf else self.largest_score
        self._made = compiled(head, self._fitted, self._inner)
        how = head.keypoints if self._fitted.form.part("keypoints") is not None else None
        points = None if how is None else (how.count, how.values)
        self._beside = points, self._fitted.form.boxes.angle != "none"
        self._listed = self._fitted.form.cells == "rows" and head.suppression.kind == "none"
        self._weights = gathers(self._fitted.levels, "coefficients", self._inner) if head.prototypes else []
        self._steps = in_steps(head, self._fitted, self._inner)
        self._whole = decoded_whole(head, self._fitted, self._inner)
        roles = () if self._whole else tuple(part.role for part in self._fitted.form.parts)
        self._gathered = {role: gathers(self._fitted.levels, role, self._inner) for role in roles}
        self._work = Workspace(self._made, bool(roles), bool(roles) and has_boxes(self._fitted, self._inner))
        self._thresholds: tuple[float, bytes] = (np.nan, b"")
        self._usual = UsualBuffers(self.specs)

    def __repr__(self) -> str:
        form = self._fitted.form.name
        return f"<Decoder {self.head.name} of {self.head.classes} classes, {form}, input {self.input_shape}>"

    @checked_call
    def __call__(
        self,
        buffers: Any,
        confidence: float = 0.25,
        iou: float = 0.45,
        limit: int = 300,
        out: Detections | None = None,
    ) -> Detections:
        """Return the detections in the outputs of one run.

        Parameters
        ----------
        buffers
            {name: buffer}, or buffers in the order of `specs`; each as TensorSpec.unpack accepts it. By name there may
            be buffers of other outputs, which are not read.
        confidence
            The least score, compared in float64 with the score that a stored value means. At most 1, because scores
            are probabilities; above 1 only if stored integers can mean such a score (see `largest_score`).
        iou
            A box is dropped if its IoU with a better box of the same class is greater than this, 0 to 1. The head's
            Suppression says what counts as overlap, and whether an equal IoU drops a box too; its kinds "peaks" and
            "none" do not use `iou`.
        limit
            The largest number of detections after suppression, 1 to 30,000; before it, no candidate is left out.
        out
            Detections that an earlier call of any Decoder returned, with `limit` as high. Their memory, and that of
            their masks, is written again: do not read them, nor rows or crops that are views of them, afterwards.
            Copies, such as `found.masks.full(i)`, are yours. The masks' memory grows to the most pixels that a call
            needed.

        Returns
        -------
        Detections, the best first, new or in the memory of `out`. Of equal scores the lower level comes first, then the
        first cell, row by row.

        Warns
        -----
        UserWarning
            Once, if a score is clearly above 1, which no probability is: the integers of a spec without a quantization,
            or logits, are read as probabilities then.

        Raises
        ------
        BufferSizeError, LayoutError
            If buffers do not fit their specs.
        NpuLayoutError
            If no stored value reaches `confidence`, or it is no probability; if `iou` is outside 0 .. 1; if `out` has
            no room for `limit` rows, or its arrays are read-only.
        """
        usual = type(confidence) is type(iou) is float and type(limit) is int
        if usual and 0 <= confidence <= self._most and 0 <= iou <= 1 and 1 <= limit <= MOST:
            least, overlap, most = confidence, iou, limit
        else:
            least, overlap, most = self._checked(confidence, iou, limit)
        flat = buffers if self._usual.are(buffers) else in_order(self.specs, buffers)
        if self._packed:
            flat = [unpacked_buffer(spec, memory) for spec, memory in zip(self.specs, flat)]
        room = memory_for(most, *self._beside) if out is None else memory_of(out, most, *self._beside)
        pool = pool_of(None if out is None else out.masks) if self._weights else None
        read = None if pool is None else self._room_for_weights(pool, most)
        n = self._run(flat, least, overlap, room.first(most), read)
        if n and room.confidence[0] > self._probable:
            self._warn_once(float(room.confidence[0]))
        if pool is None:
            return detections(room, n, None, self._listed)
        first = room.first(n)
        weights = self._gathered_weights(first, flat, pool) if read is None else read[:n]
        return detections(room, n, self._masks(first, weights, flat, pool), self._listed)

    def _warn_once(self, score: float) -> None:
        """Warn of a score that is no probability, in one of the threads that meet such scores together."""
        with self._warning:
            known, self._probable = self._probable, np.inf
        if score > known:
            warn_of_improbable(self.head, self._fitted, self.specs, score)

    def _checked(self, confidence: Any, iou: Any, limit: Any) -> tuple[float, float, int]:
        """Return the thresholds and the limit of a call, checked."""
        least, overlap = real_number("confidence", confidence), share_of("iou", iou)
        most = counted("limit", limit, MOST, f"a whole number, 1 .. {MOST}")
        activation = self._fitted.form.part("score").activation  # type: ignore[union-attr]
        if least > self.largest_score:
            asked, largest = _distinct_texts(least, self.largest_score)
            raise NpuLayoutError(
                f"confidence: no stored value reaches {asked}: stored values mean at most {largest} "
                f"(scores of another scale? activation= is {activation!r}){percent_words(least)}"
            )
        if least > self._most:  # of floats, which bound nothing
            share_of(
                "confidence",
                confidence,
                ": scores are probabilities, as activation='none' says; 'sigmoid' is for logits",
            )
        return least, overlap, most

    def _room_for_weights(self, pool: Pool, most: int) -> np.ndarray | None:
        """Return memory for what masks are made of, float64; None if the kernels do not read it."""
        count = 0 if self._made is None or self._work.detector is None else self._made.coefficients
        return pool.array("weights", (most, count), np.float64) if count else None

    def _gathered_weights(self, room: Memory, flat: Sequence[np.ndarray], pool: Pool) -> np.ndarray:
        """Return the coefficients of masks, or the steps from their zero points, float64, without the kernels."""
        assert self.head.prototypes is not None
        found = reference.Candidates(*room[1:6])
        weights = pool.array("weights", (len(found), self.head.prototypes.channels), np.float64)
        read = Gather.steps if self._steps else Gather.read
        for n, gather in enumerate(self._weights):
            rows = np.flatnonzero(found.level == n)
            if len(rows):
                weights[rows] = read(gather, flat[gather.place.output], found.take(rows))
        return weights

    def _masks(self, room: Memory, weights: np.ndarray, flat: Sequence[np.ndarray], pool: Pool) -> Masks:
        """Return the masks; in integers if coefficients are counted in steps, each level in its own."""
        how, at = self.head.prototypes, self._fitted.prototypes
        assert how is not None and at is not None
        if not len(room.xyxy):
            return no_masks(pool, self.input_shape)
        given, boxes = weights.astype(np.int16) if self._steps else weights, room.xyxy.astype(np.float64)
        return masks_in(pool, MaskLogits(self._inner[at], flat[at], given), boxes, self.input_shape, how.rule)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it again."""
        return _remade, (self.head, self.specs, self.input_shape, self._outputs)

    def _candidates(self, flat: Sequence[np.ndarray], confidence: float) -> tuple[reference.Candidates, reference.Read]:
        """Return the candidates, and what reads their values: by the kernels from what is stored, or by numpy."""
        if self._work.detector is None or self._whole:
            tensors = [spec.unpack(memory) for spec, memory in zip(self._inner, flat)]
            found = reference.candidates(self.head, self._fitted, tensors, confidence)
            return found, reference.reader(self._fitted, tensors)
        work = self._work = self._work.here()
        with work.lock:
            n = self._compiled(work, flat, confidence, 1.0, work.room)
            while n == len(work.room.xyxy):  # there may be more
                work.make_room(4 * n)
                n = self._compiled(work, flat, confidence, 1.0, work.room)
            columns = work.room[1:6] if work.edges is None else [*work.room[1:6], work.edges]
            found = reference.Candidates(*(column[:n].copy() for column in columns))  # type: ignore[index]
        return found, stored_reader(self._gathered, flat)

    def _run(
        self, flat: Sequence[np.ndarray], confidence: float, iou: float, room: Memory, weights: np.ndarray | None = None
    ) -> int:
        """Write detections to `room`, by the kernels a call at a time: they keep their workspace; return how many.

        weights: for what masks are made of, if the kernels read it.
        """
        if self._work.detector is None or not self._whole:
            found, read = self._candidates(flat, confidence)
            backend = "numpy" if self._work.detector is None and self._made is not None else None
            return finish(self.head, self._fitted, found, read, iou, room, backend)
        work = self._work = self._work.here()
        with work.lock:
            return self._compiled(work, flat, confidence, iou, room, weights)

    def _compiled(
        self,
        work: Workspace,
        flat: Sequence[np.ndarray],
        confidence: float,
        iou: float,
        room: Memory,
        weights: np.ndarray | None = None,
    ) -> int:
        """Run the kernels, whose `work` has no other thread now; return how many were found."""
        assert work.detector is not None and self._made is not None
        known, codes = self._thresholds
        if known != confidence:
            codes = thresholds(self.head, self._made, confidence)
            self._thresholds = confidence, codes
        n = int(work.detector.run(tuple(flat), codes, confidence, iou, len(room.xyxy), *room, work.edges, weights))
        if n < 0:  # the label of a candidate is no class: numpy says which, unless buffers were written meanwhile
            tensors = [spec.unpack(memory) for spec, memory in zip(self._inner, flat)]
            reference.candidates(self.head, self._fitted, tensors, confidence)
            raise NpuLayoutError(f"label: expected {reference.numbered(self.head)}, got another")
        return n


def use_backend(decoder: Decoder, backend: str) -> None:
    """Let it decode with the kernels of one of `npu_layout.kernels.backends()` from now on."""
    decoder._work = decoder._work.of(backend)


def _distinct_texts(a: float, b: float) -> tuple[str, str]:
    """Return two numbers as text of so few digits that they differ."""
    texts = [(f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in (6, 9, 17)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[-1])


def _remade(head: Head, specs: Any, input_shape: Any, outputs: Any) -> Decoder:
    return Decoder(head, specs, input_shape, outputs=outputs)


def _names(given: Any, specs: Sequence[TensorSpec]) -> dict[str, tuple[str, ...]]:
    """Return the argument `outputs`, checked."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise NpuLayoutError(f"outputs: expected {{role: names}}, got {shown(given)}")
    known = {spec.name for spec in specs}
    checked = {}
    for role, names in given.items():
        if role not in ROLES:
            raise NpuLayoutError(f"outputs: expected roles, any of {', '.join(ROLES)}, got {shown(role)}")
        names = tuple(items_of(f"outputs[{role!r}]", [names] if isinstance(names, str) else names, str, "names"))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise LayoutError(f"outputs[{role!r}]: no output {unknown[0]!r}; there are {', '.join(sorted(known))}")
        checked[role] = names
    return checked
