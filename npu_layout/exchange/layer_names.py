"""Match the names in a dump with the tensors of a model, although tools replace characters in them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .onnx_graph import GraphTensor

_FIRST = ":0"


def plain_name(name: str) -> str:
    """Return what tools leave of a name: letters and digits, with one _ for what is between them.

    >>> plain_name("/model.0/conv/Conv_output_0"), plain_name("_model_0_conv_Conv_output_0")
    ('model_0_conv_Conv_output_0', 'model_0_conv_Conv_output_0')
    """
    return re.sub(r"[\W_]+", "_", name, flags=re.ASCII).strip("_")


def matched(tensors: Sequence[GraphTensor], names: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return {tensor: name in the dump}, and {tensor: why its name is not clear}.

    A name is the tensor's own, or what tools make of it, or, if a node computes only one tensor, what they make of the
    node's. If tools make the same of two tensors' names, only a dump that has both under their own names is clear.
    """
    own = {tensor.name for tensor in tensors}
    dumped = dict.fromkeys(names)
    by_plain = _grouped({name: plain_name(name) for name in dumped})
    alike = _grouped({name: plain_name(name) for name in own})
    found: dict[str, str] = {}
    unclear: dict[str, str] = {}
    for tensor in tensors:
        plain = plain_name(tensor.name)
        group, there = alike[plain], by_plain.get(plain, [])
        if len(group) == 1 and len(there) > 1 and tensor.name not in dumped:
            unclear[tensor.name] = f"{', '.join(map(repr, there))} could be it"
        elif len(group) > 1 and there and not set(group) <= set(dumped):
            unclear[tensor.name] = f"{there[0]!r} could be {' or '.join(map(repr, sorted(group)))}"
        elif there and plain:
            found[tensor.name] = tensor.name if tensor.name in dumped else there[0]
    found.update(_by_node(tensors, by_plain, {*found, *unclear}, alike))
    found.update(_without_index(tensors, dumped, found, unclear))
    return found, unclear


def _without_index(
    tensors: Sequence[GraphTensor], dumped: Iterable[str], found: Mapping[str, str], unclear: Mapping[str, str]
) -> dict[str, str]:
    """Return {tensor: name} of those that one side alone calls the first output of a node, as TensorFlow does: x:0."""
    left = {tensor.name for tensor in tensors} - {*found, *unclear}
    own = _grouped({name: plain_name(name.removesuffix(_FIRST)) for name in left})
    named = _grouped({name: plain_name(name.removesuffix(_FIRST)) for name in dumped if name not in found.values()})
    return {group[0]: named[plain][0] for plain, group in own.items() if len(group) == len(named.get(plain, ())) == 1}


def _by_node(
    tensors: Sequence[GraphTensor], by_plain: Mapping[str, list[str]], done: set[str], alike: Mapping[str, list[str]]
) -> dict[str, str]:
    """Return {tensor: name} of those that a dump has under the name of the node that computes only them."""
    nodes = defaultdict(list)
    for tensor in tensors:
        nodes[plain_name(tensor.node)].append(tensor.name)
    return {
        computed[0]: by_plain[node][0]
        for node, computed in nodes.items()
        if node and len(computed) == 1 and len(by_plain.get(node, [])) == 1 and node not in alike
        if computed[0] not in done
    }


def _grouped(plain: Mapping[str, str]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for name, key in plain.items():
        found[key].append(name)
    return dict(found)
