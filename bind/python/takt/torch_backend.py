"""torch_backend.py - ``torch.compile(module, backend="takt")``.

TorchDynamo and AOTAutograd turn a module's forward, and in training its backward, into a graph of
ATen's operations. Operations with a counterpart in Takt become models that are planned and run
here; the others stay in torch and are listed: ``takt.torch_backend.reports()``, and the logger
``takt.torch``.

    options={"threads": 1}     options of a plan, as takt.compile takes them
    options={"freeze": False}  weights are read in every call, even in inference
"""
from __future__ import annotations

import logging
import threading
from collections import deque, namedtuple
from operator import attrgetter

import torch

from ._aten import CONVERTERS
from ._compile import compile as _compile
from ._model import loads
from ._torch_graph import Lowered, Output, lower, why_not
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Sequence

__all__ = ["Report", "clear_reports", "compile_graph", "reports", "takt"]

_log = logging.getLogger("takt.torch")
_reports: "deque[Report]" = deque(maxlen=256)
_POINTER, _VERSION = torch.Tensor.data_ptr, attrgetter("_version")
_MOST_CHANGES = 2  # of frozen weights, before they are read in every call
_VIEWS = {"view", "expand", "permute", "t", "transpose", "unsqueeze", "squeeze", "slice", "select",
          "split", "split_with_sizes", "alias", "detach", "getitem", "sym_size", "_unsafe_view"}


class Report(namedtuple("Report", "graph nodes regions left")):
    """Report on one graph: its operations, how many models run them, and which remain in torch.

    `left` has a reason for each of those.
    """

    __slots__ = ()

    @property
    def is_whole(self) -> bool:
        """Whether Takt runs all of it."""
        return not self.left


def reports() -> "list[Report]":
    """Reports of the graphs that were compiled last, the oldest first."""
    return list(_reports)


def clear_reports() -> None:
    """Forgets them."""
    _reports.clear()


# ---- running ----

class _Ready:
    """A session for one set of shapes, and the weights that it was made with."""

    def __init__(self, graph: "torch.fx.GraphModule", args: "Sequence[Any]", frozen: "set[int]",
                 name: str, options: "dict[str, Any]"):
        self.frozen = sorted(i for i in frozen if isinstance(args[i], torch.Tensor))
        # Inference tensors have no version.
        self.counted = [i for i in self.frozen if not args[i].is_inference()]
        self.marks = self._marks(args)
        made: Lowered = lower(graph, args, set(self.frozen), name)
        self.inputs, self.results = made.inputs, made.results
        self.single = sum(isinstance(it, Output) for it in self.results) == 1
        self.session = _compile(made.model, **options) if any(
            isinstance(it, Output) for it in self.results) else None

    def _marks(self, args: "Sequence[Any]") -> "list[Any]":
        # Read in every call, of hundreds of weights: `map` takes half the time of a loop.
        return [*map(_POINTER, [args[i] for i in self.frozen]),
                *map(_VERSION, [args[i] for i in self.counted])]

    def is_stale(self, args: "Sequence[Any]") -> bool:
        """Whether weights have changed since."""
        return bool(self.frozen) and self._marks(args) != self.marks

    def run(self, args: "Sequence[Any]") -> "tuple[Any, ...]":
        """The results, in the order of the graph."""
        if self.session is None:
            return tuple(self.results)
        feed = {name: args[at].detach() for at, name in self.inputs}
        made = self.session(**feed)
        given = iter((made,) if self.single else made)
        return tuple(torch.from_dlpack(next(given)) if isinstance(it, Output) else it
                     for it in self.results)


class _Region(torch.nn.Module):
    """A graph, or a part of one, that Takt runs; torch runs it if that fails."""

    def __init__(self, graph: "torch.fx.GraphModule", frozen: "set[int]", name: str,
                 options: "dict[str, Any]"):
        super().__init__()
        self.graph_module, self.frozen, self.name, self.options = graph, frozen, name, options
        self.lock = threading.Lock()
        self.ready: dict[Any, Any] = {}
        self.changes = 0
        last = list(graph.graph.nodes)[-1]
        self.returns_tuple = isinstance(last.args[0], (list, tuple))
        self.varies = any(isinstance(n.meta.get("val"), torch.SymInt)
                          for n in graph.graph.nodes if n.op == "placeholder")

    def _key(self, args: "Sequence[Any]") -> Any:
        return tuple(tuple(x.shape) if isinstance(x, torch.Tensor) else int(x) for x in args) \
            if self.varies else None

    def _prepare(self, key: Any, args: "Sequence[Any]") -> Any:
        if key in self.ready:
            self.changes += 1
            if self.changes >= _MOST_CHANGES:
                self.frozen = set()
        try:
            return _Ready(self.graph_module, args, self.frozen, self.name, self.options)
        except Error as error:
            _log.warning("%s stays in torch: %s", self.name, error)
            _reports.append(Report(self.name, 0, 0, {self.name: str(error)}))
            return False

    def forward(self, *args: Any) -> Any:
        """The results of the graph."""
        with self.lock:
            key = self._key(args)
            ready = self.ready.get(key)
            if ready is None or ready is not False and ready.is_stale(args):
                ready = self.ready[key] = self._prepare(key, args)
            if ready is not False:
                made = ready.run(args)
                return made if self.returns_tuple else made[0]
        return self.graph_module(*args)


# ---- partition ----

def _calls(graph: "torch.fx.GraphModule") -> "list[Any]":
    return [node for node in graph.graph.nodes if node.op in ("call_function", "call_module")]


def _short(node: Any) -> str:
    name = str(node.target)
    return name.split(".")[1] if name.startswith("aten.") else \
        getattr(node.target, "__name__", name)


def _partition(graph: "torch.fx.GraphModule", left: "dict[Any, str]", frozen: "set[int]",
               name: str, options: "dict[str, Any]") -> "tuple[torch.fx.GraphModule, int]":
    """The graph with the parts that Takt can run replaced by models."""
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import OperatorSupportBase

    class Support(OperatorSupportBase):
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            source = node.args[0] if str(node.target).endswith("getitem>") else node
            return node.op == "call_function" and source not in left and node not in left

    partitioner = CapabilityBasedPartitioner(graph, Support(), allows_single_node_partition=True)
    parts = [part for part in partitioner.propose_partitions()
             if any(_short(node) not in _VIEWS for node in part.nodes)]
    fused = partitioner.fuse_partitions(parts)
    places = [node for node in fused.graph.nodes if node.op == "placeholder"]
    count = 0
    for node in fused.graph.nodes:
        if node.op != "call_module":
            continue
        part: Any = fused.get_submodule(node.target)
        held = {i for i, arg in enumerate(node.args)
                if arg in places and places.index(arg) in frozen}
        setattr(fused, node.target, _Region(part, held, f"{name}.{count}", options))
        count += 1
    fused.recompile()
    return fused, count


def _left(graph: "torch.fx.GraphModule") -> "dict[Any, str]":
    """Nodes that torch must run, with reasons."""
    found = {}
    for node in graph.graph.nodes:
        if node.op in ("call_function", "get_attr"):
            why = why_not(graph, node)
            if why is not None:
                found[node] = why
        elif node.op not in ("placeholder", "output"):
            found[node] = f"{node.op} {node.target}"
    return found


def compile_graph(graph: "torch.fx.GraphModule", frozen: "set[int]", name: str,
                  options: "dict[str, Any]") -> "Callable[..., Any]":
    """A graph of ATen's operations as a function; arguments in `frozen` are weights."""
    left = _left(graph)
    reasons = {str(node.target): why for node, why in left.items()}
    run: Any
    if left:
        run, count = _partition(graph, left, frozen, name, options)
        _log.warning("%s: %d of %d operations stay in torch: %s", name, len(left),
                     len(_calls(graph)), "; ".join(sorted(set(reasons.values()))))
    else:
        run, count = _Region(graph, frozen, name, options), 1
    _reports.append(Report(name, len(_calls(graph)), count, reasons))
    return run


# ---- the backend ----

_ALSO = ("upsample_nearest1d", "upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d",
         "native_batch_norm", "native_batch_norm_backward", "_native_batch_norm_legit",
         "_native_batch_norm_legit_functional",
         "native_layer_norm_backward", "native_group_norm_backward", "grid_sampler_2d",
         "pixel_shuffle", "pixel_unshuffle", "roll", "linspace", "binary_cross_entropy")


def decompositions() -> "dict[Any, Callable[..., Any]]":
    """How operations without a counterpart are decomposed into those that have one."""
    from torch._decomp import core_aten_decompositions, get_decompositions
    ops = torch.ops.aten
    table = dict(core_aten_decompositions())
    table.update(get_decompositions([getattr(ops, name) for name in _ALSO if hasattr(ops, name)]))
    return {op: how for op, how in table.items() if str(op) not in CONVERTERS}


def _static_inputs() -> "set[int]":
    """Which inputs of the graph are weights of modules."""
    context = torch._guards.TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return set()
    return set(context.fw_metadata.static_input_indices or ())


def takt(graph: "torch.fx.GraphModule", inputs: "Sequence[Any]", *,
         options: "Optional[dict[str, Any]]" = None, **more: Any) -> "Callable[..., Any]":
    """The backend: what ``torch.compile(module, backend="takt")`` calls with its graphs."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    given = dict(options or {})
    freeze = bool(given.pop("freeze", True))
    given.setdefault("threads", torch.get_num_threads())
    _compile(loads("model none(x: f32[1]) { return x }"), **given)  # rejects wrong options

    def compiler(name: str, holds: bool) -> "Callable[..., Any]":
        def compile_it(module: "torch.fx.GraphModule", _: Any) -> Any:
            frozen = _static_inputs() if holds and freeze else set()
            with unset_fake_temporarily():  # constants of the graph are real tensors
                return make_boxed_func(compile_graph(module, frozen, name, given))
        return compile_it

    made = aot_autograd(fw_compiler=compiler("forward", False),
                        bw_compiler=compiler("backward", False),
                        inference_compiler=compiler("inference", True),
                        decompositions=decompositions())
    return made(graph, inputs)
