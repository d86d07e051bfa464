"""torch_compile.py - `make peers ROWS=torch-compile`: backend="takt" against backend="inductor".

Ten networks of torchvision with random weights, one image of 224 x 224 each, one thread. A round
calls the backends there and back (A B B A); a figure is the median of all calls of a backend, the
ratio that of the rounds' ratios, with its 95 % interval. A network has rounds for --seconds S (8),
at least 6 and at most --rounds N. Names as arguments choose networks. What was measured is kept in
--json FILE: a call that is given the same file goes on with the networks it lacks, so that a shared
machine can be had in pieces. --prepare compiles all and times nothing: inductor keeps its code.
"""
import argparse
import json
import math
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build/release"))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
MODELS = ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x1_0", "squeezenet1_1",
          "googlenet", "vgg11", "efficientnet_v2_s", "convnext_small", "vit_b_32")
BAR, CLOSE = 1.2, 1e-4  # the mean ratio to reach; relative difference of results

try:
    import torch
    import torchvision
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    sys.exit("torch and torchvision are not installed: `make venv` gets them")
sys.path.insert(0, os.path.join(BUILD, "python"))
from takt import torch_backend  # noqa: E402


def make(name):
    """In inference mode, with statistics of random images so that results are of ordinary size."""
    torch.manual_seed(0)
    more = {"init_weights": False} if name == "googlenet" else {}
    model = getattr(torchvision.models, name)(weights=None, **more)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
        if isinstance(module, torch.nn.Linear) and not module.weight.any():
            torch.nn.init.normal_(module.weight, std=0.02)
    model.train()(torch.randn(4, 3, 224, 224))
    return model.eval()


def timed(call, x):
    start = time.perf_counter_ns()
    call(x)
    return (time.perf_counter_ns() - start) / 1e6


def compiled(name):
    """Calls of both by name, and an image."""
    model, x = make(name), torch.randn(1, 3, 224, 224)
    calls = {}
    torch._dynamo.reset()
    for backend in ("inductor", "takt"):
        chosen = torch_backend.takt if backend == "takt" else backend
        calls[backend] = torch.compile(model, backend=chosen, fullgraph=True)
        calls[backend](x)
    return calls, x


def measure(name, rounds, seconds):
    """Milliseconds of both, their ratio, and how far the results are apart."""
    calls, x = compiled(name)
    want = calls["inductor"](x)
    apart = ((calls["takt"](x) - want).abs().max() / want.abs().max()).item()
    seen = {"inductor": [], "takt": []}
    ratios, end = [], time.monotonic() + seconds
    while len(ratios) < 6 or (len(ratios) < rounds and time.monotonic() < end):
        block = [(who, timed(calls[who], x)) for who in ("takt", "inductor", "inductor", "takt")]
        for who, spent in block:
            seen[who].append(spent)
        ratios.append((block[1][1] + block[2][1]) / (block[0][1] + block[3][1]))
    ratios.sort()
    reach = round(0.98 * len(ratios) ** 0.5)  # order statistics
    return {"model": name, **{who: statistics.median(times) for who, times in seen.items()},
            "ratio": statistics.median(ratios), "low": ratios[max(0, len(ratios) // 2 - reach)],
            "high": ratios[min(len(ratios) - 1, len(ratios) // 2 + reach)], "rounds": len(ratios),
            "apart": apart}


def load(path):
    """Rows of an earlier call, by name."""
    if path is None or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    return {row["model"]: row for row in kept["rows"]} if kept["torch"] == torch.__version__ else {}


def save(path, rows):
    if path is not None:
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"torch": torch.__version__, "rows": list(rows.values())}, out, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--json")
    parser.add_argument("--prepare", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept, rows = load(options.json), []
    print(f"{'model':22}{'takt ms':>10}{'inductor ms':>13}{'ratio':>8}{'95 %':>14}{'apart':>10}",
          flush=True)
    with torch.no_grad():
        for name in options.models:
            if options.prepare:
                begun = time.monotonic()
                compiled(name)
                print(f"{name}: compiled in {time.monotonic() - begun:.0f} s", flush=True)
                continue
            if name not in kept:
                kept[name] = measure(name, options.rounds, options.seconds)
                save(options.json, kept)
            row = kept[name]
            rows.append(row)
            between = f"{row['low']:.2f}..{row['high']:.2f}"
            print(f"{name:22}{row['takt']:10.2f}{row['inductor']:13.2f}{row['ratio']:8.2f}"
                  f"{between:>14}{row['apart']:10.1e}", flush=True)
    if options.prepare:
        return 0
    mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows))
    print(f"geometric mean {mean:.2f}, to reach {BAR}: {'yes' if mean >= BAR else 'no'}")
    return 1 if mean < BAR or any(not row["apart"] <= CLOSE for row in rows) else 0


sys.exit(main())
