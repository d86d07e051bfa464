"""_train.py - training: the trainer and its reports."""
from __future__ import annotations

import time
from collections import namedtuple
from itertools import chain, islice

from . import _arrays, _takt
from ._compile import CompiledModel
from ._model import Model, load
from ._optimizers import Optimizer
from ._progress import Bar, length
from ._shrink import aware, integers
from .errors import ArgumentError, RangeError, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Iterator, Optional, Union

    from ._data import Dataset


class StepResult(namedtuple("StepResult", "step loss count hits rate norm scale skipped",
                            defaults=(1.0, False))):
    """A step of training: its number, the mean loss over `count` samples, how many were right.

    With ``amp="f16"`` `scale` multiplies the loss, and a step whose gradients overflowed is
    `skipped`: it changes no weight. So is one that is not finite with ``on_nan="skip"``, and one
    in which no label counts, so that `count` is 0.
    """

    __slots__ = ()

    @property
    def accuracy(self) -> float:
        """The accuracy; NaN where the loss does not define it."""
        return self.hits / self.count if self.hits >= 0 and self.count > 0 else float("nan")


class EpochResult(namedtuple(
        "EpochResult", "epoch loss accuracy val_loss val_accuracy seconds wait")):
    """An epoch: means over it, its length, and how long the trainer waited for data."""

    __slots__ = ()


class Callback:
    """Hooks between steps: override what you need. ``trainer.stop()`` ends training."""

    def on_step(self, trainer: "Trainer", result: StepResult) -> None:
        """After each step."""

    def on_epoch(self, trainer: "Trainer", result: EpochResult) -> None:
        """After each epoch."""


class Trainer:
    """Trains a Module, a Model, a compiled model or a file.

        trainer = takt.Trainer(model=net, optimizer=takt.Adam(learning_rate=1e-3))
        trainer.fit(loader, epochs=3, validation=other)

    A step is one plan: forward, loss, gradients and update. Its bits depend on the model, the
    batches, the seed and ``shards``, not on threads. After an exception the weights are those of
    the last whole step.

    A loss that is not finite raises RangeError; with ``on_nan="skip"`` such steps change no weight.
    ``amp="bf16"`` (or True) or ``"f16"`` keeps activations and their gradients in 16 bits.
    ``groups={"bias": {"weight_decay": 0}, "dense_0": {"learning_rate": 1e-4}}`` gives parameters
    whose names match a regular expression numbers of their own.
    ``qat="int8"`` is quantisation-aware training (``takt train --qat``): `calib`
    is the takt.Dataset that initialises ranges, layers whose name `keep` matches stay f32, and
    ``quantized()`` is the result. A module keeps the weights that it had.
    """

    def __init__(self, model: Any, optimizer: Union[Optimizer, str] = "adamw",
                 loss: Optional[str] = None, *, learning_rate: float = 0.0,
                 schedule: Optional[str] = None, warmup: int = 0, steps: int = 0, shards: int = 1,
                 gradient_accumulation_steps: int = 1, clip_norm: float = 0.0,
                 clip_value: float = 0.0, ema: float = 0.0, seed: int = 0,
                 freeze: Union[None, str, Callable[[str], bool]] = None,
                 groups: Optional[dict[str, dict[str, float]]] = None,
                 class_weights: Any = None, amp: Any = None, on_nan: str = "stop",
                 qat: Optional[str] = None, calib: Optional[Dataset] = None,
                 keep: Union[None, str, Callable[[str], bool]] = None,
                 callbacks: Iterable[Callback] = (), **options: Any):
        if qat is None and (calib is not None or keep is not None):
            raise ArgumentError("calib and keep belong to qat: write qat='int8', or freeze for "
                                "weights that stay")
        if on_nan not in ("stop", "skip"):
            raise ArgumentError(f"on_nan is 'stop' or 'skip', not {on_nan!r}")
        if gradient_accumulation_steps < 1 or shards < 1:
            raise ArgumentError("shards and gradient_accumulation_steps are at least 1")
        self._optimizer = optimizer.text() if isinstance(optimizer, Optimizer) else str(optimizer)
        rate = optimizer.learning_rate if isinstance(optimizer, Optimizer) else 0.0
        self._settings = {
            "loss": loss, "optimizer": self._optimizer, "rate": learning_rate or rate,
            "schedule": schedule, "warmup": warmup, "steps": steps,
            "shards": shards * gradient_accumulation_steps, "clip_norm": clip_norm,
            "clip_value": clip_value, "ema": ema, "seed": seed, "plan": options or None,
            "class_weights": class_weights, "amp": _amp(amp),
            "skip": on_nan == "skip"}
        self._aware = {"type": qat, "calib": calib, "keep": keep} if qat is not None else None
        self._groups = dict(groups or {})
        self._freeze, self._accumulate = freeze, gradient_accumulation_steps
        self._callbacks = list(callbacks)
        self._stopped = False
        self._raw: Any = None
        self._module = model if hasattr(model, "to_model") else None
        self.model: Optional[Model] = None
        self.history: list[EpochResult] = []
        if self._module is None:
            self._begin(_trainable(model))

    # ---- making it ----

    def _frozen(self, names: Iterable[str]) -> Optional[set[str]]:
        if self._freeze is None:
            return None
        import re
        test = re.compile(self._freeze).search if isinstance(self._freeze, str) else self._freeze
        return {name for name in names if test(name)}

    def _grouped(self, names: Iterable[str]) -> list[tuple[set[str], float, Optional[str]]]:
        """The groups as sets of names; the first that matches has a parameter."""
        import re
        made = []
        for pattern, numbers in self._groups.items():
            chosen = {name for name in names if re.search(pattern, name)}
            if not chosen:
                raise ArgumentError(f"groups: no parameter matches {pattern!r}; the model has "
                                    f"{', '.join(names)}")
            others = ",".join(f"{key}={value!r}" for key, value in numbers.items()
                              if key != "learning_rate")
            made.append((chosen, float(numbers.get("learning_rate", 0)), others or None))
        return made

    def _begin(self, model: Model) -> None:
        if self._aware is not None:
            model = aware(model, **self._aware)
        self.model = model
        names = [name for name, _, trains in model._raw.params() if trains]
        self._raw = _takt.Trainer(model._raw, frozen=self._frozen(names),
                                  groups=self._grouped(names), **self._settings)

    def _ready(self, batch: Any) -> dict[str, Any]:
        """The batch by name; a module is traced when its first batch comes."""
        if self._raw is None:
            if self._module is None:
                raise StateError("the trainer was not made: takt.Trainer(model=...) raised")
            arrays = [x for x in (batch.values() if isinstance(batch, dict) else batch)]
            named = dict(batch) if isinstance(batch, dict) else None
            if named is not None:
                named.pop("labels", None)
                types = {name: _batched(x) for name, x in named.items()}
                self._begin(self._module.to_model(training=True, **types))
            else:
                count = max(len(arrays) - 1, 1)
                types_in_order = [_batched(x) for x in arrays[:count]]
                self._begin(self._module.to_model(*types_in_order, training=True))
        return self._named(batch)

    def _named(self, batch: Any) -> dict[str, Any]:
        if not isinstance(batch, dict):
            assert self.model is not None
            names = [info.name for info in self.model.inputs]
            if len(batch) not in (len(names), len(names) + 1):
                raise ArgumentError(f"a batch has {len(batch)} arrays; the model takes "
                                    f"{', '.join(names)}, and labels may follow")
            batch = dict(zip([*names, "labels"], batch))
        return {name: x.array() if hasattr(x, "is_computed") else x for name, x in batch.items()}

    # ---- steps ----

    def step(self, *batch: Any, **named: Any) -> StepResult:
        """One step: arrays in the order of the model's inputs, then labels; or all by name."""
        arrays = self._ready(named or (batch[0] if len(batch) == 1 and isinstance(batch[0], dict)
                                       else batch))
        return StepResult(*self._raw.step(arrays))

    def plan(self, *batch: Any, **named: Any) -> dict[str, int]:
        """Bytes of a step on such a batch, before it is run."""
        made = self._raw.plan(self._ready(named or batch))
        assert isinstance(made, dict)
        return made

    def evaluate(self, data: Iterable[Any]) -> StepResult:
        """Mean loss and hits over batches with the current weights, as in inference."""
        loss = count = hits = 0.0
        for batch in data:
            got = StepResult(*self._raw.eval(self._ready(batch)))
            loss, count = loss + got.loss * got.count, count + got.count
            hits = hits + got.hits if got.hits >= 0 and hits >= 0 else -1.0
        if count == 0:
            raise ArgumentError("nothing to evaluate on: no data, or no label of it counts")
        return StepResult(self.steps, loss / count, count, hits, 0.0, -1.0)

    def stop(self) -> None:
        """Ends fit() after the current step."""
        self._stopped = True
        if self._raw is not None:
            self._raw.stop()

    def fit(self, data: Iterable[Any], epochs: int = 1, validation: Optional[Iterable[Any]] = None,
            verbose: bool = False, progress: Optional[bool] = None) -> list[EpochResult]:
        """Trains on all batches, `epochs` times; prints each epoch if `verbose`.

        `progress`: a bar on standard error once an epoch has taken a second; None: on a terminal.
        """
        self._stopped = False
        _refuse_samples(data)
        if epochs < 0:
            raise ArgumentError(f"epochs is a number of at least 0, not {epochs}")
        for epoch in range(epochs):
            if self._stopped:
                break
            result = self._epoch(len(self.history), data, validation, progress)
            self.history.append(result)
            self.export()
            for callback in self._callbacks:
                callback.on_epoch(self, result)
            if verbose:
                print(f"epoch {result.epoch}: loss {result.loss:.4g}, accuracy "
                      f"{result.accuracy:.4g}, {result.seconds:.3g} s "
                      f"({100 * result.wait / max(result.seconds, 1e-9):.0f} % waiting for data)")
        return self.history

    def _repr_html_(self) -> str:
        from ._html import duration, lines, table
        columns = {"epoch": [str(r.epoch) for r in self.history]}
        for name, values in (("loss", [r.loss for r in self.history]),
                             ("accuracy", [r.accuracy for r in self.history]),
                             ("validation loss", [r.val_loss for r in self.history]),
                             ("validation accuracy", [r.val_accuracy for r in self.history])):
            if any(v == v for v in values):  # a value that was not measured is NaN in every epoch
                columns[name] = [f"{v:.4g}" for v in values]
        columns["time"] = [duration(r.seconds) for r in self.history]
        return table("training", tuple(columns), list(zip(*columns.values()))) + lines(
            "loss", {"loss": [r.loss for r in self.history],
                     "validation": [r.val_loss for r in self.history]})

    def _epoch(self, epoch: int, data: Iterable[Any], validation: Any,
               progress: Optional[bool]) -> EpochResult:
        start, sums = time.perf_counter(), _Sums()
        bar = Bar(f"epoch {epoch}", length(data), progress)
        try:
            waited = self._steps(data, sums, bar)
        finally:
            bar.end()
        if sums.count == 0:
            raise RangeError(f"epoch {epoch}: no step had a finite loss and labels that count") \
                if sums.seen else ArgumentError("there is nothing to train on: the data is empty")
        seconds = time.perf_counter() - start
        other = self.evaluate(validation) if validation is not None else None
        if other is not None:
            self._raw.observe(other.loss)
        checked = (other.loss, other.accuracy) if other else (float("nan"), float("nan"))
        return EpochResult(epoch, sums.mean, sums.accuracy, *checked, seconds, waited)

    def _steps(self, data: Iterable[Any], sums: "_Sums", bar: Bar) -> float:
        """An epoch's steps; returns the seconds that they waited for data."""
        begun = time.perf_counter()
        source = self._batches(data)
        waited, batches, ended = time.perf_counter() - begun, 0, False
        while not (ended or self._stopped):
            last, loss, count, hits, steps, wait, ended = self._raw.steps(
                source, self._named, 0.0 if self._callbacks else 0.1)
            waited, batches = waited + wait, batches + steps * self._accumulate
            if steps == 0:
                break
            sums.add(loss, count, hits)
            for callback in self._callbacks:
                callback.on_step(self, StepResult(*last))
            bar.at(batches, "loss", last[1])
        return waited

    def _batches(self, data: Iterable[Any]) -> Iterator[Any]:
        """What each step takes; a module has been traced by the first."""
        source = iter(data)
        first = next(source, None)
        if first is None:
            raise ArgumentError("there is nothing to train on: the data is empty")
        self._ready(first)
        source = chain((first,), source)
        return source if self._accumulate == 1 else self._groups_of(source)

    def _groups_of(self, source: Iterator[Any]) -> Iterator[dict[str, Any]]:
        while group := [self._named(batch) for batch in islice(source, self._accumulate)]:
            yield group[0] if len(group) == 1 else _joined(group)

    # ---- facts and files ----

    @property
    def steps(self) -> int:
        """Steps done so far."""
        return int(self._raw.facts()[0]) if self._raw is not None else 0

    @property
    def trained_parameters(self) -> int:
        """How many numbers are trained."""
        return int(self._raw.facts()[1]) if self._raw is not None else 0

    @property
    def note(self) -> str:
        """How the model's output was treated, such as a softmax that the loss contains."""
        return str(self._raw.facts()[3]) if self._raw is not None else ""

    def export(self, averaged: bool = False) -> Model:
        """Copies the trained weights into the model, and into the module that it came from."""
        if self._raw is None or self.model is None:
            raise ArgumentError("the trainer has seen no batch: there is nothing to export")
        self._raw.export(averaged)
        if self._module is not None and self._aware is None:
            self._module.take_weights(self.model)
        return self.model

    def quantized(self, averaged: bool = False) -> Model:
        """The model of integers that ``qat`` trained; it gives the bits that training saw."""
        if self._aware is None:
            raise ArgumentError("the trainer was made without qat: takt.quantize(trainer.export()) "
                                "makes integers of what it trained")
        return integers(self.export(averaged))

    def save(self, path: Any, note: str = "") -> None:
        """Everything that the next step depends on, in one file."""
        if self._raw is None:
            raise ArgumentError("the trainer has seen no batch: there is nothing to save")
        self._raw.save(path, note)

    def load(self, path: Any, batch: Any = None) -> str:
        """Continues from such a file; a Module needs a batch first, to know its sizes."""
        if self._raw is None:
            if batch is None:
                raise ArgumentError("the trainer has seen no batch: load(path, batch) shows one")
            self._ready(batch)
        return str(self._raw.load(path))


def _refuse_samples(data: Any) -> None:
    """Arrays of all samples, or a data set, where batches belong."""
    from ._data import Dataset
    is_arrays = type(data) in (tuple, list) and len(data) > 0 and hasattr(data[0], "shape")
    if is_arrays or isinstance(data, Dataset):
        raise ArgumentError("fit() takes batches: takt.DataLoader(data, batch_size=32) makes them")


class _Sums:
    """Loss and hits of the steps of an epoch; steps that are not finite are left out."""

    def __init__(self) -> None:
        self.loss = self.count = self.hits = 0.0
        self.seen = False

    def add(self, loss: float, count: float, hits: float) -> None:
        """More steps."""
        self.seen = True
        self.loss, self.count = self.loss + loss, self.count + count
        self.hits = self.hits + hits if hits >= 0 and self.hits >= 0 else -1.0

    @property
    def mean(self) -> float:
        """Of the losses."""
        return self.loss / self.count

    @property
    def accuracy(self) -> float:
        """NaN where the loss does not define it."""
        return self.hits / self.count if self.hits >= 0 else float("nan")


def _amp(amp: Any) -> Optional[str]:
    """"bf16" or "f16" from common spellings: True, "bfloat16", torch.float16."""
    if amp is None or amp is False:
        return None
    names = {"True": "bf16", "bfloat16": "bf16", "float16": "f16", "fp16": "f16", "half": "f16"}
    said = str(amp).rpartition(".")[2]
    return names.get(said, said)


def _trainable(model: Any) -> Model:
    if isinstance(model, CompiledModel):
        model = model.model
    if not isinstance(model, Model):
        model = load(model, training=True)
        assert isinstance(model, Model)
        return model
    return model.for_training()


def _batched(x: Any) -> str:
    """The type of an array, with its first size as the name 'batch'."""
    array = _arrays.asarray(x.array() if hasattr(x, "is_computed") else x)
    sizes = ["batch", *[str(n) for n in array.shape[1:]]] if array.ndim else []
    return f"{array.dtype}[{', '.join(sizes)}]"


def _joined(group: list[dict[str, Any]]) -> dict[str, Any]:
    """Concatenates batches."""
    from . import ops
    return {name: ops.concat(*[batch[name] for batch in group], axis=0) for name in group[0]}
