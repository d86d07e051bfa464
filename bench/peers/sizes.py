"""sizes.py - `make peers ROWS=sizes`: requests of different sizes, beside onnxruntime.

Every request has a size that its session has not seen: sentences of random lengths, a decoder whose
cache grows by one row. bench/sizes/beside.py measures: one thread, processor time, both engines in
turns. Takt's time is that of the new size and the run. Before that the answers of both are compared
at one size. The last rows are what it costs to begin with a compiled model (.taktp).
Needs numpy and onnxruntime, in build/venv; without them this is skipped. Exit status 1: an answer
differs.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build/release"))
VENV = os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv"))
TOOL = os.path.join(BUILD, "takt")
CLOSE = 2e-4

try:
    import numpy
    import onnxruntime
except ImportError:
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print("skipped: numpy and onnxruntime are not installed in build/venv")
    sys.exit(0)
os.environ["BUILD"] = BUILD
sys.path.insert(0, os.path.join(ROOT, "bench", "sizes"))
import beside  # noqa: E402


def encoder(layers, width, heads):
    blocks = "".join(f"  h = transformer_block(h, heads={heads}, hidden={4 * width})\n"
                     for _ in range(layers))
    return (f"model encoder(x: f32[batch, seq, {width}]) seed=3 {{\n  h = x\n{blocks}"
            "  return y = h\n}\n")


def decoder(layers, width, heads):
    """One token, keys and values of those before as inputs, with the new rows as results."""
    size = width // heads
    shape = f"shape=[batch, 1, {heads}, {size}]"
    inputs = "".join(f", k{i}: f32[batch, {heads}, past, {size}], v{i}: f32[batch, {heads}, past, "
                     f"{size}]" for i in range(layers))
    text, results = "  h = x\n", "y = h"
    for i in range(layers):
        for part in "qkv":
            text += (f"  {part}_{i} = transpose(reshape(dense(h, {width}), {shape}), "
                     "perm=[0, 2, 1, 3])\n")
        text += (f"  ks_{i} = concat(k{i}, k_{i}, axis=2)\n  vs_{i} = concat(v{i}, v_{i}, axis=2)\n"
                 f"  s_{i} = softmax(matmul(q_{i}, transpose(ks_{i}, perm=[0, 1, 3, 2])) * "
                 f"{size ** -0.5})\n"
                 f"  o_{i} = reshape(transpose(matmul(s_{i}, vs_{i}), perm=[0, 2, 1, 3]), "
                 f"shape=[batch, 1, {width}])\n"
                 f"  a_{i} = layer_norm(h + dense(o_{i}, {width}))\n"
                 f"  h = layer_norm(a_{i} + dense(relu(dense(a_{i}, {4 * width})), {width}))\n")
        results += f", nk{i} = ks_{i}, nv{i} = vs_{i}"
    return (f"model decoder(x: f32[batch, 1, {width}]{inputs}) seed=3 {{\n{text}"
            f"  return {results}\n}}\n")


# name, text, ranges, the dimension, one after the other
ROWS = [("encoder of 6 layers, width 384, lengths of 1 to 256", encoder(6, 384, 12),
         "batch=1,seq=1..256", "seq", False),
        ("encoder of 2 layers, width 64, lengths of 1 to 128", encoder(2, 64, 4),
         "batch=1,seq=1..128", "seq", False),
        ("decoder of 4 layers, width 256, one row more each time", decoder(4, 256, 8),
         "batch=1,past=1..256", "past", True)]


def takt(*words):
    run = subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"takt {' '.join(words)}: {run.stderr}")
    return run.stdout


def differ(folder, path, sizes):
    """How far the answers of both engines are apart at one size."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = {port.name: beside.value(port, sizes) for port in session.get_inputs()}
    words = []
    for name, array in feed.items():
        numpy.save(os.path.join(folder, name + ".npy"), array)
        words += ["-i", f"{name}={os.path.join(folder, name)}.npy"]
    takt("run", path, *words, "-o", os.path.join(folder, "all.npz"))
    ours = numpy.load(os.path.join(folder, "all.npz"))
    names = [port.name for port in session.get_outputs()]
    return max(float(numpy.abs(ours[name] - want).max())
               for name, want in zip(names, session.run(None, feed)))


def compiled(folder, source, sizes):
    """Milliseconds of planning from a .taktp file, the best of five, and its steps."""
    path = os.path.join(folder, "m.taktp")
    takt("compile", source, "-o", path)
    runs = [json.loads(takt("run", path, "-D", sizes, "--random", "--threads", "1", "--json"))
            for _ in range(5)]
    return min(run["plan_ns"] for run in runs) / 1e6, runs[0]["steps"]


def main():
    count = 12 if "--quick" in sys.argv else 48
    bad = False
    print(f"{'requests':56}{'steps':>6}{'new size':>10}{'a step':>8}{'both':>10}{'runtime':>10}"
          f"{'':>8}   us")
    plans = []
    for name, text, ranges, by, grows in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            source, path = os.path.join(folder, "m.takt"), os.path.join(folder, "m.onnx")
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            takt("convert", source, "-o", path)
            distance = differ(folder, path, {"batch": 1, by: 37})
            m = beside.measure(path, ranges, by, count, grows)
            plans.append((name, *compiled(folder, source, f"{by}=64")))
        bad = bad or not distance <= CLOSE
        print(f"{name:56}{m['steps']:6}{m['size_us']:10.1f}{m['size_us'] / m['steps']:8.2f}"
              f"{m['both_us']:10.0f}{m['onnxruntime_us']:10.0f}"
              f"{m['onnxruntime_us'] / m['both_us']:7.2f}x"
              f"{'' if distance <= CLOSE else f'   answers differ by {distance:.2g}'}", flush=True)
    print(f"\n{'planned from a .taktp file':56}{'steps':>6}{'ms':>10}{'a step':>8}   us")
    for name, plan_ms, steps in plans:
        print(f"{name.split(',')[0]:56}{steps:6}{plan_ms:10.2f}{1e3 * plan_ms / steps:8.1f}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
