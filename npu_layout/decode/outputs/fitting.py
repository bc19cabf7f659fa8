"""Fit a head to the outputs of a network: the first form that all of them fit, and what is wrong if there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError
from ..arithmetic.mask_logits import planes_of
from ..heads.batches import refuse_batch
from ..heads.form import HINTS, Form, Part
from ..heads.grids import grid_of
from ..heads.head import Head
from .assigning import MisnamedError, UndistinguishedError, is_hinted, listed, names_of
from .output_axes import Size
from .places import LEVELS, Fitted, Given, across_levels


def fit(head: Head, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]) -> Fitted:
    """Return the first form of `head` that all outputs fit, with the place of each part.

    Of a head with one level, a list of its cells can be its map without rows and columns too: then it is a list.

    names: {role: names of outputs, a level each} for parts that extents do not distinguish. Raises LayoutError that
    says for each form which part of which level was not found, or may be in several outputs.
    """
    check_batches(specs)
    problems: list[LayoutError] = []
    flat: list[Fitted] = []
    for form in head.forms:
        try:
            fitted = _fit(head, form, specs, input_hw, names)
        except LayoutError as error:
            problems.append(error)
            continue
        if not _is_flat(fitted):
            return fitted
        flat.append(fitted)
    if flat:
        return flat[0]
    shapes = ", ".join(map(listed, range(len(specs)), specs)) or "none"
    ways: dict[str, list[str]] = {}
    for form, problem in zip(head.forms, problems):
        ways.setdefault(str(problem), []).append(repr(form.name))
    why = "; ".join(f"as {' and '.join(forms)}: {what}" for what, forms in ways.items())
    why = f"head {head.name!r} does not fit the outputs {shapes}; {why}"
    unclear = [error for error in problems if isinstance(error, UndistinguishedError)]
    misnamed = next((error for error in problems if isinstance(error, MisnamedError)), None)
    if not unclear and misnamed:
        raise MisnamedError(why, misnamed.why_alone, misnamed.required)
    if not unclear:
        raise LayoutError(why)
    best = min(unclear, key=lambda error: error.spare)
    raise UndistinguishedError(why, best.ways, best.spare)


def check_batches(specs: Sequence[TensorSpec]) -> None:
    """Raise LayoutError that says how to give one input's part, if an output has those of several."""
    for spec in specs:
        refuse_batch(spec, "a Decoder")


def _is_flat(fitted: Fitted) -> bool:
    """Return whether the form is one of maps, and its only level has rows and columns in none of the outputs.

    A map of one row may lack the other axis, but has no axis of the cells of every anchor.
    """
    if fitted.form.cells != "grid" or len(fitted.levels) > 1:
        return False
    level = fitted.levels[0]
    places = level.places.values()
    if min(level.grid) == 1 and not any(place.turn for place in places):
        return False
    return all(place.rows is None for place in places)


def _fit(
    head: Head, form: Form, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]
) -> Fitted:
    left = dict(enumerate(specs))
    prototypes = count = None
    if head.prototypes is not None:
        planes = (head.prototypes.channels, *grid_of(input_hw, head.prototypes.stride))
        prototypes = _single("prototypes", left, lambda spec: planes_of(spec) == planes, f"shape {(1, *planes)}")
    part = form.part("count")
    if part is not None:
        ones = [i for i, spec in left.items() if int(np.prod(spec.shape)) == 1]
        hinted = [i for i in ones if is_hinted(part, specs[i].name)]
        chosen = hinted if len(ones) > 1 and len(hinted) == 1 else ones
        count = _single("count", left, lambda spec: any(spec is specs[i] for i in chosen), "one element")
    given = Given(head, form, specs, left, input_hw, names)
    across = [across_levels(given, part) for part in form.parts if part.across]
    levels = LEVELS[form.cells](given)
    for places in across:
        for level, place in zip(levels, places):
            level.places[place.part.role] = place
    if left:
        raise LayoutError(f"no part of the head is in {names_of(left)}")
    fitted = Fitted(form, levels, input_hw, prototypes, count)
    _check_optional(fitted, specs)
    _check_hints(head, fitted, specs, names)
    return fitted


def _check_optional(fitted: Fitted, specs: Sequence[TensorSpec]) -> None:
    """Raise LayoutError if outputs have an optional part of some levels alone."""
    for part in fitted.form.parts:
        have = [level for level in fitted.levels if part.role in level.places]
        if not have or len(have) == len(fitted.levels):
            continue
        lacking = next(level for level in fitted.levels if part.role not in level.places)
        got = ", ".join(listed(level.places[part.role].output, specs[level.places[part.role].output]) for level in have)
        raise LayoutError(
            f"{part.role}: the level of stride {lacking.stride} has no such output; those of other levels are {got}; "
            f"give those of all levels, or leave them all out"
        )


_CALLED = {"score": "scores", "bound": "sums of scores", "angle": "angles", "box": "boxes", "offset": "offsets"}


def _check_hints(head: Head, fitted: Fitted, specs: Sequence[TensorSpec], names: Mapping[str, Sequence[str]]) -> None:
    """Raise MisnamedError if an output that has a part by its extents has the name of another part: one is missing.

    The other part may be one of another head. Letters that are in the names of outputs of other parts too say nothing.
    """
    hinted = [part for form in head.forms for part in form.parts if part.hint]
    hinted += [Part(role, 1, hint=letters) for role, letters in HINTS.items()]
    for level in fitted.levels:
        parts_of: dict[int, list[Part]] = {}  # by output
        for place in level.places.values():
            parts_of.setdefault(place.output, []).append(place.part)
        for k, parts in parts_of.items():
            beside = [specs[other].name for other in parts_of if other != k]
            by_name = [
                part
                for part in hinted
                if is_hinted(part, specs[k].name) and not any(is_hinted(part, name) for name in beside)
            ]
            roles = [part.role for part in parts]
            if any(specs[k].name in names.get(role, ()) for role in roles) or any(p.role in roles for p in by_name):
                continue
            count = sum(part.count for part in parts)
            for other in (part for part in by_name if part.count == count):
                where = f" of the level of stride {level.stride}" * (fitted.form.cells == "grid")
                called = " and ".join(_CALLED.get(role, role) for role in roles)
                why = (
                    f"{' and '.join(roles)}{where}: the only output of its shape is {listed(k, specs[k])}, whose name "
                    f"is that of the {_CALLED.get(other.role, other.role)} ({other.role!r}); is the output of {called} "
                    f"missing? If it is {specs[k].name}, give Decoder outputs={{{roles[0]!r}: [...]}}"
                )
                raise MisnamedError(why, required=not all(part.optional for part in parts))


def _single(what: str, left: dict[int, TensorSpec], fits: Callable[[TensorSpec], bool], expected: str) -> int:
    """Take the one output that is `what` from those that are left; return its number."""
    found = [i for i, spec in left.items() if fits(spec)]
    if len(found) != 1:
        got = names_of({i: left[i] for i in found})
        raise LayoutError(f"{what}: expected one output of {expected}, got {got}")
    del left[found[0]]
    return found[0]
