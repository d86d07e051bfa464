"""_shrink.py - smaller models: quantisation, pruning, low rank, distillation."""
from __future__ import annotations

from . import _arrays, _takt
from ._compile import CompiledModel
from ._model import Model, load, sizes_text
from .errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Union

    from ._data import Dataset

_TYPES = {"int8": "int8", "int4": "w4", "w8": "w8", "w4": "w4", "int16x8": "int16x8",
          "w4a8": "w4a8"}


def _model(model: Any) -> Model:
    if isinstance(model, CompiledModel):
        return model.model
    return model if isinstance(model, Model) else load(model)


def _keeps(keep: Union[None, str, Callable[[str], bool]]) -> Any:
    if isinstance(keep, str):
        import re
        return re.compile(keep).search
    return keep


def _made(model: Model, kind: str, options: dict[str, Any], keep: Any,
          sizes: dict[str, int]) -> Model:
    import json
    given = {key: value for key, value in options.items() if value is not None}
    raw, report = model._raw.shrink(kind, keep=_keeps(keep), sizes=sizes_text(sizes), **given)
    made = Model(raw, model._path)
    made.report = json.loads(report) if report.startswith("{") else {"text": report}
    return made


def quantize(model: Any, type: str = "int8", *, calib: Optional[Dataset] = None,  # noqa: A002
             method: Optional[str] = None, rounding: Optional[str] = None,
             test: Optional[Dataset] = None, metric: Optional[str] = None,
             accuracy_drop: Optional[str] = None,
             keep: Union[None, str, Callable[[str], bool]] = None, size_first: bool = False,
             equalize: bool = False, threads: int = 0, seconds_per_layer: float = 0.0,
             **sizes: int) -> Model:
    """A model whose layers compute on integers; ``made.report`` says what was done to each layer.

    "int8" needs samples to calibrate on; "w8" and "w4" ("int4") change only weights. A layer that
    is not measured to be faster here is left unchanged, unless `size_first`. So are layers whose
    name matches `keep`.
    """
    if type not in _TYPES:
        raise ArgumentError(f"type is one of {', '.join(_TYPES)}, not {type!r}")
    return _made(_model(model), "quantize", {
        "type": _TYPES[type], "method": method, "rounding": rounding, "metric": metric,
        "calib": calib._raw if calib is not None else None,
        "test": test._raw if test is not None else None, "accuracy_drop": accuracy_drop,
        "size_first": size_first, "equalize": equalize, "threads": threads,
        "layer_ns": int(seconds_per_layer * 1e9)}, keep, sizes)


def aware(model: Model, type: str = "int8", *, calib: Optional[Dataset] = None,  # noqa: A002
          keep: Union[None, str, Callable[[str], bool]] = None, threads: int = 0,
          **sizes: int) -> Model:
    """A model for quantisation-aware training; takt.Trainer(qat=) makes it."""
    if type not in _TYPES:
        raise ArgumentError(f"qat is one of {', '.join(_TYPES)}, not {type!r}")
    return _made(model, "aware", {
        "type": _TYPES[type], "calib": calib._raw if calib is not None else None,
        "threads": threads}, keep, sizes)


def integers(trained: Model) -> Model:
    """The integer model, bit for bit as in its training."""
    return Model(trained._raw.shrink("integers")[0], trained._path)


def prune(model: Any, amount: float, *, criterion: Optional[str] = None,
          data: Optional[Dataset] = None, unstructured: bool = False,
          keep: Union[None, str, Callable[[str], bool]] = None, threads: int = 0,
          **sizes: int) -> Model:
    """A model without its least important channels and everything that belongs to them."""
    return _made(_model(model), "prune", {
        "amount": float(amount), "criterion": criterion, "unstructured": unstructured,
        "data": data._raw if data is not None else None, "threads": threads}, keep, sizes)


def lowrank(model: Any, *, energy: float = 0.0, rank: int = 0,
            keep: Union[None, str, Callable[[str], bool]] = None, size_first: bool = False,
            threads: int = 0, **sizes: int) -> Model:
    """A model whose products and convolutions are split into two thinner ones, where faster."""
    return _made(_model(model), "lowrank", {
        "energy": energy, "rank": rank, "size_first": size_first, "threads": threads}, keep, sizes)


def distill(student: Any, teacher: Any, temperature: float = 2.0, alpha: float = 0.5) -> Model:
    """Student, teacher and their common loss as one model, for takt.Trainer.

    After the training ``student.copy_weights(trainer.export())`` copies the weights back.
    """
    to_train = _model(student).for_training()
    both = Model(to_train._raw.distill(_model(teacher)._raw, temperature, alpha))
    both._again = lambda: both._raw
    return both


def distillation_loss(student: Any, teacher: Any, temperature: float = 2.0, alpha: float = 0.5,
                      labels: Any = None) -> Any:
    """The loss of a student's logits against a teacher's, averaged over all rows.

    ``alpha * T**2 * KL(softmax(teacher / T) || softmax(student / T))``, and with class numbers in
    `labels` ``(1 - alpha)`` times their cross entropy.
    """
    from . import ops
    if not 0 < temperature < float("inf") or not 0 <= alpha <= 1:
        raise ArgumentError("a temperature is above 0 and finite, alpha from 0 to 1, "
                            f"not {temperature:g} and {alpha:g}")
    t = float(temperature)
    want = ops.log_softmax(ops.mul(teacher, 1 / t), axis=-1)
    have = ops.log_softmax(ops.mul(student, 1 / t), axis=-1)
    each = ops.reduce_sum(ops.mul(ops.exp(want), ops.sub(want, have)), axes=[-1])
    soft = ops.mul(ops.reduce_mean(each), alpha * t * t)
    if labels is None:
        return soft
    return ops.add(soft, ops.mul(ops.cross_entropy(student, labels), 1 - alpha))


def fake_quantize(w: Any, bits: int = 8, symmetric: bool = True) -> _takt.Array:
    """`w` quantised to `bits` bits: every element rounded to a grid that spans all of them."""
    return _takt.fake_quantize(_arrays.asarray(w), bits, symmetric)


def low_rank_factorization(w: Any, rank: int) -> tuple[_takt.Array, _takt.Array]:
    """Thin matrices u and v whose product is the best approximation of `w`."""
    u, v, _ = _takt.low_rank(_arrays.asarray(w), rank)
    return u, v
