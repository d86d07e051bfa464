"""_ort.py - the interface that scripts for onnxruntime use: ``import takt as ort``."""
from __future__ import annotations

import _thread

from ._arrays import array
from ._model import Model, Session, load, loads
from ._ort_values import ORT_TYPES, IOBinding, OrtValue
from .errors import ArgumentError, Error, NotFoundError, ShapeError, StateError, \
    UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take longer than the rest of the package
    from typing import Any, Callable, Optional, Sequence, Union
    import os

_PROVIDERS = ["TaktExecutionProvider", "CPUExecutionProvider"]


class GraphOptimizationLevel(int):
    """The optimisation level."""

    ORT_DISABLE_ALL: "GraphOptimizationLevel"
    ORT_ENABLE_BASIC: "GraphOptimizationLevel"
    ORT_ENABLE_EXTENDED: "GraphOptimizationLevel"
    ORT_ENABLE_LAYOUT: "GraphOptimizationLevel"
    ORT_ENABLE_ALL: "GraphOptimizationLevel"


class ExecutionMode(int):
    """Steps run one after another; ORT_PARALLEL is accepted and changes nothing."""

    ORT_SEQUENTIAL: "ExecutionMode"
    ORT_PARALLEL: "ExecutionMode"


GraphOptimizationLevel.ORT_DISABLE_ALL = GraphOptimizationLevel(0)
GraphOptimizationLevel.ORT_ENABLE_BASIC = GraphOptimizationLevel(1)
GraphOptimizationLevel.ORT_ENABLE_EXTENDED = GraphOptimizationLevel(2)
GraphOptimizationLevel.ORT_ENABLE_LAYOUT = GraphOptimizationLevel(3)
GraphOptimizationLevel.ORT_ENABLE_ALL = GraphOptimizationLevel(99)
ExecutionMode.ORT_SEQUENTIAL = ExecutionMode(0)
ExecutionMode.ORT_PARALLEL = ExecutionMode(1)
_LEVELS = {0: 0, 1: 1, 2: 2, 3: 2, 99: 2}  # ours, by theirs


class SessionOptions:
    """Options of an InferenceSession. Those that have no meaning here are kept and do nothing."""

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.optimized_model_filepath = ""
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.enable_profiling = False
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.enable_cpu_mem_arena = True
        self.use_deterministic_compute = True
        self._free_dimensions: dict[str, int] = {}
        self._entries: dict[str, str] = {}

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes the size of a named dimension."""
        self._free_dimensions[name] = size

    def add_session_config_entry(self, key: str, value: str) -> None:
        """'takt.OPTION' sets an option of the plan (isa, precision, ...); others are kept."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """What add_session_config_entry was given."""
        if key not in self._entries:
            raise NotFoundError(f"there is no entry {key}")
        return self._entries[key]

    def _plan_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"threads": self.intra_op_num_threads or None}
        level = int(self.graph_optimization_level)
        if level not in _LEVELS:
            raise ArgumentError(f"there is no optimisation level {level}")
        if _LEVELS[level] != 2:
            options["level"] = _LEVELS[level]
        if not self.enable_mem_reuse:
            options["no_reuse"] = True
        for key, value in self._entries.items():
            if key.startswith("takt."):
                options[key[5:]] = value
        return options


class RunOptions:
    """Options of one run: terminate=True, from any thread, ends the runs that use it."""

    def __init__(self) -> None:
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.timeout: Optional[float] = None  # seconds; ours
        self._terminate = False
        self._running: list[Session] = []

    @property
    def terminate(self) -> bool:
        """Whether runs with these options end at once."""
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._terminate = bool(value)
        if self._terminate:
            for session in list(self._running):
                session.cancel()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Accepted and ignored: none of them changes a run."""


class NodeArg:
    """An input or output: name, shape with names where a dimension takes any size, and type."""

    def __init__(self, name: str, dtype: str, shape: Sequence[Any]):
        self.name, self.shape = name, list(shape)
        self.type = f"tensor({ORT_TYPES.get(dtype, dtype)})"

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    """Where a model came from."""

    def __init__(self, model: Model):
        about = model.metadata
        self.graph_name = model.name
        self.producer_name = str(about.get("producer", about.get("producer_name", "")) or "")
        self.domain = str(about.get("domain", "") or "")
        self.description = str(about.get("doc", about.get("description", "")) or "")
        self.graph_description = ""
        self.version = int(about.get("model_version", 0) or 0)
        entries = about.get("metadata", {})
        self.custom_metadata_map = dict(entries) if isinstance(entries, dict) else {}


def get_available_providers() -> list[str]:
    """Takt's provider, and the name that scripts expect."""
    return list(_PROVIDERS)


def get_device() -> str:
    """'CPU'."""
    return "CPU"


def _check_providers(providers: Optional[Sequence[Any]]) -> None:
    names = [p[0] if isinstance(p, tuple) else p for p in providers or ()]
    if names and not any(name in _PROVIDERS for name in names):
        raise UnsupportedError(f"none of these providers is here: {', '.join(names)}; "
                               f"there are {', '.join(_PROVIDERS)}")


class InferenceSession(Session):
    """A drop-in for onnxruntime's: ``InferenceSession(path).run(None, {"x": x})``.

    Unlike a Session it may be run by several threads at once: each gets its own clone.
    """

    def __init__(self, path_or_bytes: Union[str, bytes, "os.PathLike[str]", Model],
                 sess_options: Optional[SessionOptions] = None,
                 providers: Optional[Sequence[Any]] = None,
                 provider_options: Optional[Sequence[dict[str, Any]]] = None, *,
                 inputs: Optional[dict[str, Any]] = None, **kwargs: Any):
        """`inputs` is ours: values of inputs that shapes depend on, as in takt.load."""
        _check_providers(providers)
        self._session_options = options = sess_options or SessionOptions()
        sizes = dict(options._free_dimensions)
        if isinstance(path_or_bytes, Model):
            model = path_or_bytes
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            model = loads(bytes(path_or_bytes), "bytes", sizes=sizes, inputs=inputs)
        else:
            model = load(path_or_bytes, sizes=sizes, inputs=inputs)
        self._model_inputs, self._model_outputs = model.inputs, model.outputs
        self._metadata = ModelMetadata(model)
        names = {dim for info in self._model_inputs for dim in info.shape}
        sizes = {name: size for name, size in sizes.items() if name in names}
        if options.optimized_model_filepath:
            model.save(options.optimized_model_filepath, optimize=True)
        self._has_state, self._given = False, sizes
        try:
            self._begin(self._plan_of(model, sizes, model is not path_or_bytes), sizes)
            self._waits = False
        except Error as problem:
            # Sizes that were not given are 1, which an op (code 21xx) may refuse although a run has
            # others.
            if problem.code // 100 != 21 or all(isinstance(n, int) or n in sizes for n in names):
                raise
            self._waits = True
        self._input_names = [info.name for info in self._model_inputs]
        self._output_names = [info.name for info in self._model_outputs]
        self._twins: list[Session] = []
        self._lock = _thread.allocate_lock()

    def _plan_of(self, model: Model, sizes: dict[str, int], is_own: bool) -> Any:
        """A model that only this session has, in one size, is not kept with its plan: it would
        hold every weight a second time."""
        options = self._session_options._plan_options()
        if is_own and all(isinstance(d, int) for info in self._model_inputs for d in info.shape):
            taken = model._take(options)
            self._again: Callable[[dict[str, int]], Any] = lambda _: taken
        else:
            self._again = lambda wanted: model.plan(options=options, **wanted)._raw
        return self._again(sizes)

    def _begin(self, raw: Any, sizes: dict[str, int]) -> None:
        self._open(raw, sizes)
        self._has_state = raw.info()["state"] > 0

    def _begin_with(self, feed: dict[str, Any]) -> None:
        """Plans for the sizes of these arrays, if no run has done so."""
        with self._lock:
            if not self._waits:
                return
            sizes = dict(self._given)
            for info in self._model_inputs:
                if info.name not in feed:
                    raise ArgumentError(f"input {info.name} is missing")
                value = feed[info.name]
                value = value._array if isinstance(value, OrtValue) else value
                shape = value.shape if hasattr(value, "shape") else array(value).shape
                if len(shape) != len(info.shape):
                    raise ShapeError(f"{info.name} has {len(info.shape)} dimensions, the array "
                                     f"has {len(shape)}")
                for name, size in zip(info.shape, shape):
                    if isinstance(name, str) and not name.startswith("`"):  # one without a name
                        sizes.setdefault(name, size)
            self._begin(self._again(sizes), sizes)
            self._waits = False

    def run(self, output_names: Optional[Sequence[str]],  # type: ignore[override]
            input_feed: dict[str, Any],
            run_options: Optional[RunOptions] = None) -> list[Any]:
        """The outputs as a list: NumPy arrays where the program has imported NumPy."""
        try:
            if run_options is None:
                return self._run_feed(output_names, input_feed)
            return self._run_with(self, output_names, input_feed, run_options)
        except StateError:
            if self._waits:
                self._begin_with(input_feed)
                return self.run(output_names, input_feed, run_options)
            twin = self._take_twin()
            if twin is None:
                raise
        try:
            if run_options is None:
                return twin._run_feed(output_names, input_feed)
            return self._run_with(twin, output_names, input_feed, run_options)
        finally:
            self._twins.append(twin)

    @staticmethod
    def _run_with(session: Session, names: Any, feed: dict[str, Any],
                  options: RunOptions) -> list[Any]:
        deadline = int(options.timeout * 1e9) if options.timeout else None
        options._running.append(session)
        try:
            if options.terminate:
                session.cancel()
            return session._run_feed(names, feed, deadline)
        finally:
            options._running.remove(session)

    def _take_twin(self) -> Optional[Session]:
        """A session for a thread that finds this one busy; None if it cannot be cloned."""
        try:
            return self._twins.pop()
        except IndexError:
            pass
        with self._lock:
            if not self.is_open() or self._has_state:
                return None
            twin = Session()
            twin._open(self._again(self.sizes()), self.sizes())
            return twin

    def run_async(self, output_names: Optional[Sequence[str]], input_feed: dict[str, Any],
                  callback: Callable[[Any, Any, str], None], user_data: Any = None,
                  run_options: Optional[RunOptions] = None) -> None:
        """Runs on a thread; then callback(results, user_data, error), the error "" if none."""
        import threading
        if not callable(callback):
            raise ArgumentError(f"callback is a function, not {type(callback).__name__}: write "
                                "def done(results, user_data, error)")

        def work() -> None:
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as exception:  # any error is passed to the callback
                results, error = [], str(exception) or type(exception).__name__
            callback(results, user_data, error)
        threading.Thread(target=work, name="takt-run_async").start()

    def io_binding(self) -> IOBinding:
        """A new binding."""
        return IOBinding(self)

    def run_with_iobinding(self, binding: IOBinding,
                           run_options: Optional[RunOptions] = None) -> None:
        """Runs on what is bound."""
        fetch = {name: array for name, array in binding._fetch.items() if array is not None}
        if self._waits:
            self._begin_with(binding._feed)
        made = self._run_into(binding._feed, fetch)
        results = made if isinstance(made, tuple) else (made,)
        binding._results = dict(zip(self._output_names, results))

    def run_with_ort_values(self, output_names: Optional[Sequence[str]],
                            input_dict_ort_values: dict[str, OrtValue],
                            run_options: Optional[RunOptions] = None) -> list[OrtValue]:
        """The same as run, on values."""
        feed = {name: value._array for name, value in input_dict_ort_values.items()}
        return [OrtValue(array) for array in self.run(output_names, feed, run_options)]

    def get_inputs(self) -> list[NodeArg]:
        """The inputs, as the model declares them."""
        return [NodeArg(*info) for info in self._model_inputs]

    def get_outputs(self) -> list[NodeArg]:
        """The outputs, as the model declares them."""
        return [NodeArg(*info) for info in self._model_outputs]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None: weights are constants of the plan."""
        return []

    def get_modelmeta(self) -> ModelMetadata:
        """Where the model came from."""
        return self._metadata

    def get_session_options(self) -> SessionOptions:
        """What the session was made with."""
        return self._session_options

    def get_providers(self) -> list[str]:
        """What runs the model."""
        return list(_PROVIDERS)

    def get_provider_options(self) -> dict[str, dict[str, Any]]:
        """None."""
        return {name: {} for name in _PROVIDERS}

    def set_providers(self, providers: Optional[Sequence[Any]] = None,
                      provider_options: Optional[Sequence[dict[str, Any]]] = None) -> None:
        """Checks that one of them is available."""
        _check_providers(providers)

    def disable_fallback(self) -> None:
        """There is none to disable."""

    def enable_fallback(self) -> None:
        """There is none to enable."""
