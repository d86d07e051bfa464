"""tflite.py - `make peers ROWS=tflite`: TensorFlow Lite models and the zoo, alternately.

Rows are the models of $TAKT_DATA/tflite in Takt and LiteRT (XNNPACK), which run the same file; and
the zoo in integers (`takt zoo get`) and in floats (its text with the weights of its seed), where
onnxruntime runs the .onnx that Takt writes of it. One and all threads. Takt is called in C, the
others through Python, which costs LiteRT about 0.5 and onnxruntime about 2 us a run. Ratio = the
peer's time / Takt's; the verdict is that of the interval. Memory: what Takt's plan needs next to
the weights (its arena, in which scratch of more than 7 KiB lies too, inputs, and outputs that
find no room in the arena); of these the values alone, that is the inputs and the most bytes of
other values that any step holds at once (what the body of a loop computes is scratch of the
loop's step); and LiteRT's arena with its own kernels, which has no scratch in it.

    python3 bench/peers/tflite.py [--quick] [--threads N,..] [--only NAME,..]
"""
import argparse
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

import engines
from machine import Statistics
from process import Failed, Stable

TOOL = os.path.join(engines.ROOT, os.environ.get("BUILD", "build/release"), "takt")
DATA = os.path.join(os.environ.get("TAKT_DATA",
                                   os.path.join(engines.ROOT, "..", "shared", "data")), "tflite")
BLOCKS, WARM_NS, SLICE_NS = 6, 2e6, 1e7  # six blocks are the fewest with an interval of 95 %


def provide():
    """On the first interpreter that has both: this one, or the one in build/venv."""
    if engines.has("numpy") and engines.has("ai_edge_litert"):
        return
    python = os.path.join(os.environ.get("TAKT_VENV", os.path.join(engines.ROOT, "build", "venv")),
                          "bin", "python")
    if os.path.exists(python) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(python, [python, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print("skipped: numpy and ai-edge-litert are not installed in build/venv")
    sys.exit(0)


def command(*args):
    run = subprocess.run([TOOL, *args], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Failed(f"takt {' '.join(args[:2])}: {run.stderr.strip().splitlines()[0][:160]}")
    return run.stdout


# ---- rows ----

def rows(folder, only):
    """Names and files by engine; those of the zoo are written when their row begins."""
    for path in sorted(glob.glob(os.path.join(DATA, "*", "model.tflite"))):
        name = os.path.basename(os.path.dirname(path))
        if not only or name in only:
            yield name, lambda path=path: {"takt": path, "litert": path}
    for model in json.loads(command("zoo", "list", "--json")):
        for kind in ("int8", "f32"):
            name = f"zoo:{model['name']} {kind}"
            if not only or name in only or name.split()[0] in only:
                yield name, lambda m=model["name"], kind=kind: written(folder, m, kind)


def written(folder, name, kind):
    files = {}
    for ending in ("tflite", "onnx"):
        path = os.path.join(folder, f"{name}.{kind}.{ending}")
        if kind == "int8":
            command("zoo", "get", name, "-o", path)
        else:
            text = os.path.join(engines.ROOT, "zoo", name, f"{name}.takt")
            command("convert", text, "-o", path)
        files[ending] = path
    return {"takt": files["tflite"], "litert": files["tflite"], "onnxruntime": files["onnx"]}


def most_held(plan):
    """Bytes of values at the step that has most of them, without what aligns them, as LiteRT's
    arena is counted: inputs are there always, outputs from the step on that writes them."""
    inputs = sum(b["bytes"] for b in plan["buffers"] if b["place"] == "input")
    written = {}  # other values may lie in an output's memory before
    for b in plan["buffers"]:
        if b["place"] == "output":
            written[b["name"]] = max(b["first"], written.get(b["name"], -1))
    held = [(b["bytes"], b["first"],
             len(plan["steps"]) if b["first"] == written.get(b["name"]) else b["last"])
            for b in plan["buffers"] if b["place"] in ("arena", "output")]
    return inputs + max((sum(size for size, first, last in held if first <= step <= last)
                         for step in range(len(plan["steps"]))), default=0)


def planned(path, threads):
    """Bytes that the plan needs next to the weights, and those of values alone."""
    plan = json.loads(command("plan", "--json", "--threads", str(threads), path))
    return plan["memory"]["arena"] + plan["memory"]["io"], most_held(plan)


# ---- measuring ----

class Table:
    def __init__(self, log, blocks):
        library = os.path.join(os.path.dirname(TOOL), "libtakt.a")
        runner = engines.build("run_file.c", "-I", os.path.join(engines.ROOT, "include"), library,
                               "-lm", "-lpthread", parts=[library])
        here = engines.HERE
        self.engines = [engines.Engine("takt", runner, "", "C", []),
                        engines.Engine("litert", os.path.join(here, "run_tflite.py"), "", "", [])]
        if engines.has("onnxruntime"):
            self.engines.append(engines.Engine("onnxruntime", os.path.join(here, "run_session.py"),
                                               "onnxruntime", "Python", []))
        self.stable, self.blocks = Stable(log), blocks
        self.statistics = Statistics(engines.statistics())
        self.tally = {}

    def loaded(self, files, threads):
        """Processes by engine; a peer that cannot run the file is skipped and named."""
        found, told, problems = {}, {}, []
        for engine in self.engines:
            if engine.name not in files:
                continue
            try:
                process = self.stable.get(engine, threads)
                told[engine.name] = process.ask(do="load", folder=files[engine.name],
                                                threads=threads)
                found[engine.name] = process
            except Failed as problem:
                if engine.name == "takt":
                    raise
                problems.append(f"{engine.name}: {str(problem)[:60]}")
        return found, told, problems

    def rounds(self, found):
        """Medians of blocks in microseconds; every engine runs there and back in each."""
        names, blocks = list(found), {name: [] for name in found}
        for _ in range(self.blocks):
            samples = {name: [] for name in names}
            for name in names + names[::-1]:
                samples[name] += found[name].ask(do="time", warm=WARM_NS,
                                                 budget=SLICE_NS)["samples"]
            for name in names:
                blocks[name].append(sorted(samples[name])[len(samples[name]) // 2] / 1e3)
        return blocks

    def measure(self, name, files, threads):
        found, told, problems = self.loaded(files, threads)
        blocks = self.rounds(found)
        level = {k: sorted(v)[len(v) // 2] for k, v in blocks.items()}
        text = f"{name:34} {threads:2} {level['takt']:9.1f}"
        for peer in ("litert", "onnxruntime"):
            if peer not in level:
                text += f" {'-':>9} {'':6} {'':12}"
                continue
            ratio = level[peer] / level["takt"]
            verdict = self.statistics.compare(blocks["takt"], blocks[peer])["verdict"]
            text += f" {level[peer]:9.1f} {ratio:6.2f} {verdict:12}"
            self.count((peer, threads), ratio, verdict)
        mine, values = planned(files["takt"], threads)
        arena = told.get("litert", {}).get("arena", 0)
        self.tally.setdefault(("memory", threads), []).append((mine, values, arena))
        text += f" {mine / 1024:8.1f} {values / 1024:8.1f} {arena / 1024:8.1f}"
        return f"{text}  {'; '.join(problems)}".rstrip()

    def count(self, key, ratio, verdict):
        self.tally.setdefault(key, []).append((ratio, verdict))

    def summary(self):
        for (what, threads), of in sorted(self.tally.items()):
            if what == "memory":
                known = [row for row in of if row[2] > 0]
                less, fewer = (sum(row[i] <= row[2] for row in known) for i in (0, 1))
                yield (f"{threads}T memory: at most LiteRT's arena on {less} of {len(known)}, "
                       f"values alone on {fewer}")
                continue
            words = [word for _, word in of]
            mean = math.exp(sum(math.log(ratio) for ratio, _ in of) / len(of))
            told = ", ".join(f"{words.count(w)} {w}" for w in
                             ("faster", "same", "inconclusive", "slower") if w in words)
            yield (f"{threads}T against {what}: {len(of)} rows, {told}; geometric mean {mean:.2f}, "
                   f"least {min(r for r, _ in of):.2f}")


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--quick", action="store_true", help="two blocks a row: no verdicts")
    parse.add_argument("--threads", default="", help="numbers of threads; default 1 and all")
    parse.add_argument("--only", default="")
    args = parse.parse_args()
    provide()
    threads = sorted({int(t) for t in args.threads.split(",") if t}) or \
        sorted({1, len(os.sched_getaffinity(0))})
    os.makedirs(engines.OUT, exist_ok=True)
    print(f"{'model':34} {'T':>2} {'takt us':>9} {'litert':>9} {'ratio':>6} {'':12} "
          f"{'onnxrt':>9} {'ratio':>6} {'':12} {'KiB':>8} {'values':>8} {'litert':>8}")
    with tempfile.TemporaryDirectory() as folder, \
            open(os.path.join(engines.OUT, "tflite.log"), "wb") as log:
        table, failed = Table(log, 2 if args.quick else BLOCKS), 0
        try:
            for name, files_of in rows(folder, set(filter(None, args.only.split(",")))):
                for count in threads:
                    try:
                        print(table.measure(name, files_of(), count), flush=True)
                    except Failed as problem:
                        failed += 1
                        print(f"{name:34} {count:2} {str(problem)[:120]}", flush=True)
        finally:
            table.stable.close()
        print("\n".join(table.summary()))
        if failed:
            print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
