"""wide_row.py - one row of ROWS=wide: both engines in separate processes, alternating."""
import json
import math
import os
import subprocess
import sys
import time

import engines
import run_session
import wide_files
from machine import Statistics
from process import Failed, Process
from wide_table import kind_of

RUNNER = os.path.join(engines.HERE, "run_session.py")
FOLDER = os.path.join(engines.OUT, "wide")
# Peers that rows within NEAR are also measured against, if all modules are installed.
OTHERS = {"openvino": ("run_openvino_session.py", ("openvino",)),
          "ncnn": ("run_ncnn_session.py", ("ncnn", "pnnx")),
          "torch.compile": ("run_compiled.py", ("torch",))}
NEAR = 1.3
TOLERANCE = 5e-3  # of the largest number: the weights are random, and networks deep
# where 8-bit levels are computed in every run: the last bit of a float moves some of them, and a
# network may be as far from itself, with and without ONNX Runtime's optimisations
LEVELS = 2e-2


class Mode:
    """A row gets ABBA blocks until it has enough of them and its time is over. `each`: seconds that
    the limit leaves for a row; with little time rounds are shorter. Six blocks are the fewest whose
    interval can hold at 95 %."""

    def __init__(self, quick, each=math.inf):
        is_short = each < 10
        self.least, self.most = (4, 6) if quick else (6 if is_short else 8, 16)
        self.warm_ns, self.slice_ns = \
            (5e6, 2e7) if quick else (1e7, 3e7) if is_short else (2e7, 6e7)
        self.row_s = min(1.0, max(0.3, each / 4)) if quick else min(5.0, max(1.0, each / 3))


def tool():
    return os.path.join(os.environ.get("BUILD") or os.path.join(engines.ROOT, "build", "release"),
                        "takt")


def sizes_of(path):
    """Sizes for the named dimensions of the inputs, as PEERS_SIZES has them: planning for them is
    part of making a session, for both engines."""
    told = subprocess.run([tool(), "inspect", "--json", path], capture_output=True, text=True,
                          check=False)
    if told.returncode != 0:
        return ""
    found = {}
    for port in json.loads(told.stdout)["inputs"]:
        for axis, size in enumerate(port["shape"]):
            if isinstance(size, str) and "`" not in size:  # which is not the name of a dimension
                found.setdefault(size, run_session.guess(size, axis, len(port["shape"])))
    return ",".join(f"{name}={size}" for name, size in found.items())


def difference(mine, other):
    import numpy as np
    a, b = (np.fromfile(path, np.float64) for path in (mine, other))
    if a.shape != b.shape:
        return math.inf
    if not np.isfinite(b).all():
        return 0.0 if np.array_equal(np.isfinite(a), np.isfinite(b)) else math.inf
    scale = np.abs(b).max(initial=0)
    return float(np.abs(a - b).max(initial=0) / (scale if scale > 0 else 1))


def tolerance(path):
    with open(path, "rb") as file:
        return LEVELS if b"DynamicQuantize" in file.read() else TOLERANCE


class Wide:
    def __init__(self, mode, others="all"):
        os.makedirs(FOLDER, exist_ok=True)
        self.mode, self.given = mode, os.environ.get("PEERS_SIZES", "")
        self.statistics = Statistics(engines.statistics())
        self.log = open(os.path.join(FOLDER, "engines.log"), "wb")  # pylint: disable=R1732
        self.engines = [engines.Engine(name, RUNNER, name, "Python", [])
                        for name in ("takt", "onnxruntime")]
        self.others = [name for name, (_, modules) in OTHERS.items()
                       if (others == "all" or name in others.split(","))
                       and all(map(engines.has, modules))]
        self.seen = {}

    def start(self, row, path, threads, pair=None):
        """A new process for each engine, its load time, and the difference of the answers."""
        found, told, files = {}, {}, []
        fixed = wide_files.SIZES.get(row.name, "")
        os.environ["PEERS_SIZES"] = self.given or ",".join(filter(None, (sizes_of(path), fixed)))
        try:
            for engine in pair or self.engines:
                process = found[engine.name] = Process(engine, threads, self.log)
                try:
                    told[engine.name] = process.ask(do="load", folder=path, threads=threads)
                    files.append(os.path.join(FOLDER, f"answer-{os.getpid()}-{engine.name}.bin"))
                    process.ask(do="output", path=files[-1])
                except Failed as problem:
                    raise Failed(f"{engine.name}: {problem}") from problem
        except Failed:
            for process in found.values():
                process.close()
            raise
        return found, told, difference(*files)

    def rounds(self, found):
        """Medians of blocks, in microseconds."""
        names, start = list(found), time.monotonic()
        blocks = {name: [] for name in names}
        while len(blocks["takt"]) < self.mode.most:
            if len(blocks["takt"]) >= self.mode.least and \
                    time.monotonic() - start > self.mode.row_s:
                break
            samples = {name: [] for name in names}
            for name in names + names[::-1]:
                samples[name] += found[name].ask(do="time", warm=self.mode.warm_ns,
                                                 budget=self.mode.slice_ns)["samples"]
            for name in names:
                blocks[name].append(sorted(samples[name])[len(samples[name]) // 2] / 1e3)
            names.reverse()
        return blocks

    def measure(self, row, path, threads):
        found, told, error = self.start(row, path, threads)
        try:
            blocks = self.rounds(found)
        finally:
            for process in found.values():
                process.close()
        mine, other = blocks["takt"], blocks["onnxruntime"]
        level = {name: sorted(of)[len(of) // 2] for name, of in blocks.items()}
        ratios = sorted(b / a for a, b in zip(mine, other))
        out = {"row": row.name, "group": row.group, "threads": threads, **level,
               "ratio": ratios[len(ratios) // 2], "error": error, "agree": error <= tolerance(path),
               "best_ratio": min(other) / min(mine), "blocks": len(mine),
               **self.statistics.compare(mine, other)}
        if not out["agree"] and tolerance(path) == LEVELS:
            self.compare_with_own(out, row, path)
        for name, of in told.items():
            out[f"plan_ms_{name}"], out[f"memory_{name}"] = of["plan_ms"], of["memory"]
        if out["verdict"] == "slower":
            out["loses"] = self.loser(path, threads)
        if 1 / NEAR <= out["ratio"] <= NEAR:
            for name in self.others:
                if name != "torch.compile" or row.group not in ("packages", "files"):
                    out[name] = self.against(name, row, path, threads)
        return out

    def compare_with_own(self, out, row, path):
        """Takt may be as far from ONNX Runtime as that is from itself, if that is known."""
        try:
            out["own_error"] = self.own_error(row, path, out["threads"])
        except Failed as problem:
            out["own_problem"] = str(problem)[:160]
            return
        out["agree"] = out["error"] <= out["own_error"] < math.inf

    def own_error(self, row, path, threads):
        """How far ONNX Runtime's answers are from its own without optimisations."""
        plain = engines.Engine("plain", RUNNER, "onnxruntime:plain", "Python", [])
        found, _, error = self.start(row, path, threads, [plain, self.engines[1]])
        for process in found.values():
            process.close()
        return error

    def against(self, name, row, path, threads):
        """Its time, and the ratio to Takt's in the same rounds; or why there is none."""
        runner, modules = OTHERS[name]
        library = row.name if name == "torch.compile" else modules[0]
        other = engines.Engine(name, os.path.join(engines.HERE, runner), library, "Python", [])
        try:
            found, _, error = self.start(row, path, threads, [self.engines[0], other])
        except Failed as problem:
            return {"problem": str(problem)[:160]}
        try:
            is_same = name != "torch.compile" or row.entry  # else the weights are drawn again
            if is_same and error > tolerance(path):
                return {"problem": f"{name}: answers differ by {error:.1e}"}
            blocks = self.rounds(found)
        except Failed as problem:
            return {"problem": str(problem)[:160]}
        finally:
            for process in found.values():
                process.close()
        self.seen[name] = other.version
        ratios = sorted(b / a for a, b in zip(blocks["takt"], blocks[name]))
        return {"us": sorted(blocks[name])[len(ratios) // 2],
                "ratio": ratios[len(ratios) // 2], "error": error,
                **self.statistics.compare(blocks["takt"], blocks[name])}

    def loser(self, path, threads):
        """The kind of step that loses most time against onnxruntime."""
        sizes = [part for size in os.environ["PEERS_SIZES"].split(",") if size
                 for part in ("--dim", size)]
        mine = subprocess.run([tool(), "profile", "--json", "--threads", str(threads), *sizes,
                               path], capture_output=True, text=True, check=False)
        other = subprocess.run([sys.executable, RUNNER, path, str(threads), "0.5"],
                               capture_output=True, text=True, check=False)
        if mine.returncode != 0 or other.returncode != 0:
            return {"problem": (mine.stderr or other.stderr).strip().splitlines()[-1:]}
        steps = json.loads(mine.stdout)["per_op"]
        return loser(steps, json.loads(other.stdout))

    def versions(self):
        return {**{e.name: e.version for e in self.engines if e.version}, **self.seen}

    def close(self):
        self.log.close()


def loser(steps, other):
    """Steps of `takt profile` with microseconds of kinds of operators."""
    here, there = {}, {}
    for step in steps:
        kind = kind_of(step["type"])
        here[kind] = here.get(kind, 0) + step["time_us"]
    for name, took in other.items():
        there[kind_of(name)] = there.get(kind_of(name), 0) + took
    kind = max(here, key=lambda k: here[k] - there.get(k, 0))
    step = max((s for s in steps if kind_of(s["type"]) == kind), key=lambda s: s["time_us"])
    return {"kind": kind, "takt_us": here[kind], "onnxruntime_us": there.get(kind, 0),
            "step": step["name"], "kernel": step.get("kernel", "")}


def line(out):
    low, high = out["interval"] or (math.nan, math.nan)
    text = (f"{out['row'][:34]:34} {out['threads']:3} {out['takt']:10.1f} "
            f"{out['onnxruntime']:10.1f} {out['ratio']:6.2f} [{low:.2f}, {high:.2f}] "
            f"{out['verdict']:12} plan {out['plan_ms_takt']:.0f}/{out['plan_ms_onnxruntime']:.0f} "
            f"MB {out['memory_takt'] / 1e6:.0f}/{out['memory_onnxruntime'] / 1e6:.0f}")
    if not out["agree"] or "own_error" in out:
        text += f"  answers differ by {out['error']:.1e}"
    if "own_error" in out:
        text += f", onnxruntime's own by {out['own_error']:.1e}"
    for name in OTHERS:
        if "ratio" in out.get(name, {}):
            text += f"  {name} {out[name]['ratio']:.2f} {out[name]['verdict']}"
    lost = out.get("loses")
    if lost and "kind" in lost:
        text += (f"  {lost['kind']} {lost['takt_us']:.0f} against {lost['onnxruntime_us']:.0f} us:"
                 f" {lost['step']}")
    return text
