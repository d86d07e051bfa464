"""certified.py - certified accuracy of small convolutional nets that `takt train` makes of MNIST.

    python bench/peers/certified.py [--limit 100] [--peer-limit 10] [--seeds 0,1,2]

Two convolutions (4 and 8 filters, 4x4, stride 2) and 32 units, one epoch. `takt verify --method
alpha` counts test images of the right class that keep it within eps, for the bits of f32. Where
auto_LiRPA is installed, its alpha-CROWN (20 iterations, rate 0.1) does the same for real numbers on
the first --peer-limit images, and Takt's count of these images stands next to it; otherwise its
rows are skipped and counted. The exit code is 1 if Takt certifies fewer."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, os.environ.get("BUILD", "build/release"), "takt")
DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))
EPSILONS = (0.01, 0.02)
MODEL = """model small(x: f32[batch, 1, 28, 28]) -> f32[batch, 10] seed=SEED {
  h = x |> conv(4, 4, stride=2, pad=1, act=relu) |> conv(8, 4, stride=2, pad=1, act=relu)
  return h |> flatten() |> dense(32, act=relu) |> dense(10)
}
"""


def run(*arguments):
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):
        sys.exit(f"takt {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def train(seed, folder):
    text, model = os.path.join(folder, "small.takt"), os.path.join(folder, f"small{seed}.onnx")
    with open(text, "w", encoding="ascii") as file:
        file.write(MODEL.replace("SEED", str(seed)))
    run("train", text, "--data", os.path.join(DATA, "data", "mnist"), "--epochs", "1", "--lr",
        "1e-3", "--seed", str(seed), "-o", model, "--quiet")
    return model


def takt(model, eps, limit):
    start = time.perf_counter()
    counts = json.loads(run("verify", model, "-D", "batch=1", "--data",
                            os.path.join(DATA, "data", "mnist"), "--limit", str(limit), "--eps",
                            str(eps), "--method", "alpha", "--json"))
    return counts["clean"], counts["certified"], time.perf_counter() - start


def images(count):
    import numpy  # pylint: disable=import-outside-toplevel
    folder = os.path.join(DATA, "data", "mnist")
    found = []
    for kind, header in (("images-idx3", 16), ("labels-idx1", 8)):
        name = [f for f in os.listdir(folder) if f.startswith("t10k-" + kind[:6])][0]
        path = os.path.join(folder, name)
        if name.endswith(".gz"):
            import gzip  # pylint: disable=import-outside-toplevel
            with gzip.open(path) as file:
                raw = file.read()
        else:
            with open(path, "rb") as file:
                raw = file.read()
        found.append(numpy.frombuffer(raw, numpy.uint8, offset=header))
    return (found[0].reshape(-1, 1, 28, 28)[:count].astype(numpy.float32) / 255, found[1][:count])


def in_torch(path):
    """The same net; weights in the order of the file's nodes."""
    import numpy  # pylint: disable=import-outside-toplevel
    import onnx  # pylint: disable=import-outside-toplevel
    import torch  # pylint: disable=import-outside-toplevel
    graph = onnx.load(path).graph
    known = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    parts = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 4, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(4, 8, 4, 2, 1),
        torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(392, 32), torch.nn.ReLU(),
        torch.nn.Linear(32, 10))
    used = [known[i] for n in graph.node for i in n.input if i in known]
    used = [a for a in used if a.dtype == numpy.float32]
    for layer in (0, 2, 5, 7):
        for parameter in (parts[layer].weight, parts[layer].bias):
            shape = tuple(parameter.shape)
            at = next(i for i, a in enumerate(used) if a.size == parameter.numel())
            value = used.pop(at)
            if value.shape != shape and value.T.shape == shape:
                value = value.T
            parameter.data = torch.from_numpy(numpy.array(value.reshape(shape)))
    return parts


def lirpa(path, eps, count):
    """Clean and certified images, and seconds; None where auto_LiRPA is not installed."""
    try:
        import torch  # pylint: disable=import-outside-toplevel
        from auto_LiRPA import (  # pylint: disable=import-outside-toplevel
            BoundedModule, BoundedTensor, PerturbationLpNorm)
    except ImportError:
        return None
    torch.set_num_threads(1)
    net, clean, certified = in_torch(path), 0, 0
    pictures, labels = images(count)
    start = time.perf_counter()
    for picture, label in zip(pictures, labels):
        x = torch.from_numpy(picture[None])
        if int(net(x).argmax()) != int(label):
            continue
        clean += 1
        others = [i for i in range(10) if i != label]
        margins = torch.zeros(1, 9, 10)
        for row, other in enumerate(others):
            margins[0, row, int(label)], margins[0, row, other] = 1, -1
        bounded = BoundedModule(net, x, bound_opts={
            "optimize_bound_args": {"iteration": 20, "lr_alpha": 0.1}})
        box = PerturbationLpNorm(x_L=x - eps, x_U=x + eps)
        lower, _ = bounded.compute_bounds(x=(BoundedTensor(x, box),), C=margins,
                                          method="CROWN-Optimized")
        certified += bool((lower > 0).all())
    return clean, certified, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--peer-limit", type=int, default=10)
    parser.add_argument("--seeds", default="0,1,2")
    given = parser.parse_args()
    if not os.path.isdir(os.path.join(DATA, "data", "mnist")):
        print("certified: skipped, no ../shared/data/data/mnist")
        return
    skipped, fewer = 0, 0
    print(f"{'seed':>4} {'eps':>5} {'images':>6} {'clean':>5} {'certified':>9} {'s':>7} "
          f"{'first':>6} {'Takt':>5} {'auto_LiRPA':>10} {'s':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for seed in given.seeds.split(","):
            model = train(seed, folder)
            for eps in EPSILONS:
                clean, own, seconds = takt(model, eps, given.limit)
                peer = lirpa(model, eps, given.peer_limit)
                line = f"{seed:>4} {eps:5} {given.limit:6} {clean:5} {own:9} {seconds:7.1f} "
                skipped += peer is None
                if peer is not None:
                    same = takt(model, eps, given.peer_limit)
                    if same[0] != peer[0]:
                        sys.exit(f"seed {seed}: {same[0]} and {peer[0]} images of the right class")
                    fewer += same[1] < peer[1]
                    line += f"{given.peer_limit:6} {same[1]:5} {peer[1]:10} {peer[2]:7.1f}"
                print(line, flush=True)
    print(f"{fewer} rows with fewer than auto_LiRPA; " +
          (f"{skipped} rows of it skipped: it is not installed" if skipped else "all ran"))
    sys.exit(1 if fewer else 0)


if __name__ == "__main__":
    main()
