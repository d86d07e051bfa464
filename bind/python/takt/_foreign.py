"""_foreign.py - runs Takt's models in another framework, as a reference or fallback.

The graph is read from the model's text, in which every line is one operation of Takt.
"""
from __future__ import annotations

import ast
import inspect
import operator
import re

from . import _arrays, _foreign_nn, _foreign_shape
from ._foreign_ops import OPS
from ._model import loads
from .errors import ArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._model import Model

assert _foreign_nn and _foreign_shape  # they fill the table

_ATTRIBUTE = re.compile(r"([A-Za-z_]\w*)=(?!=)")
_WORDS = {"true": True, "false": False, "none": None, "inf": float("inf"), "-inf": float("-inf"),
          "nan": float("nan")}
_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
               ast.FloorDiv: operator.floordiv, ast.Div: operator.floordiv, ast.Mod: operator.mod}


# ---- reading ----

def split(text: str) -> "list[str]":
    """Splits at commas outside brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote and text[i - 1] != "\\" else quote
        elif c in "\"`":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def _sum(node: Any, sizes: "dict[str, int]") -> int:
    """The value of a sum of sizes such as 4*batch + 1."""
    if isinstance(node, ast.Expression):
        return _sum(node.body, sizes)
    if isinstance(node, ast.Constant):
        return int(node.value)
    if isinstance(node, ast.Name) and node.id in sizes:
        return sizes[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return int(_ARITHMETIC[type(node.op)](_sum(node.left, sizes), _sum(node.right, sizes)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_sum(node.operand, sizes)
    raise UnsupportedError(f"a size written as {ast.unparse(node)}")


def value_of(text: str, sizes: "dict[str, int]") -> Any:
    """An attribute's value: a number, a word, a text, or a list of them."""
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("["):
        return [value_of(item, sizes) for item in split(text[1:-1])]
    if text.startswith('"'):
        return ast.literal_eval(text)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        pass
    if re.fullmatch(r"[A-Za-z_]\w*", text):
        return sizes.get(text, text)
    return _sum(ast.parse(text, mode="eval"), sizes)


class Statement:
    """names = op(inputs, attributes)."""

    def __init__(self, line: str):
        names, said = line.split(" = ", 1)
        self.names = split(names)
        found = re.fullmatch(r"(?:op\.)?(\w+)\((.*)\)", said, re.DOTALL)
        if found is None:
            raise UnsupportedError(f"a statement such as {line[:60]}")
        self.op = found.group(1)
        self.inputs: list[str] = []
        self.attributes: dict[str, str] = {}
        for item in split(found.group(2)):
            match = _ATTRIBUTE.match(item)
            if match:
                self.attributes[match.group(1)] = item[match.end():].strip()
            else:
                self.inputs.append(item)
        self.line = line

    def settings(self, sizes: "dict[str, int]") -> "dict[str, Any]":
        """The attributes' values. `none` is the word where the attribute is a word."""
        takes = inspect.signature(OPS[self.op]).parameters
        found = {key: value_of(text, sizes) for key, text in self.attributes.items()}
        return {key: "none" if value is None and key in takes and
                isinstance(takes[key].default, str) else value for key, value in found.items()}

    def run(self, space: Any, values: "dict[str, Any]", sizes: "dict[str, int]") -> None:
        """Adds the results to the values."""
        given = [None if name == "none" else values[name] for name in self.inputs]
        made = OPS[self.op](space, *given, **self.settings(sizes))
        values.update(zip(self.names, made if isinstance(made, tuple) else (made,)))


class Program:
    """The statements of a model whose states are unchanged, and its constants."""

    def __init__(self, model: "Model"):
        text = model._raw.report("print", None, True)
        body = text[text.index("{\n") + 2:text.rindex("}")]
        self.constants: dict[str, Any] = {}
        self.statements: list[Statement] = []
        self.outputs: dict[str, str] = {}
        values = model.parameters()
        for line in (row.strip() for row in body.splitlines()):
            word = line.split(" ", 1)[0]
            if word == "next" or "graph(" in line:
                raise UnsupportedError(f"another framework runs no model whose states change, with "
                                       f"loops or branches: {line[:60]}")
            if word in ("param", "state"):
                name = line[6:].split(":")[0].strip()
                self.constants[name] = values[name.strip("`")]
            elif word == "return":
                self.outputs = dict((part.strip() for part in item.split("=", 1))
                                    for item in split(line[7:]))
            elif line:
                self._add(Statement(line))

    def _add(self, statement: Statement) -> None:
        if statement.op == "constant":
            name = statement.names[0]
            read = loads(f"model c() {{\n  {statement.line}\n  return y = {name}\n}}\n")
            self.constants[name] = _arrays.asarray(
                read.plan().session()._run_feed(None, {})[0])
        elif statement.op not in OPS:
            raise UnsupportedError(f"{statement.op} has no counterpart in another framework")
        else:
            self.statements.append(statement)


# ---- running ----

class ForeignModel:
    """A model that another framework runs. ``takt.compile(model, backend=takt.TorchBackend())``."""

    def __init__(self, model: "Model", space: Any, backend: Any):
        self._model, self._space, self._backend = model, space, backend
        self._program = Program(model)
        self._constants = {name: backend._prepared(space.take_in(x))
                           for name, x in self._program.constants.items()}
        self._call = backend._compiled(self._function)
        self._keys: dict[Any, Any] = {}

    @property
    def model(self) -> "Model":
        """What it was compiled from."""
        return self._model

    def _function(self, sizes: "tuple[tuple[str, int], ...]", *arrays: Any) -> "tuple[Any, ...]":
        values = dict(self._constants)
        values.update({info.name: x for info, x in zip(self._model.inputs, arrays)})
        for statement in self._program.statements:
            statement.run(self._space, values, dict(sizes))
        return tuple(values[name] for name in self._program.outputs.values())

    def _sizes(self, arrays: "list[Any]") -> "dict[str, int]":
        sizes: dict[str, int] = {}
        for info, x in zip(self._model.inputs, arrays):
            if len(info.shape) != x.ndim:
                raise ArgumentError(f"{info.name} has {len(info.shape)} axes, not {x.ndim}")
            for dim, n in zip(info.shape, x.shape):
                if (sizes.setdefault(dim, n) if isinstance(dim, str) else dim) != n:
                    raise ArgumentError(f"{info.name} is {list(info.shape)}, not {list(x.shape)}")
        return sizes

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The outputs, as arrays of the other framework."""
        names = [info.name for info in self._model.inputs]
        given = {**dict(zip(names, args)), **named}
        if len(args) > len(names) or set(given) != set(names):
            raise ArgumentError(f"the inputs are {', '.join(names)}")
        arrays = [self._backend._prepared(self._space.take_in(
            x if hasattr(x, "__dlpack__") else _arrays.asarray(x)))
            for x in (given[name] for name in names)]
        made = self._call(tuple(self._sizes(arrays).items()), *arrays)
        return made[0] if len(made) == 1 else made


class ForeignBackend:
    """A backend that is another framework."""

    def _space(self) -> Any:
        raise NotImplementedError

    def _prepared(self, x: Any) -> Any:
        return x

    def _compiled(self, function: Any) -> Any:
        return function

    def compile(self, model: "Model", keywords: "Optional[dict[str, Any]]" = None) -> ForeignModel:
        """The model in the form that framework runs."""
        if keywords:
            raise ArgumentError(f"{type(self).__name__} takes no {', '.join(keywords)}: its own "
                                "arguments say how it runs")
        return ForeignModel(model, self._space(), self)
