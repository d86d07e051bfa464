"""_keywords.py - keywords of other frameworks' compile(), each with what it does here.

One row per keyword. Keywords without a counterpart in Takt are refused with the reason; nothing is
accepted and then ignored.
"""
from __future__ import annotations

from .errors import ArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ._model import Model

_PASSES = {"constant_folding": ("fold-shapes", "fold-identity", "fold-weights"),
           "operator_fusion": ("fuse",), "common_subexpression": ("cse",),
           "dead_code_elimination": ("cse",)}
_ISA = {"x86": "avx2", "avx2": "avx2", "avx512": "avx512", "neon": "neon", "arm": "neon",
        "scalar": "scalar", "generic": "scalar"}
_HALF = {"float16": "f16", "f16": "f16", "fp16": "f16", "half": "f16", "bfloat16": "bf16",
         "bf16": "bf16", "float32": None, "f32": None, "fp32": None}


class Wishes:
    """The settings requested by the keywords."""

    def __init__(self, model: "Model"):
        self.model = model
        self.options: dict[str, Any] = {}
        self.passes: list[str] = []
        self.profile = False
        self.warm = False

    def finish(self) -> dict[str, Any]:
        """Options of a plan."""
        if self.passes:
            given = [self.options["passes"]] if self.options.get("passes") else []
            self.options["passes"] = ",".join([*given, *dict.fromkeys(self.passes)])
        return self.options


def _on_off(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, int)):
        raise ArgumentError(f"{name} is True or False, not {value!r}")
    return bool(value)


def _jit(w: Wishes, value: Any) -> None:
    if not _on_off("jit", value):
        w.options["level"] = 0


def _jit_options(w: Wishes, value: Any) -> None:
    for key, given in dict(value).items():
        if key == "donate_argnums":
            names = [info.name for info in w.model.inputs]
            numbers = (given,) if isinstance(given, int) else tuple(given)
            if any(not 0 <= n < len(names) for n in numbers):
                raise ArgumentError(f"donate_argnums: the model has {len(names)} inputs")
            w.options["donate"] = ",".join(names[n] for n in numbers)
        elif key == "static_argnums":
            w.options["static_shapes"] = True
        elif key == "mode":
            _mode(w, given)
        else:
            raise UnsupportedError(f"jit_options: {key} belongs to another framework's compiler")


def _mode(w: Wishes, value: Any) -> None:
    levels = {"default": 2, "reduce-overhead": 2, "max-autotune": 3}
    if value not in levels:
        raise ArgumentError(f"mode is one of {', '.join(levels)}, not {value!r}")
    w.options["level"] = levels[value]
    w.warm = w.warm or value == "reduce-overhead"


def _optimizations(w: Wishes, value: Any) -> None:
    for key, given in dict(value).items():
        if key not in _PASSES:
            raise ArgumentError(f"optimizations has no {key}; it has {', '.join(_PASSES)}")
        sign = "+" if _on_off(key, given) else "-"
        w.passes += [sign + name for name in _PASSES[key]]


def _graph_optimization(w: Wishes, value: Any) -> None:
    if not _on_off("graph_optimization", value):
        w.passes.append("-all")


def _precision(w: Wishes, value: Any) -> None:
    if value not in _HALF:
        raise ArgumentError(f"precision is one of {', '.join(_HALF)}, not {value!r}")
    if _HALF[value]:
        w.options["precision"] = _HALF[value]


def _mixed(w: Wishes, value: Any) -> None:
    if _on_off("mixed_precision", value):
        w.options["numerics"] = "fast"


def _target(w: Wishes, value: Any) -> None:
    if str(value).startswith("nvidia"):
        w.options["backend"] = "cuda"
    elif value in _ISA:
        w.options["isa"] = _ISA[value]
    elif value not in ("native", "auto"):
        raise ArgumentError(f"target_hardware is native, nvidia_..., or one of {', '.join(_ISA)}, "
                            f"not {value!r}")


def _optimize_for(w: Wishes, value: Any) -> None:
    if value not in ("latency", "throughput", "memory"):
        raise ArgumentError(f"optimize_for is latency, throughput or memory, not {value!r}")
    w.options["hint"] = value


def _static(w: Wishes, value: Any) -> None:
    if _on_off("static_shapes", value):
        w.options["static_shapes"] = True


def _static_types(w: Wishes, value: Any) -> None:
    if not _on_off("static_types", value):
        raise UnsupportedError("static_types=False: element types are part of a model")


def _inference(w: Wishes, value: Any) -> None:
    if not _on_off("inference", value):
        raise UnsupportedError("inference=False: takt.Trainer trains; a compiled model infers")


def _static_inference(w: Wishes, value: Any) -> None:
    if _on_off("static_inference", value):
        w.options.update(static_shapes=True, level=3)


def _pre_allocate(w: Wishes, value: Any) -> None:
    w.warm = _on_off("pre_allocate", value)


def _mem_size(w: Wishes, value: Any) -> None:
    w.options["memory_limit"] = int(value)


KEYWORDS: "dict[str, Callable[[Wishes, Any], None]]" = {
    "jit": _jit, "jit_options": _jit_options, "mode": _mode, "optimizations": _optimizations,
    "graph_optimization": _graph_optimization, "precision": _precision,
    "mixed_precision": _mixed, "target_hardware": _target, "optimize_for": _optimize_for,
    "static_shapes": _static, "static_types": _static_types, "inference": _inference,
    "static_inference": _static_inference, "pre_allocate": _pre_allocate, "mem_size": _mem_size,
}

REFUSED = {
    "parallelism": "a model runs on one machine: threads share its steps",
    "device_mesh": "a model runs on one machine: there are no meshes",
    "tensor_split_dims": "a model runs on one machine: tensors are not split over devices",
    "pipeline_stages": "a model runs on one machine: steps run in the order of its plan",
    "pipeline_chunks": "a model runs on one machine: steps run in the order of its plan",
    "pjit": "there are no partitions to compile for",
    "tpu_replicas": "there is no backend for TPUs",
    "xla_optimization_level": "XLA is not used; level= is 0 to 3",
    "torch_fx": "the graph is Takt's own; torch.fx has no part in it",
    "torch_dynamo": "the graph is Takt's own; TorchDynamo has no part in it",
}
