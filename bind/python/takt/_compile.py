"""_compile.py - takt.compile: turns a model into a callable."""
from __future__ import annotations

import time

from . import _takt
from ._model import Model, Plan, Session, load
from .errors import ArgumentError, StateError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take longer than the rest of the package
    from typing import Any, Optional, Union

# All of them but sizes, which are given one by one, and those for debugging.
_OPTIONS = [name for name in _takt.plan_options()
            if name not in ("sizes", "dry", "no_reuse", "no_in_place")]


def _near(name: str, names: Any) -> str:
    """': did you mean ...?', or nothing."""
    import difflib
    near = difflib.get_close_matches(name, list(names), 1)
    return f": did you mean {near[0]}?" if near else ""


class ProfileStats:
    """Times of the calls of a model that was compiled with profile=True, in seconds."""

    def __init__(self, calls: list[float], session: Session):
        self._calls, self._session = calls, session

    @property
    def calls(self) -> int:
        """How many there were."""
        return len(self._calls)

    @property
    def total(self) -> float:
        """All of them together."""
        return sum(self._calls)

    @property
    def median(self) -> float:
        """The middle one."""
        ordered = sorted(self._calls)
        return ordered[len(ordered) // 2] if ordered else 0.0

    @property
    def best(self) -> float:
        """The shortest one."""
        return min(self._calls, default=0.0)

    @property
    def execution_breakdown(self) -> dict[str, Any]:
        """Where the time of a run goes, step by step; runs the model again to measure it."""
        import json
        made = json.loads(self._session._profile("steps", 0.2, True))
        assert isinstance(made, dict)
        return made


    def _repr_html_(self) -> str:
        from ._html import bar, table
        rows = [(step["name"], step["kernel"], f"{step['time_us']:.4g}", bar(step["share"]))
                for step in self.execution_breakdown["per_op"]]
        return table(f"{self.calls} calls, median {self.median * 1e6:.4g} us",
                     ("step", "kernel", "us", "share"), rows)


class CompiledModel(Session):
    """A model that can be called: ``y = compiled(x)``. ``takt.compile`` makes one."""

    _model: Model
    _options: dict[str, Any]
    _calls: list[float]

    @property
    def model(self) -> Model:
        """What it was compiled from."""
        return self._model

    @property
    def plan(self) -> Plan:
        """The plan for the sizes of the last call."""
        return self._model.plan(options=self._options, **self.sizes())

    def __repr__(self) -> str:
        return f"<takt.CompiledModel of {self._model!r}>"

    def get_profile_stats(self) -> ProfileStats:
        """Times of the calls so far, of a model that was compiled with profile=True."""
        raise StateError("calls are timed if the model is compiled with profile=True")


class _ProfiledModel(CompiledModel):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        made = super().__call__(*args, **kwargs)
        self._calls.append(time.perf_counter() - start)
        return made

    def get_profile_stats(self) -> ProfileStats:
        """Times of the calls so far."""
        return ProfileStats(list(self._calls), self)


def _split(model: Model, keywords: dict[str, Any]) -> tuple[Any, dict[str, int]]:
    """The options, and sizes of named dimensions."""
    from ._keywords import KEYWORDS, REFUSED, Wishes
    wishes, sizes = Wishes(model), {}
    for name, value in keywords.items():
        if name in REFUSED:
            raise UnsupportedError(f"{name}: {REFUSED[name]}")
        if name in KEYWORDS and value is not None:
            KEYWORDS[name](wishes, value)
        elif name in _OPTIONS:
            wishes.options[name] = value
        elif isinstance(value, int) and not isinstance(value, bool):
            sizes[name] = value
        else:
            raise ArgumentError(
                f"compile has no option {name}{_near(name, [*_OPTIONS, *KEYWORDS])}")
    return wishes, sizes


def _check_names(model: Model, sizes: dict[str, int]) -> None:
    names = {dim for info in model.inputs for dim in info.shape if isinstance(dim, str)}
    plain = {name for name in names if name.isidentifier()}
    for name in sizes:
        if name not in plain:
            has = "it has " + ", ".join(sorted(plain)) if plain else "all of its sizes are numbers"
            raise ArgumentError(f"the model has no dimension, and compile no option, called {name}"
                                + (_near(name, [*plain, *_OPTIONS]) or f": {has}"))


def _sizes_of(model: Model, shapes: dict[str, Any]) -> dict[str, int]:
    """Sizes of named dimensions, from the shapes of inputs."""
    sizes: dict[str, int] = {}
    known = {info.name: info for info in model.inputs}
    for name, shape in shapes.items():
        if name not in known:
            raise ArgumentError(f"the model has no input called {name}{_near(name, known)}")
        dims = known[name].shape
        if len(shape) != len(dims):
            raise ArgumentError(f"input {name} has {len(dims)} dimensions, not {len(shape)}")
        for dim, size in zip(dims, shape):
            if isinstance(dim, str) and dim.isidentifier():
                if sizes.setdefault(dim, size) != size:
                    raise ArgumentError(f"dimension {dim} is {sizes[dim]} and {size}")
            elif isinstance(dim, int) and dim != size:
                raise ArgumentError(f"input {name} is {list(dims)}, not {list(shape)}")
    return sizes


def compile(model: Any, *, shapes: Optional[dict[str, Any]] = None,  # noqa: A001
            profile: bool = False, backend: Any = None, vectorize: Union[bool, str] = False,
            **keywords: Any) -> CompiledModel:
    """Compiles a model, a Model or a path, into a callable.

    `shapes` has shapes of inputs by name; sizes of named dimensions can be given by name as well:
    ``takt.compile(m, batch=8, threads=2)``. Sizes that are not given are 1 until the first call.
    Options are those of a plan: threads, level (0 to 3), isa, passes, precision, numerics, hint,
    memory_limit, outputs, require, donate. `backend` is a name or an object such as
    takt.GGMLBackend(quantize="int8"). With profile=True the calls are timed. vectorize=True turns a
    model of one sample into one of many. docs/python.md has the keywords of other frameworks.
    """
    from ._backend import settings
    made_from = model if isinstance(model, Model) else load(model)
    if hasattr(backend, "_compiled"):  # another framework runs it
        return backend.compile(made_from, {**keywords, **({"profile": profile} if profile else {})})
    chosen, prepare = settings(backend)
    if vectorize:
        made_from = made_from.batched(vectorize if isinstance(vectorize, str) else "batch")
    if prepare is not None:
        made_from = prepare(made_from)
    wishes, sizes = _split(made_from, keywords)
    options = {**chosen, **wishes.finish()}
    _check_names(made_from, sizes)
    sizes = {**_sizes_of(made_from, shapes or {}), **sizes}
    compiled = (_ProfiledModel if profile else CompiledModel)()
    is_static = bool(options.pop("static_shapes", False))
    plan = made_from.plan(options=options, **sizes)
    compiled._open(plan._raw, sizes, is_static)
    compiled._model, compiled._options, compiled._calls = made_from, options, []
    if wishes.warm:
        compiled.warmup()
    return compiled
