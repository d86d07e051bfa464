"""_model.py - models, plans and sessions: Python wrappers of the library's objects."""
from __future__ import annotations

import operator
import os
from collections import namedtuple

from . import _takt
from .errors import ArgumentError, NotFoundError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take longer than the rest of the package
    from typing import Any, Callable, Iterable, Iterator, Optional, Union

    PathLike = Union[str, os.PathLike[str]]


class TensorInfo(namedtuple("TensorInfo", "name dtype shape")):
    """An input or output: its name, element type, and dimensions, numbers or names."""

    __slots__ = ()


class Layer(namedtuple("Layer", "name kind output parameters macs")):
    """A row of a model's summary: name, kind, type of the output, parameters, multiply-adds."""

    __slots__ = ()


def sizes_text(sizes: dict[str, int]) -> Optional[str]:
    """'batch=8,seq=128', or None."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not hasattr(size, "__index__") or size.__index__() < 0:
            raise ArgumentError(f"the size of {name} is a number of at least 0, not {size!r}")
    return ",".join(f"{name}={size.__index__()}" for name, size in sizes.items()) or None


def _json(text: str) -> Any:
    import json
    return json.loads(text)


def _infos(ports: list[tuple[str, str, list[Any]]]) -> list[TensorInfo]:
    return [TensorInfo(name, dtype, tuple(dims)) for name, dtype, dims in ports]


class Plan:
    """How a model will run for given sizes: steps, memory to the byte, kernels."""

    def __init__(self, raw: _takt.Plan, model: "Model", sizes: dict[str, int]):
        self._raw, self._model, self._sizes = raw, model, sizes
        self._info = raw.info()

    @property
    def peak_bytes(self) -> int:
        """Weights, state, activations, scratch, inputs and outputs together."""
        return int(self._info["peak"])

    @property
    def arena_bytes(self) -> int:
        """Activations and scratch of one session."""
        return int(self._info["arena"])

    @property
    def lower_bound_bytes(self) -> int:
        """No plan in this order of steps can have a smaller arena."""
        return int(self._info["lower_bound"])

    @property
    def weight_bytes(self) -> int:
        """Constants, shared by all sessions."""
        return int(self._info["weights"] + self._info["packed"])

    @property
    def flops(self) -> float:
        """Arithmetic of one run."""
        return float(self._info["flops"])

    @property
    def steps(self) -> int:
        """How many steps a run has."""
        return int(self._info["steps"])

    @property
    def threads(self) -> int:
        """Threads that a session of it uses."""
        return int(self._info["threads"])

    @property
    def info(self) -> dict[str, Any]:
        """All of these figures, by name."""
        return dict(self._info)

    def describe(self) -> str:
        """Steps, buffers and the memory statement, as ``takt plan`` prints them."""
        return self._raw.report("describe")

    def kernels(self) -> str:
        """Which kernel each step got, which were refused and why."""
        return self._raw.report("kernels")

    def explain(self, node: Optional[str] = None) -> str:
        """What fused with what, and what did not and why."""
        return self._raw.report("explain", node)

    def svg(self) -> str:
        """The arena over the steps, as a picture."""
        return self._raw.report("draw")

    def graph_svg(self) -> str:
        """The steps and the data flow between them, as a picture."""
        return self._raw.report("graph")

    def _repr_html_(self) -> str:
        from ._html import table
        info = self._info
        rows = [(name, info[key] if isinstance(info[key], str) else f"{round(info[key]):,}")
                for name, key in (("steps", "steps"), ("threads", "threads"),
                                  ("peak bytes", "peak"),
                                  ("weights", "weights"), ("packed weights", "packed"),
                                  ("arena", "arena"), ("lower bound", "lower_bound"),
                                  ("operations per run", "flops"), ("backend", "backend"))]
        return table(f"plan of {self._model.name}", (), rows) + self.svg()

    def session(self) -> "Session":
        """A session: memory and threads for one caller at a time."""
        made = Session()
        made._open(self._raw, dict(self._sizes))
        return made

    def __repr__(self) -> str:
        return f"<takt.Plan: {self.steps} steps, peak {self.peak_bytes} bytes>"


class Session(_takt.Session):
    """Runs a plan. ``session(x)`` returns new arrays; bind() and run() reuse the same ones.

    Arrays of any library are used in place. Named dimensions take the sizes of the arrays
    that are given: a plan for sizes that were seen before is taken from the cache. One thread at a
    time may use a session; clone() makes another one.
    """

    @property
    def inputs(self) -> list[TensorInfo]:
        """The inputs, with the sizes of the last call."""
        return _infos(self._ports(True))

    @property
    def outputs(self) -> list[TensorInfo]:
        """The outputs, with the sizes of the last call."""
        return _infos(self._ports(False))

    def clone(self) -> "Session":
        """Another session of the same plan, with the same state, for another thread."""
        made = type(self).__new__(type(self))
        self._clone_into(made)
        made.__dict__.update(self.__dict__)
        return made

    def describe(self) -> str:
        """The plan with what is bound: copies that arrays cost, and arrays read in place."""
        return self._report(False)

    def save_state(self, path: PathLike) -> None:
        """Writes all states to a file: .npz, or safetensors for any other ending."""
        self._state_file(path, False)

    def load_state(self, path: PathLike) -> None:
        """Reads all states from such a file; on failure they are unchanged."""
        self._state_file(path, True)

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the session, without holding up the event loop."""
        import asyncio
        import functools
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, functools.partial(self, *args, **kwargs))

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class Model:
    """What is computed, and with which weights. ``takt.load`` makes one."""

    def __init__(self, raw: _takt.Model, path: str = "",
                 again: Optional[Callable[[], _takt.Model]] = None):
        self._raw, self._path = raw, path
        self.report: dict[str, Any] = {}  # of the change that made it smaller
        self._again = again  # loads it to be trained; None: it was derived from another

    @property
    def name(self) -> str:
        """The model's name."""
        return self._raw.name

    @property
    def inputs(self) -> list[TensorInfo]:
        """The inputs; a dimension is a number, or a name that takes any size."""
        return _infos(self._raw.inputs)

    @property
    def outputs(self) -> list[TensorInfo]:
        """The outputs."""
        return _infos(self._raw.outputs)

    @property
    def metadata(self) -> dict[str, Any]:
        """Where the model came from: opsets and producer of ONNX, lineage of a compiled one."""
        return dict(_json(self._raw.lineage)) if self._raw.lineage else {}

    def plan(self, *, options: Optional[dict[str, Any]] = None, **sizes: int) -> Plan:
        """A plan for these sizes of the named dimensions; others are 1. `options` may have them as
        a text instead, with ranges: {"sizes": "seq=1..512"}."""
        given = dict(options or {})
        if sizes and given.get("sizes") is not None:
            raise ArgumentError("sizes are given twice, by name and in the options")
        if sizes:
            given["sizes"] = sizes_text(sizes)
        return Plan(self._raw.plan(given), self, sizes)

    def _take(self, options: dict[str, Any]) -> _takt.Plan:
        """The plan of a model without other users: its weights are freed as they are packed."""
        return self._raw.take(options)

    # ---- reports ----

    def summary(self, **sizes: int) -> str:
        """One row per layer: name, output shape, parameters, multiply-adds."""
        return self._raw.report("summary", sizes_text(sizes))

    def inspect(self) -> dict[str, Any]:
        """Inputs, outputs, parameters, operations and arithmetic."""
        return dict(_json(self._raw.report("inspect", None, True)))

    def text(self) -> str:
        """The graph in the model language, long constants shortened."""
        return self._raw.report("print")

    @property
    def layers(self) -> list[Layer]:
        """The rows of the summary."""
        rows = _json(self._raw.report("summary", None, True))["layers"]
        return [Layer(row["name"], row["type"], row["output"], row["parameters"], row["macs"])
                for row in rows]

    # ---- models out of models ----

    def extract(self, start: Optional[str] = None, end: Optional[str] = None) -> "Model":
        """The part between named values or layers: 'a,b' become inputs, or outputs."""
        return Model(self._raw.derive("extract", start, end), self._path)

    def __getitem__(self, key: Union[int, str, slice]) -> "Model":
        """model[a:b]: the layers from a up to, not including, b, as a separate model."""
        layers = self.layers
        names = [layer.name for layer in layers]
        if isinstance(key, str):
            if key not in names:
                raise NotFoundError(f"the model has no layer called {key}")
            key = names.index(key)
        first, last, step = key.indices(len(names)) if isinstance(key, slice) else (
            key + len(names) if key < 0 else key, (key + len(names) if key < 0 else key) + 1, 1)
        if step != 1 or not 0 <= first < last <= len(names):
            raise ArgumentError(f"the model has {len(names)} layers; [a:b] takes some in order")
        return self.extract(names[first - 1] if first > 0 else None,
                            names[last - 1] if last < len(names) else None)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def batched(self, dim: str = "batch") -> "Model":
        """A model of one sample as one of any number of them."""
        return Model(self._raw.derive("batch", dim), self._path)

    def grown(self, room: int) -> "Model":
        """A decoder whose cache is state: inputs that outputs append rows to (past and present, as
        exporters write them) become states with room for that many rows, written in place."""
        return Model(self._raw.derive("grow", str(operator.index(room))), self._path)

    def gradient(self, output: Optional[str] = None,
                 names: Union[str, Iterable[str], None] = None) -> "Model":
        """The same with outputs 'grad.NAME': gradients of the sum of an output."""
        if names is not None and not isinstance(names, str):
            names = ",".join(names)
        return Model(self._raw.derive("gradient", output, names), self._path)

    # ---- parameters ----

    def parameters(self) -> dict[str, Any]:
        """Copies of all parameters and states by name."""
        return {name: value for name, value, _ in self._raw.params() if value is not None}

    def set_parameter(self, name: str, value: Any) -> None:
        """Replaces one; only sessions made afterwards use it."""
        self._raw.param_put(name, value)

    def copy_weights(self, other: "Model") -> None:
        """Copies parameters and states of another model, by name, where both have them."""
        have = self.parameters()
        for name, value in other.parameters().items():
            if name in have and (value.dtype, value.shape) == (have[name].dtype, have[name].shape):
                self._raw.param_put(name, value)

    def for_training(self) -> "Model":
        """The same model and weights, loaded to be trained."""
        if self._again is None:
            raise UnsupportedError("a part of a model cannot be trained: save it and load the file")
        made = Model(self._again(), self._path, self._again)
        for name, value in self.parameters().items():
            made._raw.param_put(name, value)
        return made

    # ---- files ----

    def save(self, path: PathLike, *, optimize: bool = False,
             sizes: Optional[dict[str, int]] = None, precision: Optional[str] = None) -> None:
        """Writes .onnx, .tflite, .takt, or for any other ending a compiled model."""
        self._raw.save(path, optimize, sizes_text(sizes or {}), precision, self._path or None)

    def save_weights(self, path: PathLike) -> None:
        """All parameters to .safetensors, .npz or .index.json."""
        self._raw.weights(path, False)

    def load_weights(self, path: PathLike, rules: Optional[PathLike] = None) -> None:
        """Parameters by name; sessions made afterwards use them.

        ``rules`` is a text file for weights with other names: one rule per line,
        ``their.*.name -> our.*.name transpose`` (see docs/formats.md).
        """
        self._raw.weights(path, True, rules)

    def _repr_html_(self) -> str:
        from ._html import table
        return table(f"{self.name}({self._ports()})",
                     ("layer", "kind", "output", "parameters", "MACs"),
                     [(row.name, row.kind, row.output, f"{row.parameters:,}", f"{row.macs:,}")
                      for row in self.layers])

    def __repr__(self) -> str:
        return f"<takt.Model {self.name}({self._ports()})>"

    def _ports(self) -> str:
        return ", ".join(f"{i.name}: {i.dtype}[{', '.join(map(str, i.shape))}]"
                         for i in self.inputs)


def _bytes(limit: int) -> int:
    if limit < 0:
        raise ArgumentError(f"dense_limit is {limit}: a number of bytes, or 0 for 256 MiB")
    return limit


def load(path: PathLike, *, seed: int = 0, model: Optional[str] = None,
         sizes: Optional[dict[str, int]] = None, allow_links: bool = False,
         inputs: Optional[dict[str, Any]] = None, training: bool = False,
         keep_scales: bool = False, dense_limit: int = 0) -> Model:
    """A model from a file: .onnx, .tflite, .takt text or .taktp, detected from its contents; or
    from the zoo: "zoo:NAME".

    `inputs` has values of inputs that shapes depend on (the shape of an ONNX Reshape): they may be
    built into the model, which is then right for these values only. `training`: dropout and the
    like are as takt.Trainer needs them, which loads a model again if this was left out.
    `keep_scales`: the integer layers of a .tflite keep the scales of the file, so that `save`
    writes the same integers into a .tflite again. `dense_limit`: relations that would take more
    bytes become sets of tuples; 0: 256 MiB.
    """
    is_file = hasattr(path, "read") and not hasattr(path, "__fspath__")
    if is_file or (isinstance(path, bytes) and b"\0" in path):
        raise ArgumentError("load() takes a path: loads(bytes) reads a model from memory")
    if isinstance(path, str) and path.startswith("zoo:"):
        from ._zoo import file_of
        path = file_of(path)

    def read(to_train: bool) -> _takt.Model:
        return _takt.load(path, None, None, seed, model, sizes_text(sizes or {}), allow_links,
                          inputs, to_train, keep_scales, _bytes(dense_limit))
    return Model(read(training), os.fspath(path), lambda: read(True))


def loads(data: Union[str, bytes], name: str = "memory", *, seed: int = 0,
          model: Optional[str] = None, sizes: Optional[dict[str, int]] = None,
          inputs: Optional[dict[str, Any]] = None, training: bool = False,
          keep_scales: bool = False, dense_limit: int = 0) -> Model:
    """The same from memory: the text of a model, or the bytes of a file."""
    kept = data.encode() if isinstance(data, str) else data

    def read(to_train: bool) -> _takt.Model:
        return _takt.load(name, kept, name, seed, model, sizes_text(sizes or {}), False, inputs,
                          to_train, keep_scales, _bytes(dense_limit))
    return Model(read(training), "", lambda: read(True))
