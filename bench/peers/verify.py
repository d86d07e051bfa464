"""verify.py - `make peers ROWS=verify`: linear bounds of Takt against those of auto_LiRPA.

Widths are compared with the bounds that are stored in ../shared/data/vnn, or, where there are none,
with what auto_LiRPA 0.7.1 gave once (MEASURED). Where it is installed it is timed in the same run,
otherwise its rows are skipped and counted. The property is the box with a clause that no bound
proves, because `alpha` ends as soon as everything is proved. `reached` says whether a row keeps its
bars: width at most 1.01 times the stored one, milliseconds, the smallest of
three runs, and 2.5 times auto_LiRPA's speed where it runs. A second table has the seconds of proofs
and of their checks (--check), which are to take no longer. A third has what clauses cost in a run,
at most 2 %, the model with them and without them in turn (`takt benchmark compare`), and what the
intervals of all values of ResNet-50 cost (`takt check`), at most 4 runs. Models have random
weights; MiniLM is its shape, six layers of 384 with a table of 30,522."""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, os.environ.get("BUILD", "build/release"), "takt")
DATA = os.path.join(os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data")), "vnn")
ROWS = [("acasxu/ACASXU_run2a_1_1_batch_2000.onnx", "acasxu/prop_3.vnnlib"),
        ("mnistfc/mnist-net_256x2.onnx", "mnistfc/prop_0_0.03.vnnlib"),
        ("mnistfc/mnist-net_256x4.onnx", "mnistfc/prop_0_0.03.vnnlib"),
        ("mnistfc/mnist-net_256x6.onnx", "mnistfc/prop_0_0.03.vnnlib"),
        ("eran/nets/ffnnSIGMOID__Point_6x200.onnx",
         "eran/specs/mnist/mnist_spec_idx_7167_eps_0.01200.vnnlib")]
MOST_MS = {"crown": (0.7, 3, 10, 22, 20), "alpha": (40, 200, 700, 1600, 1200)}
WIDTH, SPEED, ROUNDS = 1.01, 2.5, 3
# Of the file as it is; f32, torch 2.8, 20 iterations at rate 0.1. Without the file's first two
# nodes, which scale the image, CROWN gives 1.864 and alpha 0.944 (bench/notes/verify.md).
MEASURED = {("eran/nets/ffnnSIGMOID__Point_6x200.onnx", "CROWN"): 8.6142,
            ("eran/nets/ffnnSIGMOID__Point_6x200.onnx", "CROWN-Optimized"): 4.2464}
CHECKED = [("acasxu/ACASXU_run2a_1_7_batch_2000.onnx", "acasxu/prop_2.vnnlib"),
           ("acasxu/ACASXU_run2a_1_9_batch_2000.onnx", "acasxu/prop_2.vnnlib"),
           ("acasxu/ACASXU_run2a_1_1_batch_2000.onnx", "acasxu/prop_3.vnnlib")]
MINILM = """model minilm(ids: i64[1, 128]) -> f32[1, 384] seed=3 {
  h = layer_norm(embedding(ids, 30522, 384))
  repeat 6 {
    h = transformer_block(h, heads=12, hidden=1536, norm_first=false)
  }
  return reduce_mean(h, axes=[1])
}
"""
RESULT = "  {y} = {value}\n  ensure finite({y})\n  return {y}"
SUMS_TO_1 = "  p = {value}\n  ensure abs(reduce_sum(p, axes=[-1]) - 1) <= 1e-5\n  return p"
# Name, text or file, batch size, and the replacement of the last line.
CLAUSES = [("ResNet-50", "bench/models/resnet50.takt", 1, "  return class = ", RESULT),
           ("MiniLM", MINILM, None, "  return ", RESULT),
           ("MLP, batch 32", "examples/mlp.takt", 32, "  return ", SUMS_TO_1)]
BOX = '  require abs(image) <= 3, "scaled"\n'  # without it the bounds would all be NaN
MOST_CLAUSES, MOST_RUNS = 1.02, 4
METHODS = (("ibp", "IBP"), ("crown", "CROWN"), ("alpha", "CROWN-Optimized"))


def stored():
    bounds = {}
    for name in ("lirpa_bounds.json.gz", "lirpa_alpha.json.gz"):
        with gzip.open(os.path.join(DATA, name), "rt") as file:
            bounds.update(json.load(file)["bounds"])
    return bounds


def width(entry):
    return sum(u - l for l, u in zip(entry["lower"], entry["upper"])) / len(entry["upper"])


def only_box(spec):
    """The box of a property, and a clause that no bound proves."""
    with gzip.open(os.path.join(DATA, spec + ".gz"), "rt") as file:
        lines = [line for line in file if line.startswith(("(declare-", "(assert (<= X_",
                                                           "(assert (>= X_"))]
    return "".join(lines) + "(assert (>= Y_0 -1e9))\n"


def takt(net, spec, method):
    with tempfile.NamedTemporaryFile("w", suffix=".vnnlib") as file:
        file.write(only_box(spec))
        file.flush()
        run = subprocess.run([TOOL, "verify", os.path.join(DATA, net), "--property", file.name,
                              "--method", method, "--arithmetic", "real", "--threads", "1",
                              "--json"], capture_output=True, text=True, check=False)
    if run.returncode not in (0, 5):
        sys.exit(f"takt verify {net}: {run.stderr}")
    return json.loads(run.stdout)


def lirpa(net, spec, method):
    """Seconds and width of auto_LiRPA, or None where it is not installed."""
    try:
        import onnx2pytorch  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        import torch  # pylint: disable=import-outside-toplevel
        from auto_LiRPA import (  # pylint: disable=import-outside-toplevel
            BoundedModule, BoundedTensor, PerturbationLpNorm)
        import onnx  # pylint: disable=import-outside-toplevel
    except ImportError:
        return None
    lo, hi = {}, {}
    with gzip.open(os.path.join(DATA, spec + ".gz"), "rt") as file:
        for line in file:
            words = line.replace("(", " ").replace(")", " ").split()
            if len(words) == 4 and words[0] == "assert" and words[2].startswith("X_"):
                (hi if words[1] == "<=" else lo)[int(words[2][2:])] = float(words[3])
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # theirs, about nets; after imports that set others
    model = onnx2pytorch.ConvertModel(onnx.load(os.path.join(DATA, net)))
    shape = [d.dim_value or 1 for d in
             onnx.load(os.path.join(DATA, net)).graph.input[0].type.tensor_type.shape.dim]
    low = torch.tensor([lo[i] for i in range(len(lo))]).reshape(shape)
    high = torch.tensor([hi[i] for i in range(len(hi))]).reshape(shape)
    x = BoundedTensor(0.5 * (low + high), PerturbationLpNorm(x_L=low, x_U=high))
    bounded = BoundedModule(model, 0.5 * (low + high))
    times = []
    for _ in range(1 if "Optimized" in method else ROUNDS):  # slopes take seconds
        start = time.perf_counter()
        lower, upper = bounded.compute_bounds(x=(x,), method=method)
        times.append(time.perf_counter() - start)
    return min(times), float((upper - lower).detach().mean())


def run_json(*arguments):
    run = subprocess.run([TOOL, "verify", *arguments, "--threads", "1", "--json"],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"takt verify {' '.join(arguments)}: {run.stdout}{run.stderr}")
    return json.loads(run.stdout)["seconds"]


def checks():
    """Seconds of proofs, without their certificates, and of checks; one thread, best of three."""
    print(f"{'net':44} {'property':18} {'proof s':>9} {'check s':>9} reached")
    with tempfile.TemporaryDirectory() as folder:
        proof = os.path.join(folder, "proof.cert")
        for net, spec in CHECKED:
            given = (os.path.join(DATA, net), "--property", os.path.join(DATA, spec + ".gz"))
            times = [(run_json(*given, "--certificate", proof), run_json(*given, "--check", proof))
                     for _ in range(ROUNDS)]
            made, checked = (min(column) for column in zip(*times))
            print(f"{net[-44:]:44} {spec[-18:]:18} {made:9.3f} {checked:9.3f} "
                  f"{'yes' if checked <= made else 'NO'}", flush=True)


def tool_json(*arguments):
    run = subprocess.run([TOOL, *arguments, "--threads", "1", "--json"], capture_output=True,
                         text=True, check=False)
    if run.stdout[:1] != "{":
        sys.exit(f"takt {' '.join(arguments)}: {run.stderr}")
    return json.loads(run.stdout)


def with_clauses(text, last, becomes):
    """The model with clauses about its result."""
    lines = text.split("\n")
    at = max(i for i, line in enumerate(lines) if line.startswith(last))
    lines[at] = becomes.format(y="y", value=lines[at][len(last):])
    return "\n".join(lines).replace("(class: f32[batch, 1000])", "f32[batch, 1000]")


def costs():
    """What clauses and intervals cost, in multiples of a run without them."""
    print(f"{'model':16} {'what':20} {'run us':>12} {'with it us':>12} {'ratio':>7} {'bar':>5} "
          f"reached")

    def row(model, what, run, with_it, bar):
        print(f"{model:16} {what:20} {run:12.1f} {with_it:12.1f} {with_it / run:7.4f} {bar:5} "
              f"{'yes' if with_it <= bar * run else 'NO'}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for name, text, batch, last, becomes in CLAUSES:
            if text.endswith(".takt"):
                with open(os.path.join(ROOT, text), encoding="ascii") as file:
                    text = file.read()
            files = [os.path.join(folder, f"{kind}.takt") for kind in ("plain", "clauses")]
            for path, body in zip(files, (text, with_clauses(text, last, becomes))):
                with open(path, "w", encoding="ascii") as file:
                    file.write(body)
            size = () if batch is None else ("-D", f"batch={batch}")
            said = tool_json("benchmark", "compare", *files, *size)
            row(name, "clauses", said["a_us"], said["b_us"], MOST_CLAUSES)
            if name == "ResNet-50":
                with open(files[0], "w", encoding="ascii") as file:
                    file.write(text.replace("  h = image", BOX + "  h = image", 1))
                took = min(tool_json("check", files[0], *size)["bound_seconds"]
                           for _ in range(ROUNDS))
                row(name, "intervals", said["a_us"], 1e6 * took, MOST_RUNS)


def main():
    if not os.path.isdir(DATA):
        print("verify: skipped, no ../shared/data/vnn")
        return
    known, skipped, missed = stored(), 0, 0
    print(f"{'net':44} {'method':6} {'width':>12} {'stored':>12} {'ms':>9} {'bar':>6} "
          f"{'auto_LiRPA ms':>14} reached")
    for at, (net, spec) in enumerate(ROWS):
        for mine, theirs in METHODS:
            reports = [takt(net, spec, mine) for _ in range(ROUNDS)]
            own, ms = width(reports[0]), 1e3 * min(r["seconds"] for r in reports)
            kept = known.get(f"{net} {spec} {theirs}")
            other = width(kept) if kept else MEASURED.get((net, theirs), float("nan"))
            most = MOST_MS.get(mine, (None,) * len(ROWS))[at]
            peer = lirpa(net, spec, theirs)
            skipped += peer is None
            is_reached = (not own > WIDTH * other + 1e-9 and
                          (most is None or ms <= most) and
                          (peer is None or 1e3 * peer[0] >= SPEED * ms))
            missed += not is_reached
            print(f"{net[-44:]:44} {mine:6} {own:12.5g} "
                  f"{other:12.5g} {ms:9.1f} "
                  f"{'' if most is None else format(most, 'g'):>6} "
                  f"{'skipped' if peer is None else format(1e3 * peer[0], '.1f'):>14} "
                  f"{'yes' if is_reached else 'NO'}", flush=True)
    print(f"{missed} of {len(ROWS) * len(METHODS)} rows below a bar; " +
          (f"{skipped} rows of auto_LiRPA skipped: it is not installed" if skipped else "all ran"))
    checks()
    costs()


if __name__ == "__main__":
    main()
