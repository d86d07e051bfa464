"""Reliable timing: warm-up until times settle, intervals, interleaved comparisons.

    result = takt.benchmark.run(model, config=takt.benchmark.Config(runs=200), batch=8)
    print(takt.benchmark.analyze(result).summary())
    print(takt.benchmark.compare(one, other).verdict)
"""
from __future__ import annotations

import time
from collections import namedtuple

from . import _arrays, _html
from ._compile import CompiledModel, compile as _compile
from ._html import duration as _time
from ._model import Session
from .errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional


class Config(namedtuple("Config", "runs warmup seconds ci_width include_copy",
                        defaults=(0, -1, 0.0, 0.0, False))):
    """How to measure: `runs` exactly, or until the interval is narrow or `seconds` are over."""

    __slots__ = ()


BenchmarkConfig = Config


class Result:
    """The measurements, in seconds and bytes."""

    def __init__(self, name: str, timing: dict[str, Any], plan: Any, batch: int):
        self.name, self.timing, self.plan, self.batch = name, timing, plan, batch

    @property
    def latency(self) -> float:
        """The median of a run."""
        return float(self.timing["median"])

    @property
    def latency_ci(self) -> tuple[float, float]:
        """The 95 % interval of the median."""
        low, high = self.timing["median_ci"]
        return low, high

    @property
    def throughput(self) -> float:
        """Samples a second."""
        return self.batch / self.latency if self.latency > 0 else float("inf")

    @property
    def memory_usage(self) -> int:
        """Weights, state, activations, scratch, inputs and outputs together."""
        return int(self.plan.peak_bytes)

    @property
    def percentiles(self) -> dict[str, float]:
        """p50, p90, p95 and p99."""
        return dict(self.timing["percentiles"])

    @property
    def samples(self) -> list[float]:
        """The times of all runs after the warm-up, in order."""
        return list(self.timing["samples"])

    def summary(self) -> str:
        """One line."""
        low, high = self.latency_ci
        return (f"{self.name}: {_time(self.latency)} a run (95 % interval {_time(low)} to "
                f"{_time(high)}, {len(self.samples)} runs), {_rate(self.throughput)} samples/s, "
                f"{self.memory_usage:,} bytes")

    def _repr_html_(self) -> str:
        rows = {"latency": _time(self.latency), "p99": _time(self.percentiles["p99"]),
                "runs": str(len(self.samples)), "samples/s": _rate(self.throughput),
                "bytes": f"{self.memory_usage:,}"}
        return _html.table(self.name, (), rows.items())

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


class Comparison(namedtuple("Comparison", "verdict ratio ci margin blocks a b")):
    """Whether the second is faster, slower or the same: the verdict, and the ratio of times."""

    __slots__ = ()

    def summary(self) -> str:
        """One line."""
        return (f"{self.verdict}: {self.ratio:.3f} times the first's time "
                f"(95 % interval {self.ci[0]:.3f} to {self.ci[1]:.3f}, {self.blocks} blocks)")

    def _repr_html_(self) -> str:
        rows = [("verdict", self.verdict), ("ratio of times", f"{self.ratio:.3f}"),
                ("95 % interval", f"{self.ci[0]:.3f} to {self.ci[1]:.3f}"),
                ("blocks", self.blocks)]
        return _html.table("second against first", (), rows)


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _named(session: Session, inputs: Any) -> dict[str, Any]:
    """Inputs by name; without names, in the model's order."""
    if inputs is None or isinstance(inputs, dict):
        return inputs or {}
    given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    names = [info.name for info in session.inputs]
    if len(given) > len(names):
        raise ArgumentError(f"{len(given)} inputs are given, the model has {len(names)}")
    return dict(zip(names, given))


def _ready(model: Any, inputs: Any, sizes: dict[str, Any]) -> Session:
    """A session with inputs: those given, or zeros."""
    session = model.clone() if isinstance(model, Session) else _compile(model, **sizes)
    arrays = {name: _arrays.asarray(x) for name, x in _named(session, inputs).items()}
    if arrays and not isinstance(model, Session):
        session.close()
        session = _compile(model, shapes={n: a.shape for n, a in arrays.items()}, **sizes)
    for info in session.inputs:
        given = arrays.get(info.name)
        session.bind(info.name, given if given is not None
                     else _arrays.zeros(tuple(info.shape), info.dtype))
    return session


def run(model: Any, inputs: Any = None, config: Optional[Config] = None,
        **options: Any) -> Result:
    """Times a model, a compiled model or a file; inputs are an array, several, or a dictionary.

    Without inputs they are zeros. `options` are those of takt.compile.
    """
    session = _ready(model, inputs, options)
    how = config if config is not None else Config()
    timing = session._time(runs=how.runs, warmup=how.warmup, seconds=how.seconds,
                           ci_width=how.ci_width, include_copy=how.include_copy)
    shapes = [info.shape for info in session.inputs]
    batch = int(shapes[0][0]) if shapes and shapes[0] else 1
    plan = session.plan if isinstance(session, CompiledModel) else None
    name = session.model.name if isinstance(session, CompiledModel) else "session"
    return Result(name, timing, plan, batch)


def run_benchmark(model: Any, inputs: Any = None,
                  config: Optional[Config] = None, **options: Any) -> Result:
    """The same as run()."""
    return run(model, inputs, config, **options)


def compare(first: Any, second: Any, inputs: Any = None, *,
            seconds: float = 0.0, blocks: int = 0, margin: float = 0.0,
            **options: Any) -> Comparison:
    """Runs two models alternately, so that drift affects both; or compares two Results."""
    if isinstance(first, Result) and isinstance(second, Result):
        raise ArgumentError("results that were not taken alternately show drifts as differences: "
                            "give compare() the two models")
    a, b = _ready(first, inputs, options), _ready(second, inputs, options)
    return Comparison(**a._compare(b, seconds=seconds, blocks=blocks, margin=margin))


class Analysis:
    """The rest of a result, besides its median."""

    def __init__(self, result: Result):
        self.result = result

    @property
    def findings(self) -> list[str]:
        """Sentences about what disturbs or limits the figure."""
        r, t = self.result, self.result.timing
        found = []
        if not t["settled"] and not t["complete"]:
            found.append("the measurement was broken off")
        if t["percentiles"]["p99"] > 2 * t["median"]:
            found.append(f"p99 is {t['percentiles']['p99'] / t['median']:.1f} times the median: "
                         "something else runs on this machine")
        if t["first"] > 10 * t["median"]:
            found.append(f"the first run took {_time(t['first'])}")
        if r.plan is not None and r.latency > 0:
            found.append(f"{r.plan.flops / r.latency / 1e9:.3g} GFLOP/s")
        return found

    def summary(self) -> str:
        """The result and the findings, a line each."""
        return "\n".join([self.result.summary(), *self.findings])


def analyze(result: Result) -> Analysis:
    """A result as text."""
    return Analysis(result)


class timed:
    """``with takt.timed("load"):`` prints how long the block took; ``.seconds`` has it."""

    def __init__(self, name: str = "block", quiet: bool = False):
        self.name, self.quiet, self.seconds = name, quiet, 0.0

    def __enter__(self) -> "timed":
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.seconds = time.perf_counter() - self._start
        if not self.quiet:
            print(f"{self.name}: {_time(self.seconds)}")


def _sizes(limit: int) -> Iterator[int]:
    size = 1
    while size <= limit:
        yield size
        size *= 2


def find_batch_size(model: Any, memory_limit: int, *, dim: str = "batch", most: int = 1 << 16,
                    **options: Any) -> int:
    """The largest power of two whose plan fits `memory_limit` bytes; nothing is run."""
    from ._model import Model, load
    made = model.model if isinstance(model, CompiledModel) else \
        model if isinstance(model, Model) else load(model)
    best = 0
    for size in _sizes(most):
        sizes = {**{k: v for k, v in options.items() if isinstance(v, int)}, dim: size}
        if made.plan(options={"dry": True}, **sizes).peak_bytes > memory_limit:
            break
        best = size
    if best == 0:
        raise ArgumentError(f"one sample needs more than {memory_limit} bytes")
    return best
