"""_module.py - models written in Python: modules, parameters, states, and traced functions.

A module's forward() runs on symbolic tensors, and its operations become the text of a model. So all
models are planned, run, trained and saved in the same way.
"""
from __future__ import annotations

import inspect

from . import _arrays, _takt, _trace
from ._model import Model, loads
from ._node import Node, quoted, type_text, written
from ._tensor import Tensor, as_tensor, held
from ._trace import Parameter, State, trace, type_of
from .errors import ArgumentError, NotFoundError, StateError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

_seed = 0
_version = 0  # increases whenever any weight changes


def manual_seed(seed: int) -> None:
    """Sets the seed for weights that modules initialise from now on."""
    global _seed
    _seed = int(seed)


def weights_changed() -> None:
    """Marks the weights in sessions that modules keep as outdated."""
    global _version
    _version += 1


class Module:
    """A part of a model: parameters, other modules, and forward().

        class Net(takt.Module):
            def __init__(self):
                super().__init__()
                self.hidden = takt.nn.Dense(64, act="relu")
                self.out = takt.nn.Dense(10)

            def forward(self, x):
                return self.out(self.hidden(x))

    A call on arrays runs it; ``to_model("f32[batch, 784]")`` is the model for any batch.
    Weights are initialised when the first call or to_model() gives the sizes.
    """

    def __init__(self) -> None:
        self.__dict__.setdefault("_modules", {})
        self.__dict__.setdefault("_parameters", {})
        self.__dict__.setdefault("_values", {})
        self.__dict__.setdefault("_sessions", {})
        self.__dict__.setdefault("training", False)

    if TYPE_CHECKING:
        forward: Callable[..., Any]  # of any signature
    else:
        def forward(self, *args):
            """What the module computes; every module has its own."""
            raise UnsupportedError(f"{type(self).__name__} has no forward()")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Module, Parameter)):
            if "_modules" not in self.__dict__:
                raise StateError("call super().__init__() before parts are assigned")
            self._modules.pop(name, None)
            self._parameters.pop(name, None)
            (self._modules if isinstance(value, Module) else self._parameters)[name] = value
            self._sessions.clear()
        object.__setattr__(self, name, value)

    # ---- parts ----

    def named_modules(self, prefix: str = "") -> "Iterator[tuple[str, Module]]":
        """Itself and all modules beneath it, with their paths."""
        return self._named(prefix, ())

    def _named(self, prefix: str, above: tuple[Module, ...]) -> "Iterator[tuple[str, Module]]":
        yield prefix, self
        for name, part in self._parts():
            if part is not self and not any(part is it for it in above):  # a list of parents
                yield from part._named(f"{prefix}.{name}" if prefix else name, (*above, self))

    def modules(self) -> "Iterator[Module]":
        """Itself and all modules beneath it."""
        return (module for _, module in self.named_modules())

    def children(self) -> "Iterator[Module]":
        """The modules right beneath it."""
        return (part for _, part in self._parts())

    def _parts(self) -> "Iterator[tuple[str, Module]]":
        """Modules that are attributes, or in lists and dictionaries that are; looked for each
        time, since a list may grow."""
        yield from self._modules.items()
        for name, value in self.__dict__.items():
            held = enumerate(value) if isinstance(value, (list, tuple)) else \
                value.items() if isinstance(value, dict) else ()
            if name not in ("_modules", "_parameters", "_values", "_sessions"):
                yield from ((f"{name}.{key}", part) for key, part in held
                            if isinstance(part, Module))

    def _owners(self) -> list[tuple[str, Module]]:
        return sorted(self.named_modules(), key=lambda pair: -len(pair[0]))

    # ---- weights ----

    def _weights(self) -> "Iterator[tuple[str, _takt.Array]]":
        seen: set[int] = set()
        for path, module in self.named_modules():
            if id(module) in seen:
                continue
            seen.add(id(module))
            dot = f"{path}." if path else ""
            for name, it in module._parameters.items():
                if it.value is not None:
                    yield dot + name, it.value
            for name, value in module._values.items():
                yield dot + name, value

    def state_dict(self) -> "dict[str, _takt.Array]":
        """All weights and states by name; the arrays are the module's own memory."""
        return dict(self._weights())

    def load_state_dict(self, values: "dict[str, Any]", strict: bool = True) -> None:
        """Weights by name; shapes and types must be those of the module."""
        have = self.state_dict()
        missing, extra = have.keys() - values.keys(), values.keys() - have.keys()
        if strict and (missing or extra):
            said = [f"{what}: {', '.join(sorted(names)[:8])}"
                    for what, names in (("missing", missing), ("unknown", extra)) if names]
            raise NotFoundError("the weights do not fit the module; " + "; ".join(said)
                                + ("" if have else
                                   "; a module has weights once it was called or to_model() built"))
        for name in values.keys() & have.keys():
            given = _arrays.array(values[name])
            if (given.dtype, given.shape) != (have[name].dtype, have[name].shape):
                raise ArgumentError(f"{name} is {type_text(have[name].dtype, have[name].shape)}, "
                                    f"not {type_text(given.dtype, given.shape)}")
        for name in values.keys() & have.keys():
            self._keep(name, _arrays.array(values[name]))
        weights_changed()

    def _keep(self, name: str, value: _takt.Array) -> bool:
        """Sets a weight of the part that owns it; False: no part does."""
        for path, module in self._owners():
            if path and not name.startswith(f"{path}."):
                continue
            local = name[len(path) + 1 if path else 0:]
            if local in module._parameters:
                module._parameters[local].value = value
                return True
            if isinstance(module, LayerModule) or not path:
                module._values[local] = value
                return True
        return False

    def named_parameters(self) -> "Iterator[tuple[str, _takt.Array]]":
        """Weights by name."""
        return self._weights()

    def parameters(self) -> "Iterator[_takt.Array]":
        """Weights."""
        return (value for _, value in self._weights())

    # ---- modes ----

    def train(self, mode: bool = True) -> "Module":
        """Sets `training` of all parts, for forward() to read."""
        for module in self.modules():
            module.training = mode
            module._sessions.clear()
        return self

    def eval(self) -> "Module":
        """train(False)."""
        return self.train(False)

    # ---- models ----

    def _types(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        names = [p.name for p in inspect.signature(self.forward).parameters.values()
                 if p.kind is not p.VAR_KEYWORD]
        if len(given) > len(names):
            raise ArgumentError(f"forward() of {type(self).__name__} takes {len(names)} tensors, "
                                f"not {len(given)}")
        return {**dict(zip(names, given)), **named}

    def text(self, *types: str, **named: str) -> str:
        """The model as a text of the language."""
        return trace(self, self.forward, self._types(types, named), type(self).__name__)[0]

    def to_model(self, *types: Any, training: bool = False, **named: Any) -> Model:
        """The model for inputs of these types: ``to_model("f32[batch, 784]")``, or arrays.

        With training=True it is one for takt.Trainer; dropout and the like are then random.
        """
        given = {name: it if isinstance(it, str) else type_of(it)
                 for name, it in self._types(types, named).items()}
        text, called = trace(self, self.forward, given, type(self).__name__)
        model = loads(text, type(self).__name__, seed=_seed, training=training)
        self._join(model, called)
        return model

    def _join(self, model: Model, called: "dict[str, Module]") -> None:
        """Copies weights that the module has into the model, and the others out of it."""
        have = self.state_dict()
        for name, value, _ in model._raw.params():
            if name in have:
                model._raw.param_put(name, have[name])
            elif value is not None:
                self._keep(name, value)

    def take_weights(self, model: Model) -> None:
        """Weights of a model that was made by to_model(), such as a trained one."""
        for name, value, _ in model._raw.params():
            if value is not None:
                self._keep(name, value)
        weights_changed()

    def export(self, path: Any, *types: Any, **named: Any) -> None:
        """Writes .onnx, .takt, .safetensors (only weights), or a compiled model."""
        model = self.to_model(*types, **named)
        if str(path).endswith((".safetensors", ".npz")):
            model.save_weights(path)
        else:
            model.save(path)

    def summary(self, *types: str, **named: str) -> str:
        """One row per layer."""
        return self.to_model(*types, **named).summary()

    # ---- calls ----

    def __call__(self, *args: Any, **named: Any) -> Any:
        if _trace.local.current is not None:
            return self.forward(*args, **named)
        given = self._types(args, named)
        return _run(self, given)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}: {part!r}" for name, part in self._parts())
        return f"{type(self).__name__}({parts})"


class LayerModule(Module):
    """A layer of the model language as a module; takt.nn has them all."""

    _layer = ""

    def __init__(self, settings: dict[str, Any]):
        super().__init__()
        self._settings = settings

    def _call(self, x: Any, tensors: dict[str, Any]) -> Any:
        if _trace.local.current is None:
            raise StateError("forward() of a layer is for takt itself: call the module, net(x)")
        path = _trace.local.current.path_of(self) or self._layer
        if path in _trace.local.current.called:
            raise UnsupportedError(
                f"{path} is called twice in one model: a layer owns its weights for one call; "
                "write shared weights as takt.Parameter and operations")
        _trace.local.current.called[path] = self
        return layer(self._layer, (x,), {**self._settings, **tensors, "name": path})

    def __repr__(self) -> str:
        said = ", ".join(f"{k}={v!r}" for k, v in self._settings.items())
        return f"{type(self).__name__}({said})"


def layer(name: str, inputs: Any, settings: dict[str, Any]) -> Any:
    """A call of a layer by its name in the language."""
    given = [held(as_tensor(x)) for x in inputs]
    kept = {key: held(as_tensor(value)) if isinstance(value, (Tensor, Parameter)) else value
            for key, value in settings.items()}
    tensors = {f"x{i}": x for i, x in enumerate(given)}
    tensors.update({f"k_{key}": x for key, x in kept.items() if isinstance(x, Tensor)})
    ports = ", ".join(f"{key}: {type_text(x.dtype, x.shape)}" for key, x in tensors.items())
    said = list(tensors)[:len(given)] + [
        f"{key}={f'k_{key}' if isinstance(value, Tensor) else _setting(key, value)}"
        for key, value in kept.items()]
    probe = loads(f"model probe({ports}) {{\n  return {name}({', '.join(said)})\n}}\n", name)
    node = Node("layer", name, [*given, *[x for x in kept.values() if isinstance(x, Tensor)]],
                kept, [(i.dtype, i.shape) for i in probe.outputs])
    made = tuple(Tensor(node, i) for i in range(len(node.types)))
    return made[0] if len(made) == 1 else made


def _setting(key: str, value: Any) -> str:
    return quoted(value) if key == "name" else written(value)


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *parts: Module):
        super().__init__()
        for i, part in enumerate(parts):
            if not isinstance(part, Module):
                raise ArgumentError(f"part {i} of Sequential is not a module but "
                                    f"{type(part).__name__}: act=\"relu\" of a layer applies a "
                                    "function, and so does forward() of a module of your own")
            setattr(self, str(i), part)

    def forward(self, x: Any) -> Any:
        """Applies all of them."""
        for part in self.children():
            x = part(x)
        return x

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, index: int) -> Module:
        return list(self._modules.values())[index]


def _run(it: Any, given: dict[str, Any]) -> Any:
    """Runs a module or function on arrays, with a session for their types."""
    from ._compile import compile  # noqa: A004
    arrays = {name: x.array() if isinstance(x, Tensor) else x for name, x in given.items()}
    key = tuple((name, type_of(x)) for name, x in arrays.items())
    parts = tuple(it.modules()) if isinstance(it, Module) else ()  # lists of them may have grown
    found = it._sessions.get(key)
    if found is None or found[1] != _version or found[2] != parts:
        found = it._sessions[key] = (compile(it.to_model(**dict(key))), _version, parts)
    made = found[0](**arrays)
    if any(isinstance(x, Tensor) for x in given.values()):
        made = tuple(as_tensor(x) for x in made) if isinstance(made, tuple) else as_tensor(made)
    return made


class Function:
    """A function on tensors that became a model; ``takt.function`` makes one."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._sessions: dict[Any, Any] = {}
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def _types(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        bound = inspect.signature(self._function).bind(*given, **named)
        return dict(bound.arguments)

    def to_model(self, *types: Any, **named: Any) -> Model:
        """The model for inputs of these types."""
        given = {name: it if isinstance(it, str) else type_of(it)
                 for name, it in self._types(types, named).items()}
        text, _ = trace(None, self._function, given, self.__name__)
        return loads(text, self.__name__, seed=_seed)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if _trace.local.current is not None:
            return self._function(*args, **named)
        return _run(self, self._types(args, named))


def function(f: Callable[..., Any]) -> Function:
    """Compiles a function on tensors: planned once per combination of array types."""
    return Function(f)
