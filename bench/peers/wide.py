"""wide.py - `make peers ROWS=wide`: many architectures in Takt and in ONNX Runtime, in turns.

Rows are those of wide_models.py, exported by torch with random weights into build/peers/wide, and
the trained models of installed packages (wide_files.py); or with --models the files of a folder
(.onnx, or .hollow as hollow.py writes them). Each engine has
a process of its own for a row, and they take turns. Columns: both times, the ratio with its
interval, the verdict, the time to make a session and the memory of both; for a row behind, the
kind of step that loses most. Rows within 1.3 are measured beside OpenVINO too, where it is
installed. What cannot be imported, exported or loaded is named and counted.

    python3 bench/peers/wide.py [--quick] [--limit S] [--only NAME,..] [--group G,..]
                                [--threads N,..] [--models DIR] [--write DIR] [--list] [--out DIR]
"""
import argparse
import datetime
import glob
import json
import math
import os
import subprocess
import sys
import time

import engines
import lines
import wide_files
import wide_models
from machine import Statistics, cpu
from process import Failed, Process
from wide_table import kind_of, markdown, slug

RUNNER = os.path.join(engines.HERE, "run_session.py")
FOLDER = os.path.join(engines.OUT, "wide")
PACKAGES = ("onnxruntime", "torch", "torchvision", "timm", "transformers", "onnx", "onnxscript")
OPENVINO = os.path.join(engines.HERE, "run_openvino_session.py")
NEAR = 1.3  # rows beyond are not measured beside OpenVINO
TOLERANCE = 5e-3  # of the largest number: the weights are random, and networks deep


def options():
    parse = argparse.ArgumentParser(prog="make peers ROWS=wide", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    parse.add_argument("--limit", type=float, default=0,
                       help="seconds, then rows are left out; default 3600, quick 600")
    parse.add_argument("--only", default="", help="rows by name, comma-separated")
    parse.add_argument("--group", default="", help="groups of rows, comma-separated")
    parse.add_argument("--threads", default="", help="numbers of threads; default 1 and all")
    parse.add_argument("--models", help="a folder of .onnx and .hollow files instead of exports")
    parse.add_argument("--write", help="only export, hollow files into this folder")
    parse.add_argument("--list", action="store_true", help="the rows, and stop")
    parse.add_argument("--out", help="folder of the table; default bench/results for a whole run")
    return parse.parse_args()


def provide(arguments):
    """On the first interpreter that has numpy and onnxruntime: this one, or a virtual one. For
    exports what is missing is installed, into build/peers/venv, where registries are reached."""
    if not (engines.has("numpy") and engines.has("onnxruntime")) and \
            os.environ.get("PEERS_TRIED") is None:
        os.environ["PEERS_TRIED"] = "1"
        there = _venv(os.environ.get("TAKT_VENV") or os.path.join(engines.ROOT, "build", "venv"),
                      "numpy, onnxruntime" if arguments.models else "numpy, onnxruntime, torch")
        if there is None and not (arguments.models or os.environ.get("PEERS_NO_INSTALL")):
            os.makedirs(engines.OUT, exist_ok=True)
            engines.install(lambda text: print(f"wide: {text}", flush=True), PACKAGES)
        there = there or _venv(engines.VENV, "numpy, onnxruntime")
        if there:
            os.execv(there, [there, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    missing = [m for m in ("numpy", "onnxruntime") if not engines.has(m)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed, here or in build/venv")
        sys.exit(0)
    absent = [m for m in PACKAGES if not engines.has(m)]
    if absent and not arguments.models:
        print(f"wide: without {', '.join(absent)}: rows that need them are counted as failed")


def _venv(folder, modules):
    """Its interpreter, if that has the modules."""
    python = os.path.join(folder, "bin", "python")
    found = os.access(python, os.X_OK) and subprocess.run(
        [python, "-c", f"import {modules}"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0
    return python if found else None


# ---- files ----

class Row:
    def __init__(self, name, group, path=None, entry=None):
        self.name, self.group, self.path, self.entry = name, group, path, entry


def rows_of(arguments):
    only, groups = (set(filter(None, text.split(",")))
                    for text in (arguments.only, arguments.group))
    if arguments.models:
        found = []
        for path in sorted(glob.glob(os.path.join(arguments.models, "*"))):
            name, ending = os.path.splitext(os.path.basename(path))
            if ending in (".onnx", ".hollow"):
                found.append(Row(name, group_of(name), path))
        order = {e.name: k for k, e in enumerate(wide_models.ROWS)}
        found.sort(key=lambda r: (order.get(r.name, len(order)), r.name))
    else:
        found = [Row(e.name, e.group, entry=e) for e in wide_models.ROWS]
        found += [Row(name, "packages", path) for name, path in wide_files.models()[0]]
    unknown = only - {r.name for r in found} | groups - {r.group for r in found}
    if unknown:
        sys.exit(f"wide: there is no row or group {', '.join(sorted(unknown))}; --list names them")
    return [r for r in found if (not only or r.name in only)
            and (not groups or r.group in groups)]


def group_of(name):
    return next((e.group for e in wide_models.ROWS if e.name == name), "files")


def file_of(row):
    """The row's ONNX file, made if it has to be; exports stay for the next time."""
    if row.path and row.path.endswith(".onnx"):
        return row.path
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, row.name + (".filled.onnx" if row.path else ".onnx"))
    if row.path:
        import hollow
        with open(path, "wb") as file:
            file.write(hollow.read(row.path))
    elif not os.path.exists(path):
        # in a process of its own: exporters keep what they made
        code = ("import sys, wide_models as w; "
                "w.export(next(e for e in w.ROWS if e.name == sys.argv[1]), sys.argv[2])")
        done = subprocess.run([sys.executable, "-c", code, row.name, path + ".part"],
                              cwd=engines.HERE, capture_output=True, text=True, check=False,
                              timeout=300)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Failed(f"no export: {last[:160]}")
        os.replace(path + ".part", path)
    return path


def write_hollow(rows, folder):
    """Every export without its weights, and how many bytes they are."""
    import hollow
    os.makedirs(folder, exist_ok=True)
    total = failed = 0
    for row in rows:
        try:
            size = hollow.of_onnx(file_of(row), os.path.join(folder, row.name + hollow.ENDING))
            total += size
            print(f"{row.name:34} {size:9}", flush=True)
        except (Failed, ImportError, ValueError, subprocess.TimeoutExpired) as problem:
            failed += 1
            print(f"{row.name:34} {problem}", flush=True)
    print(f"{len(rows) - failed} files, {total} bytes; {failed} could not be made")


# ---- one row ----

class Mode:
    """A row has blocks (there and back) until it has enough of them and its time is over."""

    def __init__(self, quick):
        self.least, self.most = (4, 6) if quick else (8, 16)
        self.warm_ns, self.slice_ns = (5e6, 2e7) if quick else (2e7, 6e7)
        self.row_s = 1.0 if quick else 5.0


def difference(mine, other):
    import numpy as np
    a, b = (np.fromfile(path, np.float64) for path in (mine, other))
    if a.shape != b.shape:
        return math.inf
    if not np.isfinite(b).all():
        return 0.0 if np.array_equal(np.isfinite(a), np.isfinite(b)) else math.inf
    scale = np.abs(b).max(initial=0)
    return float(np.abs(a - b).max(initial=0) / (scale if scale > 0 else 1))


class Wide:
    def __init__(self, arguments):
        os.makedirs(FOLDER, exist_ok=True)
        self.mode, self.deadline = Mode(arguments.quick), 0
        self.statistics = Statistics(engines.statistics())
        self.log = open(os.path.join(FOLDER, "engines.log"), "wb")  # pylint: disable=R1732
        self.engines = [engines.Engine(name, RUNNER, name, "Python", [])
                        for name in ("takt", "onnxruntime")]
        self.openvino = [self.engines[0],
                         engines.Engine("openvino", OPENVINO, "openvino", "Python", [])] \
            if engines.has("openvino") else None

    def start(self, path, threads, pair=None):
        """A new process for each engine, what it took to load, and the answers' difference."""
        found, told, files = {}, {}, []
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

    def turns(self, found):
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
        found, told, error = self.start(path, threads)
        try:
            blocks = self.turns(found)
        finally:
            for process in found.values():
                process.close()
        mine, other = blocks["takt"], blocks["onnxruntime"]
        level = {name: sorted(of)[len(of) // 2] for name, of in blocks.items()}
        ratios = sorted(b / a for a, b in zip(mine, other))
        out = {"row": row.name, "group": row.group, "threads": threads, **level,
               "ratio": ratios[len(ratios) // 2], "error": error, "agree": error <= TOLERANCE,
               "best_ratio": min(other) / min(mine), "blocks": len(mine),
               **self.statistics.compare(mine, other)}
        for name, of in told.items():
            out[f"plan_ms_{name}"], out[f"memory_{name}"] = of["plan_ms"], of["memory"]
        if out["verdict"] == "slower":
            out["loses"] = self.loser(path, threads)
        if self.openvino and 1 / NEAR <= out["ratio"] <= NEAR:
            out["openvino"] = self.beside_openvino(path, threads)
        return out

    def beside_openvino(self, path, threads):
        """Its time, and the ratio to Takt's in the same turns; or why there is none."""
        try:
            found, _, error = self.start(path, threads, self.openvino)
        except Failed as problem:
            return {"problem": str(problem)[:160]}
        try:
            blocks = self.turns(found)
        finally:
            for process in found.values():
                process.close()
        ratios = sorted(b / a for a, b in zip(blocks["takt"], blocks["openvino"]))
        return {"us": sorted(blocks["openvino"])[len(ratios) // 2],
                "ratio": ratios[len(ratios) // 2], "error": error,
                **self.statistics.compare(blocks["takt"], blocks["openvino"])}

    def loser(self, path, threads):
        """Of the kinds of steps the one that takes so much longer than with onnxruntime."""
        tool = os.path.join(os.environ.get("BUILD") or os.path.join(
            engines.ROOT, "build", "release"), "takt")
        mine = subprocess.run([tool, "profile", "--json", "--threads", str(threads), path],
                              capture_output=True, text=True, check=False)
        other = subprocess.run([sys.executable, RUNNER, path, str(threads), "0.5"],
                               capture_output=True, text=True, check=False)
        if mine.returncode != 0 or other.returncode != 0:
            return {"problem": (mine.stderr or other.stderr).strip().splitlines()[-1:]}
        steps = json.loads(mine.stdout)["per_op"]
        return loser(steps, json.loads(other.stdout))

    def close(self):
        self.log.close()


def loser(steps, other):
    """Steps of `takt profile` beside microseconds of kinds of operators."""
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
    if not out["agree"]:
        text += f"  answers differ by {out['error']:.1e}"
    if "ratio" in out.get("openvino", {}):
        text += f"  openvino {out['openvino']['ratio']:.2f} {out['openvino']['verdict']}"
    lost = out.get("loses")
    if lost and "kind" in lost:
        text += (f"  {lost['kind']} {lost['takt_us']:.0f} against {lost['onnxruntime_us']:.0f} us:"
                 f" {lost['step']}")
    return text


def commit():
    done = subprocess.run(["git", "-C", engines.ROOT, "describe", "--always", "--dirty"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip()


def run(arguments, rows):
    wide = Wide(arguments)
    threads = sorted({int(t) for t in arguments.threads.split(",") if t}) or \
        sorted({1, len(os.sched_getaffinity(0))})
    wide.deadline = time.monotonic() + (arguments.limit or (600 if arguments.quick else 3600))
    result = {"made": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "commit": commit(), "cpu": cpu(), "quick": arguments.quick, "threads": threads,
              "rows": [], "left_out": [], "failed": [],
              "absent": [] if arguments.models else wide_files.models()[1]}
    try:
        for row in rows:
            if time.monotonic() > wide.deadline:
                result["left_out"].append(row.name)
                continue
            try:
                path = file_of(row)
                for count in threads:
                    if time.monotonic() > wide.deadline:
                        result["left_out"].append(f"{row.name} {count}T")
                        continue
                    result["rows"].append(wide.measure(row, path, count))
                    print(line(result["rows"][-1]), flush=True)
                if row.path and path != row.path:
                    os.remove(path)
            except (Failed, OSError, ValueError, subprocess.TimeoutExpired) as problem:
                result["failed"].append([row.name, str(problem)])
                print(f"{row.name:34} {problem}", flush=True)
    finally:
        wide.close()
    result["versions"] = {e.name: e.version for e in wide.engines + (wide.openvino or [])[1:]
                          if e.version}
    return result


def main():
    arguments = options()
    rows = rows_of(arguments)
    if arguments.list:
        for row in rows:
            print(f"{row.group:10} {row.name}")
        return 0
    provide(arguments)
    if arguments.write:
        write_hollow(rows, arguments.write)
        return 0
    try:
        result = run(arguments, rows)
    except engines.Missing as problem:
        sys.exit(f"wide: {problem}")
    whole = not (arguments.quick or arguments.only or arguments.group or arguments.models)
    folder = arguments.out or (os.path.join(engines.ROOT, "bench", "results") if whole
                               else engines.OUT)
    os.makedirs(folder, exist_ok=True)
    base = os.path.join(folder, f"wide-{slug(result['cpu'], max(result['threads']))}")
    lines.write(base + ".json", result)
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(markdown(result))
    print(markdown(result).split("\n\n")[1])
    print(f"table: {base}.md")
    return 0 if all(r["agree"] for r in result["rows"]) else 1


if __name__ == "__main__":
    sys.exit(main())
