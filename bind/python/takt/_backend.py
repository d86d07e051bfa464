"""_backend.py - backends as objects: where a compiled model runs, and with which settings."""
from __future__ import annotations

from ._keywords import _HALF
from .errors import ArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._model import Model


class Backend:
    """Where a model runs. ``takt.compile(model, backend=takt.CpuBackend(threads=2))``."""

    _name = "cpu"

    def __init__(self, **options: Any):
        self.options: dict[str, Any] = {"backend": self._name, **options}

    def prepare(self, model: "Model") -> "Model":
        """The model in the form that this backend needs."""
        return model

    def __repr__(self) -> str:
        said = ", ".join(f"{k}={v!r}" for k, v in self.options.items() if k != "backend")
        return f"takt.{type(self).__name__}({said})"


def _half(precision: Optional[str]) -> dict[str, Any]:
    if precision is None:
        return {}
    if precision not in _HALF:
        raise ArgumentError(f"precision is one of {', '.join(_HALF)}, not {precision!r}")
    return {"precision": _HALF[precision]} if _HALF[precision] else {}


class CpuBackend(Backend):
    """Vector kernels on this machine's processor; runs every operation, with the same bits
    everywhere."""

    def __init__(self, *, threads: int = 0, precision: Optional[str] = None,
                 isa: Optional[str] = None, mem_size: int = 0):
        given = {"threads": threads or None, "isa": isa, "memory_limit": mem_size or None}
        super().__init__(**{k: v for k, v in given.items() if v is not None}, **_half(precision))


class CudaBackend(Backend):
    """An NVIDIA GPU, with the bits of the cpu; steps without device code run on the cpu."""

    _name = "cuda"

    def __init__(self, *, device: int = 0, precision: Optional[str] = None):
        super().__init__(**_half(precision))
        self.options["backend"] = f"cuda:{int(device)}"


class RefBackend(Backend):
    """The interpreter: slow, and right by definition."""

    _name = "ref"


class GGMLBackend(Backend):
    """Weights in few bits on Takt's own kernels: quantize="int8" or "int4", and a memory limit."""

    def __init__(self, *, quantize: Optional[str] = None, mem_size: int = 0, threads: int = 0):
        if quantize not in (None, "int8", "int4", "w8", "w4"):
            raise ArgumentError(f"quantize is int8 or int4, not {quantize!r}")
        given = {"memory_limit": mem_size or None, "threads": threads or None}
        super().__init__(**{k: v for k, v in given.items() if v is not None})
        self.quantize = {"int8": "w8", "int4": "w4"}.get(quantize or "", quantize)

    def prepare(self, model: "Model") -> "Model":
        """Weights in blocks of 8 or 4 bits; activations stay as they are."""
        if self.quantize is None:
            return model
        from ._shrink import quantize
        return quantize(model, self.quantize, size_first=True)


def settings(backend: Any) -> tuple[dict[str, Any], Any]:
    """Plan options, and the function that prepares the model, for a backend object or name."""
    if backend is None or isinstance(backend, str):
        return ({"backend": backend} if backend else {}), None
    if isinstance(backend, Backend):
        return dict(backend.options), backend.prepare
    raise UnsupportedError(f"{type(backend).__name__} is not a backend of Takt: give a name, or "
                           "takt.CpuBackend, CudaBackend, GGMLBackend, RefBackend")
