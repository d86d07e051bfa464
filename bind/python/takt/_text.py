"""_text.py - tensors become the text of a model, which is planned once and run."""
from __future__ import annotations

import threading
from collections import OrderedDict

from . import _arrays, _takt
from ._node import Node, name_of, quoted, type_text, written
from ._tensor import Tensor
from .errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional, Sequence

_KEPT_PLANS = 256


def behind(roots: Iterable[Tensor]) -> list[Node]:
    """All nodes that the roots need, in an order in which they can be computed."""
    order: list[Node] = []
    seen: set[int] = set()
    stack = [(root._node, False) for root in roots]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(x._node, False) for x in reversed(node.inputs)
                      if x is not None and id(x._node) not in seen]
    return order


class Text:
    """The body of a model, statement by statement."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.arrays: list[_takt.Array] = []
        self.ports: list[str] = []
        self._names: dict[int, list[str]] = {}

    def name(self, x: Optional[Tensor]) -> str:
        """The name of a tensor in the text."""
        assert x is not None
        return self._names[id(x._node)][x._index]

    def _port(self, node: Node) -> str:
        """Arrays are inputs of the text, so that it is the same for other numbers."""
        made = f"a{len(self.arrays)}"
        self.arrays.append(node.array)
        self.ports.append(f"{made}: {type_text(*node.types[0])}")
        return made

    def _call(self, node: Node) -> str:
        if node.kind == "layer":
            first = len(node.inputs) - sum(isinstance(v, Tensor) for v in node.attributes.values())
            given = [self.name(x) for x in node.inputs[:first]]
            for key, value in node.attributes.items():
                said = self.name(value) if isinstance(value, Tensor) else \
                    quoted(value) if key == "name" else written(value)
                given.append(f"{key}={said}")
            return f"{node.name}({', '.join(given)})"
        from . import ops
        texts = ops._texts.get(node.name, ())
        given = [self.name(x) if x is not None else "none" for x in node.inputs]
        given += [f"{key}={quoted(value) if key in texts else written(value)}"
                  for key, value in node.attributes.items()]
        return f"op.{node.name}({', '.join(given)})"

    def add(self, node: Node) -> None:
        """A statement for a node, whose inputs are there already."""
        if node.kind == "array":
            self._names[id(node)] = [self._port(node)]
        elif node.kind == "number":
            dtype = node.types[0][0]
            self._names[id(node)] = [f"constant({dtype}[], {written(node.attributes['value'])})"]
        elif node.kind == "input":
            self._names[id(node)] = [name_of(node.name)]
        elif node.kind == "slot":
            self._names[id(node)] = [node.owner.declare(self, node)]
        else:
            names = [f"v{len(self.lines)}_{i}" for i in range(len(node.types))]
            self.lines.append(f"{', '.join(names)} = {self._call(node)}")
            self._names[id(node)] = names

    def build(self, roots: Sequence[Tensor]) -> None:
        """Everything that the roots need."""
        for node in behind(roots):
            self.add(node)


class _Local(threading.local):
    """A session serves one thread: each has its own."""

    def __init__(self) -> None:
        self.plans: OrderedDict[str, Any] = OrderedDict()


_local = _Local()
plans_made = 0


def _session(text: str) -> Any:
    """A session of the text; equal texts share one."""
    global plans_made
    found = _local.plans.get(text)
    if found is None:
        from ._compile import compile  # noqa: A004
        from ._model import loads
        found = _local.plans[text] = compile(loads(text, "tensors"))
        plans_made += 1
        if len(_local.plans) > _KEPT_PLANS:
            _local.plans.popitem(last=False)
    _local.plans.move_to_end(text)
    return found


def evaluate(tensors: Sequence[Tensor]) -> None:
    """Computes tensors in one run; those already computed cost nothing."""
    roots = [x for x in tensors if x._node.kind != "array"]
    if not roots:
        return
    text = Text()
    text.build(roots)
    if any(node.kind in ("input", "slot", "layer") for node in behind(roots)):
        raise StateError("a tensor of a traced model has no value while it is traced: "
                         "takt.ops.select chooses by values, if and while do not")
    returned = ", ".join(f"y{i} = {text.name(x)}" for i, x in enumerate(roots))
    body = "\n  ".join([*text.lines, f"return {returned}"])
    session = _session(f"model tensors({', '.join(text.ports)}) {{\n  {body}\n}}\n")
    made = session._run_feed(None, {f"a{i}": a for i, a in enumerate(text.arrays)})
    for x, value in zip(roots, made):
        array = _arrays.asarray(value)
        found = Node("array", "", (), {}, [(array.dtype, array.shape)], array)
        if len(x._node.types) == 1:  # everything that holds the node now has the value
            for field in Node.__slots__:
                setattr(x._node, field, getattr(found, field))
        else:
            x._node, x._index = found, 0
