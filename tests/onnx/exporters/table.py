"""table.py FOLDER - prints docs/exports.md: which form of an operation is recognised in the file of
which exporter.

FOLDER holds what by_torch.py, by_keras.py and by_paddle.py write; copies of the files are in
tests/onnx/exports, for tests/onnx/exports.py. TAKT_TOOL names the command (build/takt).
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
EXPORTERS = {"script": "torch.onnx (TorchScript)", "dynamo": "torch.onnx (dynamo)",
             "keras": "Keras", "tf2onnx": "tf2onnx", "paddle": "paddle2onnx"}
# The operation that a form becomes, by how its name begins, and one that must be gone then.
BECOMES = {"gelu": ("gelu", "erf"), "silu": ("silu", "exp"), "hard_swish": ("hard_swish", "div"),
           "layer_norm": ("layer_norm", "sub"), "rms_norm": ("rms_norm", "reduce_mean"),
           "group_norm": ("group_norm", "instance_norm"), "focus": ("transpose", "concat"),
           "merge": ("transpose", "concat"), "unshuffle": ("transpose", "concat"),
           "attention": ("attention", "softmax"), "sdpa": ("attention", "softmax"),
           "gqa": ("attention", "softmax"), "window": ("attention", "softmax"),
           "rotary": ("rotary_embedding", "neg")}


def becomes(form):
    return next(ops for name, ops in BECOMES.items() if form.startswith(name))


def takt(*args):
    return subprocess.run([TOOL, *args], text=True, capture_output=True, check=False)


def verdict(path):
    """`yes`, or why not. Einsums become products only when sizes are known: in the plan."""
    form = os.path.basename(path).rsplit("_", 1)[0]
    want, gone = becomes(form)
    run = takt("opt", path)
    if run.returncode != 0:
        return run.stderr.splitlines()[0].split(": ", 1)[-1]
    if f" {want}(" in run.stdout.replace("op.", "") and f" {gone}(" not in run.stdout:
        return "yes"
    steps = [line.split(": ", 1)[-1] for line in takt("plan", path).stdout.splitlines()]
    if any(want in step.split("  ")[0].split("+") for step in steps):
        return "yes"
    missed = takt("explain", "--missed", path).stdout.splitlines()
    return missed[0].split("): ", 1)[-1] if "): " in missed[0] else "no"


def cell(folder, form, exporter):
    path = os.path.join(folder, f"{form}_{exporter}")
    if os.path.exists(path + ".onnx"):
        return verdict(path + ".onnx")
    if os.path.exists(path + ".txt"):
        return "not exported"
    return ""


def table(folder):
    names = {os.path.splitext(name)[0] for name in os.listdir(folder)
             if name.endswith((".onnx", ".txt"))}
    forms = sorted({name.rsplit("_", 1)[0] for name in names})
    rows = []
    for form in forms:
        cells = [cell(folder, form, exporter) for exporter in EXPORTERS]
        rows.append(f"| {form} | {' | '.join(cells)} |")
    return rows


def main():
    rows = table(sys.argv[1])
    cells = [c.strip() for row in rows for c in row.split("|")[2:-1]]
    there = [c for c in cells if c and c != "not exported"]
    head = " | ".join(EXPORTERS.values())
    print(f"""# Operations that exporters spell out

Each row is one way to write an operation in a framework, as a small module
(`tests/onnx/exporters/forms_*.py`); each column is an exporter. `yes`: the file becomes the
operation ([numerics.md](numerics.md#recognised-operations)); else the reason that
`takt explain --missed` gives. `not exported`: the exporter refuses the module; empty: not written
in this framework. {there.count('yes')} of {len(there)} files are recognised. They are in
`tests/onnx/exports`; `tests/onnx/exports.py` runs them. Written by `tests/onnx/exporters/table.py`.

| form | {head} |
|---|{'---|' * len(EXPORTERS)}""")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
