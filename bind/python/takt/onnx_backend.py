"""onnx_backend.py - ONNX's backend interface: prepare, run_model, run_node, supports_device."""
from __future__ import annotations

import itertools
from typing import Any, Optional, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from ._arrays import numpy
from ._model import Session, loads
from .errors import ShapeError, UnsupportedError


NEEDS_VALUES = 3303  # a shape depends on the values of an input
NEEDS_BOUND = 4012  # a value-dependent size without a bound
REFUSED = (2101, 3302)  # shapes that contradict, a node that is not imported: values may help
_SIZES = (TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT)


def _may_hold_sizes(data: bytes) -> bool:
    """Whether an input other than the first is a vector of numbers, such as sizes or scales."""
    graph = onnx.load_model_from_string(data).graph
    constant = {tensor.name for tensor in graph.initializer}
    types = [info.type.tensor_type for info in graph.input if info.name not in constant]
    return any(t.elem_type in _SIZES and len(t.shape.dim) <= 1 for t in types[1:])


class _Ports:
    """Inputs or outputs of a graph: names, and which of them are sequences or may be missing.

    Here an item of a sequence x is a value of its own: x.0, x.1, ...
    """

    def __init__(self, infos: Any, constant: "set[str]"):
        types = {info.name: info.type for info in infos if info.name not in constant}
        self.names = list(types)
        self.optional = {n for n, t in types.items() if t.HasField("optional_type")}
        self.lists = {n for n, t in types.items() if t.HasField("sequence_type") or
                      t.optional_type.elem_type.HasField("sequence_type")}
        self.is_plain = not self.lists and not self.optional

    def apart(self, given: "dict[str, Any]") -> "dict[str, Any]":
        """Items of sequences by names of their own; without optional values that are None."""
        made = {}
        for name, value in given.items():
            if name in self.lists and value is not None:
                made.update({f"{name}.{i}": item for i, item in enumerate(value)})
            elif value is not None:
                made[name] = value
        return made

    def together(self, made: "dict[str, Any]") -> "list[Any]":
        """The values by order, sequences as lists, None for an optional value that is missing."""
        values: "list[Any]" = []
        for name in self.names:
            count = next(i for i in itertools.count() if f"{name}.{i}" not in made)
            is_list = name in self.lists and name not in made
            if is_list and count == 0 and name in self.optional:
                values.append(None)
            else:
                values.append([made[f"{name}.{i}"] for i in range(count)] if is_list
                              else made.get(name))
        return values


class TaktRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, session: Session, inputs: _Ports, outputs: _Ports):
        self._session = session
        self._inputs, self._outputs = inputs, outputs
        self._known = {info.name for info in session.inputs}
        self._made = [info.name for info in session.outputs]

    def run(self, inputs: Any, **kwargs: Any) -> "tuple[Any, ...]":
        """The outputs, in order; `inputs` is a sequence in order, or a dictionary."""
        feed = _feed(inputs, self._inputs)
        results = [numpy(array) for array in self._session._run_feed(
            None, {k: v for k, v in feed.items() if k in self._known})]
        if not self._outputs.is_plain:
            results = self._outputs.together(dict(zip(self._made, results)))
        return namedtupledict("Outputs", self._outputs.names)(*results)


class DeferredRep(BackendRep):
    """A model whose shapes depend on values: it is loaded when they are known."""

    def __init__(self, data: bytes):
        self._data = data
        self._inputs = _ports(data)[0]

    def run(self, inputs: Any, **kwargs: Any) -> "tuple[Any, ...]":
        """Loads the model for these inputs, and runs it."""
        return _ready(self._data, _feed(inputs, self._inputs)).run(inputs)


def _ports(data: bytes) -> "tuple[_Ports, _Ports]":
    graph = onnx.load_model_from_string(data).graph
    constant = {tensor.name for tensor in graph.initializer}
    return _Ports(graph.input, constant), _Ports(graph.output, set())


def _feed(inputs: Any, ports: _Ports) -> dict[str, Any]:
    if not isinstance(inputs, (dict, list, tuple)):
        inputs = [inputs]
    feed = dict(inputs) if isinstance(inputs, dict) else dict(zip(ports.names, inputs))
    return {name: np.asarray(value) for name, value in ports.apart(feed).items()}


def _ready(data: bytes, feed: Optional[dict[str, Any]]) -> TaktRep:
    model = loads(data, "model.onnx", inputs=feed)
    return TaktRep(model.plan().session(), *_ports(data))


class TaktBackend(Backend):
    """Takt as a backend of ONNX."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether prepare would succeed."""
        try:
            cls.prepare(model, device, **kwargs)
        except Exception:
            return False
        return True

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """Prepares a model; `model` is a ModelProto, or its bytes."""
        if not cls.supports_device(device):
            raise UnsupportedError(f"there is no device {device}: Takt runs on the CPU")
        data = model if isinstance(model, bytes) else model.SerializeToString()
        if not _ports(data)[0].is_plain:  # how many items there are is not known
            return DeferredRep(data)
        try:
            return _ready(data, None)
        except (UnsupportedError, ShapeError) as error:
            if error.code not in (NEEDS_VALUES, NEEDS_BOUND) and not (
                    error.code in REFUSED and _may_hold_sizes(data)):
                raise
        return DeferredRep(data)

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU",
                  **kwargs: Any) -> "tuple[Any, ...]":
        """Prepares and runs."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU",
                 outputs_info: Optional[Sequence[Any]] = None, **kwargs: Any) -> "tuple[Any, ...]":
        """Runs one node, as a separate model."""
        arrays = [np.asarray(value) for value in inputs]
        names = [name for name in node.input if name]
        infos = [helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays)]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], node.op_type or "node", infos, outputs)
        opset = kwargs.get("opset_version") or min(onnx.defs.onnx_opset_version(), 21)
        model = helper.make_model(graph, opset_imports=[
            helper.make_opsetid(node.domain or "", opset)])
        model = onnx.shape_inference.infer_shapes(model)
        return cls.run_model(model, arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """CPU, whatever its number."""
        return device.split(":")[0].upper() == "CPU"


is_compatible = TaktBackend.is_compatible
prepare = TaktBackend.prepare
run_model = TaktBackend.run_model
run_node = TaktBackend.run_node
supports_device = TaktBackend.supports_device
