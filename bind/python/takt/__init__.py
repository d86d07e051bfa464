"""Takt: a neural-network engine whose time and memory are known before the first run.

    import takt
    model = takt.load("model.onnx")
    compiled = takt.compile(model, batch=8)
    y = compiled(x)                       # NumPy, PyTorch, JAX arrays, or takt.array(...)

Scripts for onnxruntime change one line: ``import takt as ort``. docs/python.md is the manual.
"""
from ._takt import _home

# an extension with single-phase initialisation is copied into other interpreters without notice
_home()
from . import errors  # noqa: E402
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
    from . import benchmark as benchmark
    from . import nn as nn
    from . import ops as ops
    from ._functions import conv1d, conv2d, conv3d, einsum
    from ._module import Function, Module, Sequential, function, manual_seed
    from ._text import evaluate
    from .benchmark import BenchmarkConfig, find_batch_size, run_benchmark, timed
    from ._trace import Parameter, State
    from ._backend import Backend, CpuBackend, CudaBackend, GGMLBackend, RefBackend
    from ._foreign_backends import JaxBackend, TorchBackend
    from ._data import DataLoader, Dataset
    from ._generate import Generated, Generator
    from ._shrink import (distill, distillation_loss, fake_quantize, low_rank_factorization,
                          lowrank, prune, quantize)
    from ._tensor import Tensor, tensor
    from ._optimizers import (SGD, Adadelta, Adafactor, Adagrad, Adam, AdamW, Lamb, Lion, Muon,
                              Optimizer, RMSprop)
    from ._train import Callback, EpochResult, StepResult, Trainer

__all__ = [
    "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "ArgumentError", "Array", "Backend",
    "BenchmarkConfig", "Callback", "CancelledError", "CompiledModel", "CpuBackend",
    "CudaBackend", "DataLoader", "Dataset", "DeadlineError", "DeviceError", "EpochResult",
    "Error", "ExecutionMode", "FileError", "FormatError", "Function", "GGMLBackend",
    "Generated", "Generator", "GraphOptimizationLevel", "IOBinding", "InferenceSession",
    "InternalError", "JaxBackend", "Lamb", "Layer", "LimitError", "Lion", "Model",
    "ModelMetadata", "ModelSyntaxError", "Module", "Muon", "NodeArg", "NotFoundError",
    "Optimizer", "OrtValue", "OutOfMemoryError", "Parameter", "Plan", "ProfileStats", "RMSprop",
    "RangeError", "RefBackend", "RequirementError", "RunOptions", "SGD", "Sequential",
    "Session", "SessionOptions", "ShapeError", "State", "StateError", "StepResult", "Tensor",
    "TensorInfo", "TorchBackend", "Trainer", "UnsupportedError", "__version__", "array",
    "asarray", "backends", "benchmark", "compile", "conv1d", "conv2d", "conv3d", "distill",
    "distillation_loss", "einsum", "empty",
    "errors", "evaluate", "explain", "fake_quantize", "find_batch_size", "from_dlpack", "function",
    "get_available_providers", "get_device", "load", "loads", "low_rank_factorization",
    "lowrank", "manual_seed", "nn", "numpy", "ops", "prune", "quantize", "run_benchmark",
    "tensor", "timed", "zeros",
]


def backends() -> "list[dict[str, object]]":
    """The backends: name, whether each is available or why not, and what it is good for."""
    import json

    from . import _takt
    listed = json.loads(_takt.catalogue("backends"))
    return listed if isinstance(listed, list) else listed.get("backends", [])


_LATER = {
    "Tensor": "_tensor", "tensor": "_tensor", "evaluate": "_text",
    "conv1d": "_functions", "conv2d": "_functions", "conv3d": "_functions",
    "einsum": "_functions",
    "Module": "_module", "Parameter": "_trace", "State": "_trace", "Sequential": "_module",
    "Trainer": "_train", "Callback": "_train", "StepResult": "_train", "EpochResult": "_train",
    "Optimizer": "_optimizers", "SGD": "_optimizers", "Adam": "_optimizers",
    "AdamW": "_optimizers", "RMSprop": "_optimizers", "Adagrad": "_optimizers",
    "Adadelta": "_optimizers", "Lion": "_optimizers", "Lamb": "_optimizers",
    "Adafactor": "_optimizers", "Muon": "_optimizers",
    "DataLoader": "_data", "Dataset": "_data", "Generator": "_generate", "Generated": "_generate",
    "Backend": "_backend", "CpuBackend": "_backend", "CudaBackend": "_backend",
    "GGMLBackend": "_backend", "RefBackend": "_backend", "JaxBackend": "_foreign_backends",
    "TorchBackend": "_foreign_backends", "quantize": "_shrink", "prune": "_shrink",
    "lowrank": "_shrink", "distill": "_shrink", "distillation_loss": "_shrink",
    "fake_quantize": "_shrink", "low_rank_factorization": "_shrink",
    "BenchmarkConfig": "benchmark",
    "run_benchmark": "benchmark", "timed": "benchmark", "find_batch_size": "benchmark",
    "Function": "_module", "function": "_module", "manual_seed": "_module",
}


def __getattr__(name: str) -> object:
    """Names that most programs do not use are imported on first use."""
    import importlib
    if name in ("ops", "nn", "benchmark", "onnx_backend", "torch_backend"):
        return importlib.import_module(f".{name}", __name__)
    if name in _LATER:
        return getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    import sys

    from ._hints import missing
    raise missing(sys.modules[__name__], name)


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
