"""_foreign_backends.py - takt.TorchBackend and takt.JaxBackend."""
from __future__ import annotations

from ._foreign import ForeignBackend
from .errors import ArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_PRECISION = {"float64": "f64", "f64": "f64", "float32": "f32", "f32": "f32", "float16": "f16",
              "f16": "f16", "bfloat16": "bf16", "bf16": "bf16"}


def _precision(name: "Optional[str]") -> "Optional[str]":
    if name is not None and name not in _PRECISION:
        raise ArgumentError(f"precision is one of {', '.join(_PRECISION)}, not {name!r}")
    return _PRECISION[name] if name is not None else None


def _only(given: "dict[str, Any]", known: "tuple[str, ...]") -> "dict[str, Any]":
    for key in given:
        if key not in known:
            raise UnsupportedError(f"jit_options has {', '.join(known)}, not {key}")
    return given


class _Precise(ForeignBackend):
    """Floats in another precision, if requested."""

    precision: "Optional[str]" = None
    _made: Any = None

    def _prepared(self, x: Any) -> Any:
        space = self._made
        if self.precision is None or space.dtype(x) not in ("f64", "f32", "f16", "bf16"):
            return x
        return space.cast(x, self.precision)


class TorchBackend(_Precise):
    """PyTorch runs the model, operation by operation: a reference for every result.

    `device` is torch's, `precision` that of all floats, `enable_amp` autocasts to bfloat16.
    torch_fx=True traces the model: its graph is `.graph` of the compiled model. torch_dynamo=True
    hands it to torch.compile, whose backend is jit_options={"backend": "inductor"}, "eager" or
    "aot_eager".
    """

    def __init__(self, *, device: str = "cpu", precision: "Optional[str]" = None,
                 enable_amp: bool = False, torch_fx: bool = False, torch_dynamo: bool = False,
                 jit_options: "Optional[dict[str, Any]]" = None):
        self.device, self.precision = device, _precision(precision)
        self.enable_amp, self.torch_fx = bool(enable_amp), bool(torch_fx)
        self.jit_options = _only(dict(jit_options or {}), ("backend", "mode", "fullgraph"))
        self.torch_dynamo = bool(torch_dynamo) or bool(self.jit_options)

    def _space(self) -> Any:
        try:
            from ._foreign_torch import TorchSpace
        except ImportError as error:
            raise UnsupportedError(f"PyTorch is not installed: {error}") from error
        self._made = TorchSpace(self.device)
        return self._made

    def _compiled(self, function: Any) -> Any:
        import torch
        traced: dict[Any, Any] = {}

        def call(sizes: Any, *arrays: Any) -> Any:
            with torch.no_grad(), torch.autocast(arrays[0].device.type if arrays else "cpu",
                                                 torch.bfloat16, enabled=self.enable_amp):
                if not self.torch_fx and not self.torch_dynamo:
                    return function(sizes, *arrays)
                key = (sizes, tuple(x.dtype for x in arrays))
                if key not in traced:
                    from torch.fx.experimental.proxy_tensor import make_fx
                    made = make_fx(lambda *xs: function(sizes, *xs))(*arrays)
                    call.graph = made.graph  # type: ignore[attr-defined]
                    traced[key] = torch.compile(
                        made, **{"backend": "inductor", **self.jit_options}) \
                        if self.torch_dynamo else made
                return traced[key](*arrays)
        return call


class JaxBackend(_Precise):
    """JAX runs the model through jax.numpy, compiled by XLA unless jit=False.

    `precision` is that of all floats; jit_options={"donate_argnums": ...} counts the inputs.
    """

    def __init__(self, *, precision: "Optional[str]" = None, jit: bool = True,
                 jit_options: "Optional[dict[str, Any]]" = None):
        self.precision, self.jit = _precision(precision), bool(jit)
        self.jit_options = _only(dict(jit_options or {}), ("donate_argnums", "inline"))

    def _space(self) -> Any:
        try:
            from ._foreign_jax import JaxSpace
        except ImportError as error:
            raise UnsupportedError(f"JAX is not installed: {error}") from error
        self._made = JaxSpace()
        return self._made

    def _compiled(self, function: Any) -> Any:
        import jax
        given = dict(self.jit_options)
        numbers = given.pop("donate_argnums", ())
        numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers)
        return jax.jit(function, static_argnums=0, donate_argnums=tuple(n + 1 for n in numbers),
                       **given) if self.jit else function
