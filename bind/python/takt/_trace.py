"""_trace.py - records what a function does to tensors, as a model: parameters, states, the trace
itself."""
from __future__ import annotations

import threading

from . import _arrays, _takt
from ._model import loads
from ._node import Node, name_of, type_text
from ._tensor import Tensor, as_tensor
from ._text import Text
from .errors import ArgumentError, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._module import Module

class _Local(threading.local):
    current: "Optional[Trace]" = None


local = _Local()  # each thread traces its own model


class Parameter:
    """A weight of a module that training changes: numbers, or a shape and how it begins.

        self.gain = takt.Parameter(takt.array([1.0, 2.0]))
        self.table = takt.Parameter(shape=(100, 16), init="normal(0, 0.02)")
    """

    _word = "param"

    def __init__(self, data: Any = None, *, shape: Any = None, dtype: Any = "f32",
                 init: Optional[str] = None):
        if (data is None) == (shape is None):
            raise ArgumentError("a parameter has numbers, or a shape: one of the two")
        self.value: Optional[_takt.Array] = None if data is None else _arrays.array(data)
        self.dtype = self.value.dtype if self.value is not None else _takt.empty((), dtype).dtype
        given = self.value.shape if self.value is not None else shape
        self.shape: tuple[int, ...] = (given,) if isinstance(given, int) else tuple(given)
        self.init = init

    def _as_tensor(self) -> Tensor:
        if local.current is None:
            if self.value is None:
                raise StateError("the parameter has no value before its module was built")
            return as_tensor(self.value)
        return local.current.slot(self)

    def declare(self, text: Text, node: Node) -> str:
        """The declaration in a model's text; its name there."""
        if local.current is None:
            raise StateError("a parameter is declared while its module is built: call the module")
        name = name_of(local.current.path_of(self))
        begins = f" = {self.init}" if self.init else " = 0" if self.value is not None else ""
        text.lines.append(f"{self._word} {name}: {type_text(self.dtype, self.shape)}{begins}")
        return name

    def __repr__(self) -> str:
        return f"<takt.{type(self).__name__} {type_text(self.dtype, self.shape)}>"


def _through_tensor(name: str) -> Any:
    def method(self: Parameter, *args: Any) -> Any:
        return getattr(self._as_tensor(), name)(*args)
    method.__name__ = name
    return method


for _name in ("add radd sub rsub mul rmul truediv rtruediv pow rpow matmul rmatmul neg abs getitem"
              ).split():
    setattr(Parameter, f"__{_name}__", _through_tensor(f"__{_name}__"))


class State(Parameter):
    """What a module remembers from run to run; ``self.sum.update(y)`` gives its next value."""

    _word = "state"

    def update(self, value: Any) -> None:
        """The state after the run."""
        if local.current is None:
            raise StateError("a state is updated in forward(), while the model is traced")
        local.current.updates[local.current.path_of(self)] = as_tensor(value, self._as_tensor())


class Trace:
    """One trace: where each module and parameter is, and what was called."""

    def __init__(self, root: "Optional[Module]"):
        self._paths: dict[int, str] = {}
        self._kept: list[Any] = []  # ids stay theirs
        self._slots: dict[int, Tensor] = {}
        self.called: dict[str, Module] = {}
        self.updates: dict[str, Tensor] = {}
        if root is not None:
            for path, module in root.named_modules():
                self._keep(module, path)
                for name, it in module._parameters.items():
                    self._keep(it, f"{path}.{name}" if path else name)

    def _keep(self, it: Any, path: str) -> None:
        self._paths.setdefault(id(it), path)
        self._kept.append(it)

    def path_of(self, it: Any) -> str:
        """'encoder.0.fc'."""
        if id(it) not in self._paths:
            self._keep(it, f"{type(it).__name__.lower()}_{len(self._paths)}")
        return self._paths[id(it)]

    def slot(self, p: Parameter) -> Tensor:
        """The tensor that stands for a parameter."""
        if id(p) not in self._slots:
            self._keep(p, self.path_of(p))
            self._slots[id(p)] = Tensor(Node("slot", "", (), {}, [(p.dtype, p.shape)], owner=p), 0)
        return self._slots[id(p)]


def type_of(x: Any) -> str:
    x = x if isinstance(x, Tensor) else _arrays.asarray(x)
    return type_text(x.dtype, x.shape)


def _input(name: str, text: str) -> Tensor:
    """A tensor for an input; the type is written in the model language."""
    info = loads(f"model probe({name_of(name)}: {text}) {{ return {name_of(name)} }}").inputs[0]
    return Tensor(Node("input", name, (), {}, [(info.dtype, info.shape)]), 0)


def _named(result: Any) -> dict[str, Tensor]:
    if isinstance(result, dict):
        return {str(name): as_tensor(x) for name, x in result.items()}
    if isinstance(result, (tuple, list)):
        return {f"y{i}": as_tensor(x) for i, x in enumerate(result)}
    return {"y": as_tensor(result)}


def trace(root: Optional[Module], function: Callable[..., Any], types: dict[str, str],
          name: str) -> tuple[str, dict[str, Module]]:
    """The text of a model that computes the function, and the layers it called."""
    if local.current is not None:
        raise StateError("a model is being traced already")
    inputs = {key: _input(key, text) for key, text in types.items()}
    local.current = made = Trace(root)
    try:
        returned = _named(function(**inputs))
        text = Text()
        text.build([*returned.values(), *made.updates.values()])
        text.lines += [f"next {name_of(path)} = {text.name(x)}"
                       for path, x in made.updates.items()]
    finally:
        local.current = None
    constants = [f"a{i} = {_constant(a)}" for i, a in enumerate(text.arrays)]
    ports = ", ".join(f"{name_of(key)}: {kind}" for key, kind in types.items())
    said = ", ".join(f"{name_of(key)} = {text.name(x)}" for key, x in returned.items())
    rows = "\n  ".join([*constants, *text.lines, f"return {said}"])
    return f"model {name_of(name)}({ports}) {{\n  {rows}\n}}\n", made.called


def _constant(array: _takt.Array) -> str:
    """Arrays that a traced function closes over are constants of the model."""
    data = bytes(memoryview(array.copy()).cast("B")) if array.size else b""
    return f'constant({type_text(array.dtype, array.shape)}, hex"{data.hex()}")'
