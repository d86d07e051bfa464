"""onnx_backend.py - ONNX's backend interface: prepare, run_model, run_node, supports_device."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from ._model import Session, loads
from .errors import ShapeError, UnsupportedError


NEEDS_VALUES = 3303  # a shape depends on the values of an input
NEEDS_BOUND = 4012  # a value-dependent size without a bound


class TaktRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, session: Session, inputs: Sequence[str], names: Sequence[str]):
        self._session = session
        self._inputs, self._names = list(inputs), list(names)
        self._known = {info.name for info in session.inputs}

    def run(self, inputs: Any, **kwargs: Any) -> "tuple[Any, ...]":
        """The outputs, in order; `inputs` is a sequence in order, or a dictionary."""
        feed = _feed(inputs, self._inputs)
        results = self._session._run_feed(None, {k: v for k, v in feed.items() if k in self._known})
        return namedtupledict("Outputs", self._names)(*results)


class DeferredRep(BackendRep):
    """A model whose shapes depend on values: it is loaded when they are known."""

    def __init__(self, data: bytes):
        self._data = data
        graph = onnx.load_model_from_string(data).graph
        constant = {tensor.name for tensor in graph.initializer}
        self._inputs = [info.name for info in graph.input if info.name not in constant]

    def run(self, inputs: Any, **kwargs: Any) -> "tuple[Any, ...]":
        """Loads the model for these inputs, and runs it."""
        feed = _feed(inputs, self._inputs)
        return _ready(self._data, feed, self._inputs).run(feed)


def _feed(inputs: Any, names: Sequence[str]) -> dict[str, Any]:
    if not isinstance(inputs, (dict, list, tuple)):
        inputs = [inputs]
    feed = dict(inputs) if isinstance(inputs, dict) else dict(zip(names, inputs))
    return {name: np.asarray(value) for name, value in feed.items()}


def _ready(data: bytes, feed: Optional[dict[str, Any]], inputs: Optional[Sequence[str]]) -> TaktRep:
    model = loads(data, "model.onnx", inputs=feed)
    return TaktRep(model.plan().session(), inputs or [info.name for info in model.inputs],
                   [info.name for info in model.outputs])


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
        try:
            return _ready(data, None, None)
        except (UnsupportedError, ShapeError) as error:
            if error.code not in (NEEDS_VALUES, NEEDS_BOUND):
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
