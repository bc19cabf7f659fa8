"""Say how a family of heads is made of a number of classes and an activation, and how it differs from others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from ..heads.head import Head
from ..outputs.output_axes import Size
from .elements import FormElements, head_elements

_MOST = 20000  # classes


class Family(NamedTuple):
    """A family of heads: how one is made of a number of classes and an activation, and how it differs from others.

    beside: channels that an output may have beside those of classes, from which their number follows; anchors: outputs
    have them this often. activations: those with which networks are exported. units: boxes of a list, or of rows, may
    be in pixels or of an input of 1. rows: classes, if outputs are rows of detections, which do not say their number.
    asked: what extents leave open where the number of classes is not known, or another call can decode the outputs;
    unsure: always; doubted: in the second case alone. apart: each part is an output of its own (of its level); whole:
    one output has all of them; plain: none has an optional part. form: the only one of the head that counts. one:
    heads have one class, whatever the extents. most: rows that outputs have at most; 0: any number. size: height and
    width of the input, for which priors are made; 0, 0: any input. single: whether the number of rows is one
    float, without the axis of the batch that boxes have; None: either. unlike: letters in an output's name that are of
    another family; like: letters without which in some name the family is not offered, because its extents are those
    of many others.
    """

    make: Callable[[int, str], Head]
    word: str
    beside: tuple[int, ...] = (0,)
    anchors: int = 1
    activations: tuple[str, ...] = ("none", "sigmoid")
    units: bool = False
    rows: int = 80
    asked: str = ""
    unsure: bool = False
    doubted: bool = False
    apart: bool = False
    whole: bool = False
    plain: bool = False
    form: str = ""
    one: bool = False
    most: int = 0
    size: tuple[int, int] = (0, 0)
    single: bool | None = None
    unlike: str = ""
    like: str = ""

    @functools.cache  # noqa: B019  # families are few, and live as long as the process
    def pattern(self) -> Head:
        """Return the head of one class."""
        return self.tried(1)

    @functools.lru_cache(maxsize=4096)  # noqa: B019  # of a few sizes of inputs
    def elements(self, input_hw: Size) -> tuple[FormElements, ...]:
        """Return how many elements the outputs of the family's forms have."""
        return head_elements(self.pattern(), input_hw)

    def counts(self, extents: Iterable[int], known: int | None = None) -> set[int]:
        """Return the numbers of classes that outputs can have, of which some extents are channels; `known` alone."""
        if self.one:
            return {1} if known in (None, 1) else set()
        if known is not None:
            return {known}
        channels = [n for e in extents for n in (e, e / self.anchors)]
        return {int(n) - b for n in channels if n == int(n) for b in self.beside if n - b <= _MOST}

    def tried(self, n: int) -> Head:
        """Return the head of `n` classes that outputs are fitted to."""
        head = self.make(n, "none")
        forms = tuple(form for form in head.forms if self.form in ("", form.name))
        if self.plain:
            forms = tuple(replace(form, parts=tuple(p for p in form.parts if not p.optional)) for form in forms)
        whole = tuple(replace(form, whole=True) for form in forms) if self.whole else forms
        return head if whole == head.forms else replace(head, forms=whole)
