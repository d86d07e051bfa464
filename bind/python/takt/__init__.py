"""Takt: a neural-network engine whose time and memory are known before the first run.

    import takt
    model = takt.load("model.onnx")
    compiled = takt.compile(model, batch=8)
    y = compiled(x)                       # NumPy, PyTorch, JAX arrays, or takt.array(...)

Scripts for onnxruntime change one line: ``import takt as ort``. docs/python.md is the manual.
"""
from . import errors
from ._arrays import array, asarray, empty, from_dlpack, numpy, zeros
from ._compile import CompiledModel, ProfileStats, compile  # noqa: A004
from ._model import Layer, Model, Plan, Session, TensorInfo, load, loads
from ._ort import (ExecutionMode, GraphOptimizationLevel, InferenceSession, ModelMetadata,
                   NodeArg, RunOptions, SessionOptions, get_available_providers, get_device)
from ._ort_values import IOBinding, OrtValue
from ._takt import Array, explain, version as __version__
from .errors import (ArgumentError, CancelledError, DeadlineError, DeviceError, Error, FileError,
                     FormatError, InternalError, LimitError, ModelSyntaxError, NotFoundError,
                     OutOfMemoryError, RangeError, RequirementError, ShapeError, StateError,
                     UnsupportedError)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import ops as ops

__all__ = [
    "Array", "ArgumentError", "CancelledError", "CompiledModel", "DeadlineError", "DeviceError",
    "Error", "ExecutionMode", "FileError", "FormatError", "GraphOptimizationLevel", "IOBinding",
    "InferenceSession", "InternalError", "Layer", "LimitError", "Model", "ModelMetadata",
    "ModelSyntaxError", "NodeArg", "NotFoundError", "OrtValue", "OutOfMemoryError", "Plan",
    "ProfileStats", "RangeError", "RequirementError", "RunOptions", "Session", "SessionOptions",
    "ShapeError", "StateError", "TensorInfo", "UnsupportedError", "array", "asarray", "backends",
    "compile", "empty", "errors", "explain", "from_dlpack", "get_available_providers",
    "get_device", "load", "loads", "numpy", "ops", "zeros", "__version__",
]


def backends() -> "list[dict[str, object]]":
    """The backends: name, whether each can be used here or why not, and what it is good for."""
    import json

    from . import _takt
    listed = json.loads(_takt.catalogue("backends"))
    return listed if isinstance(listed, list) else listed.get("backends", [])


def __getattr__(name: str) -> object:
    """Modules that most programs do not use are imported when they are asked for."""
    if name in ("ops", "onnx_backend"):
        import importlib
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'takt' has no attribute {name!r}")
