"""onnx_backend.py - ONNX's backend interface: prepare, run_model, run_node, supports_device."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from ._model import Session, loads
from .errors import UnsupportedError


class TaktRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, session: Session, names: Sequence[str]):
        self._session = session
        self._inputs = [info.name for info in session.inputs]
        self._names = list(names)

    def run(self, inputs: Any, **kwargs: Any) -> tuple:
        """The outputs, in order; `inputs` is a sequence in order, or a dictionary."""
        feed = dict(inputs) if isinstance(inputs, dict) else dict(zip(self._inputs, inputs))
        feed = {name: np.asarray(value) for name, value in feed.items()}
        results = self._session._run_feed(None, feed)
        made = dict(zip(self._names, results))
        return namedtupledict("Outputs", self._names)(*[made[name] for name in self._names])


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
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> TaktRep:
        """A model made ready; `model` is a ModelProto, or its bytes."""
        if not cls.supports_device(device):
            raise UnsupportedError(f"there is no device {device}: Takt runs on the CPU")
        data = model if isinstance(model, bytes) else model.SerializeToString()
        loaded = loads(data, "model.onnx")
        session = loaded.plan().session()
        return TaktRep(session, [info.name for info in loaded.outputs])

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple:
        """Prepares and runs."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU",
                 outputs_info: Optional[Sequence[Any]] = None, **kwargs: Any) -> tuple:
        """Runs one node, as a model of its own; inputs are constants where shapes need them."""
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
        try:
            return cls.run_model(model, arrays, device)
        except UnsupportedError:
            for name, array in zip(names[1:], arrays[1:]):  # shapes that are values
                model.graph.initializer.append(numpy_helper.from_array(array, name))
            del model.graph.input[1:]
            return cls.run_model(model, arrays[:1], device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """CPU, whatever its number."""
        return device.split(":")[0].upper() == "CPU"


is_compatible = TaktBackend.is_compatible
prepare = TaktBackend.prepare
run_model = TaktBackend.run_model
run_node = TaktBackend.run_node
supports_device = TaktBackend.supports_device
