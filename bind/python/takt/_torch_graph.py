"""_torch_graph.py - a graph of torch.fx with ATen's operations as a model of Takt."""
from __future__ import annotations

import operator

from . import _aten, _aten_nn, _aten_shape
from ._model import Model, loads
from ._node import Node, name_of, type_text
from ._tensor import Tensor
from ._text import Text
from ._trace import _constant
from .errors import Error, UnsupportedError

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Sequence

assert _aten_nn and _aten_shape  # they fill the table

_DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16",
           torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16",
           torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
_ON_INTEGERS = {operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod,
                operator.neg, operator.pow, operator.truediv}


def dtype_of(dtype: torch.dtype) -> str:
    """The name of the element type here."""
    if dtype not in _DTYPES:
        raise UnsupportedError(f"{dtype} tensors")
    return _DTYPES[dtype]


def number(n: Any) -> int:
    """A size, or its value when the graph was made."""
    if isinstance(n, int):
        return n
    hint = n.node.hint
    if hint is None:
        raise UnsupportedError("a size that depends on values")
    return int(hint)


def _type(value: torch.Tensor) -> "tuple[str, tuple[int, ...]]":
    if value.device.type != "cpu" or value.layout is not torch.strided:
        raise UnsupportedError(f"{value.layout} tensors on {value.device}")
    return dtype_of(value.dtype), tuple(number(n) for n in value.shape)


class Frozen:
    """A tensor that is part of the model: a weight, or a constant of the graph."""

    def __init__(self, name: str, value: torch.Tensor):
        self.name, self.value = name, value

    def declare(self, text: Text, node: Node) -> str:
        """Its line in the model's text."""
        text.lines.append(f"param {name_of(self.name)}: {type_text(*node.types[0])} = 0")
        return name_of(self.name)


class Lowering:
    """Converts the nodes of one graph."""

    def __init__(self, module: "torch.fx.GraphModule"):
        self._module = module
        self._values: dict[Any, Any] = {}
        self.frozen: list[Frozen] = []
        self.node: Any = None
        self.target = ""

    # ---- what converters ask ----

    def dtype(self) -> str:
        """The element type of the (first) result."""
        value = self.node.meta["val"]
        return dtype_of((value if isinstance(value, torch.Tensor) else value[0]).dtype)

    def shape(self) -> "tuple[int, ...]":
        """The shape of the result when the graph was made."""
        return tuple(number(n) for n in self.node.meta["val"].shape)

    def strides(self, place: int) -> "tuple[int, ...]":
        """The strides that an argument had when the graph was made."""
        return tuple(number(n) for n in self.node.args[place].meta["val"].stride())

    def common(self, *places: int) -> str:
        """The common element type of the operands."""
        given = [self.node.args[i] for i in places]
        given = [x.meta["val"] if isinstance(x, torch.fx.Node) else x for x in given]
        return dtype_of(torch.result_type(*given))

    def uses_only(self, index: int) -> bool:
        """Whether no other results of the node are used."""
        return all(user.target is operator.getitem and (user.args[1] == index or not user.users)
                   for user in self.node.users)

    def product(self, sizes: "Sequence[int]") -> "Optional[tuple[Tensor, Tensor, Any]]":
        """Factors and bias of a product whose result this view reshapes like its first factor.

        torch multiplies matrices: a view turns the first factor into one, and the view of the
        result separates the product from what could be fused with it.
        """
        made = self.node.args[0]
        if str(made.target) not in _PRODUCTS or made.kwargs or len(made.users) != 1:
            return None
        *bias, rows, other = made.args
        if str(rows.target) not in _VIEWS:
            return None
        x, held = self._values.get(rows.args[0]), [self._values.get(b) for b in bias]
        if not isinstance(x, Tensor) or x.ndim < 3 or any(b is None or b.ndim != 1 for b in held):
            return None
        width = number(rows.meta["val"].shape[-1])
        if list(x.shape) != [*sizes[:-1], width]:
            return None
        return x, self._values[other], held[0] if held else None

    # ---- nodes ----

    def give(self, node: Any, value: Any) -> None:
        """A node's description."""
        self._values[node] = value

    def freeze(self, name: str, value: torch.Tensor) -> Tensor:
        """A tensor whose elements are part of the model."""
        held = Frozen(name, value.detach())
        self.frozen.append(held)
        kind = _type(value)
        return Tensor(Node("slot", "", (), {}, [kind], owner=held), 0)

    def convert(self, node: Any) -> Any:
        """The value of a node whose inputs have theirs."""
        self.node, self.target = node, str(node.target)
        args = torch.fx.node.map_arg(node.args, self._values.__getitem__)
        kwargs = torch.fx.node.map_arg(node.kwargs, self._values.__getitem__)
        made = self._converted(node, args, kwargs)
        self._values[node] = made
        return made

    def _converted(self, node: Any, args: Any, kwargs: Any) -> Any:
        if node.op == "get_attr":
            value = getattr(self._module, node.target)
            if not isinstance(value, torch.Tensor):
                raise UnsupportedError(f"{node.target}, which is not a tensor")
            return self.freeze(f"constant.{node.target}", value)
        if node.target is operator.getitem:
            return args[0][args[1]]
        if node.target in _ON_INTEGERS and not any(isinstance(x, Tensor) for x in args):
            return node.target(*args)
        if self.target == "aten.sym_size.int":
            return args[0].shape[args[1]]
        if self.target not in _aten.CONVERTERS:
            raise UnsupportedError(f"{self.target} has no counterpart")
        kwargs = {k: v for k, v in kwargs.items() if k not in _PLACES}
        return _aten.CONVERTERS[self.target](self, *args, **kwargs)


_PRODUCTS = ("aten.addmm.default", "aten.mm.default")
_VIEWS = ("aten.view.default", "aten._unsafe_view.default")
_PLACES = ("device", "layout", "pin_memory", "memory_format", "non_blocking", "requires_grad")


# ---- one node, to see whether it can be converted ----

def _stand_in(value: Any, name: str) -> Any:
    """An input of the type of a node's value."""
    if isinstance(value, torch.Tensor):
        return Tensor(Node("input", name, (), {}, [_type(value)]), 0)
    if isinstance(value, (list, tuple)):
        return tuple(_stand_in(item, name) for item in value)
    return number(value) if isinstance(value, (int, torch.SymInt)) else value


def _fits(made: Any, value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return isinstance(made, Tensor) and (made.dtype, made.shape) == _type(value)
    if isinstance(value, (list, tuple)):
        return isinstance(made, (list, tuple)) and len(made) == len(value) and all(
            one is None or _fits(one, given) for one, given in zip(made, value))
    return True


def why_not(module: "torch.fx.GraphModule", node: Any) -> "Optional[str]":
    """Why a node cannot be converted; None if it can."""
    try:
        lowering = Lowering(module)
        for i, given in enumerate(node.all_input_nodes):
            lowering.give(given, _stand_in(given.meta.get("val"), f"x{i}"))
        if node.op == "get_attr":
            lowering.convert(node)
            return None
        if node.target is operator.getitem:
            return None  # its node decides
        made = lowering.convert(node)
        if not _fits(made, node.meta.get("val")):
            return f"{node.target}: another shape or type"
    except (Error, KeyError, AttributeError, IndexError, TypeError, ValueError) as error:
        return f"{node.target}: {str(error).splitlines()[0] if str(error) else repr(error)}"
    return None


# ---- a whole graph ----

class Lowered:
    """A graph as a model: which arguments are its inputs, and how results are made from its
    outputs."""

    def __init__(self, model: Model, inputs: "list[tuple[int, str]]", results: "list[Any]"):
        self.model, self.inputs, self.results = model, inputs, results


def _outputs(returned: Any) -> "list[Any]":
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]


def lower(module: "torch.fx.GraphModule", args: "Sequence[Any]", frozen: "set[int]",
          name: str) -> Lowered:
    """The model of a graph for arguments of these shapes; those in `frozen` become part of it."""
    lowering = Lowering(module)
    inputs: list[tuple[int, str]] = []
    returned: list[Any] = []
    ports: list[str] = []
    places = iter(enumerate(args))
    for node in module.graph.nodes:
        if node.op == "placeholder":
            at, value = next(places)
            if not isinstance(value, torch.Tensor):
                lowering.give(node, value)
            elif at in frozen:
                lowering.give(node, lowering.freeze(f"w{at}", value))
            else:
                kind = _type(value)
                inputs.append((at, f"x{at}"))
                ports.append(f"x{at}: {type_text(*kind)}")
                lowering.give(node, Tensor(Node("input", f"x{at}", (), {}, [kind]), 0))
        elif node.op == "output":
            returned = [lowering._values[x] if isinstance(x, torch.fx.Node) else x
                        for x in _outputs(node.args[0])]
        else:
            lowering.convert(node)
    return _finish(lowering, inputs, ports, returned, name)


def _finish(lowering: Lowering, inputs: "list[tuple[int, str]]", ports: "list[str]",
            returned: "list[Any]", name: str) -> Lowered:
    text = Text()
    roots = [x for x in returned if isinstance(x, Tensor)]
    text.build(roots)
    results: list[Any] = [x if not isinstance(x, Tensor) else None for x in returned]
    said = []
    for i, x in enumerate(returned):
        if isinstance(x, Tensor):
            results[i] = Output(f"y{i}")
            said.append(f"y{i} = {text.name(x)}")
    constants = [f"a{i} = {_constant(a)}" for i, a in enumerate(text.arrays)]
    used = {node.name for node in _nodes(roots) if node.kind == "input"}
    body = "\n  ".join([*constants, *text.lines, f"return {', '.join(said)}"])
    ports = [port for port in ports if port.split(":")[0] in used]
    model = loads(f"model {name_of(name)}({', '.join(ports)}) {{\n  {body}\n}}\n", name)
    have = {name for name, _, _ in model._raw.params()}
    for held in lowering.frozen:
        if held.name in have:
            model._raw.param_put(held.name, held.value)
    return Lowered(model, [(at, port) for at, port in inputs if port in used], results)


def _nodes(roots: "list[Tensor]") -> Any:
    from ._text import behind
    return behind(roots)


class Output(str):
    """The name of a model's output."""
