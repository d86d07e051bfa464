"""wide_table.py - summary and table of the rows of ROWS=wide."""
import math
import platform
import re

from report import name_of

# Kinds of steps, ours and ONNX Runtime's: the first pattern that matches the lower-case name.
KINDS = [("transposed convolution", "convtranspose|deconv"), ("convolution", "conv|depthwise"),
         ("recurrence", "lstm|gru|rnn|recur"), ("attention", "attention"),
         ("product", "gemm|matmul|product|dense|einsum"), ("sampling", "gridsample|grid"),
         ("resize", "resize|upsample"), ("pool", "pool"), ("normalisation", "norm"),
         ("softmax", "softmax"), ("reduction", "reduce"),
         ("moving", "transpose|concat|split|slice|gather|reshape|pad|move|copy|expand|reorder")]

# Peers of the rows within 1.3, as wide_row.py has them, and how they are written.
OTHERS = {"openvino": "OpenVINO", "ncnn": "ncnn", "torch.compile": "torch.compile"}


def kind_of(name):
    name = name.lower()
    return next((kind for kind, pattern in KINDS if re.search(pattern, name)), "elementwise")


def slug(cpu, threads):
    """As report.py names a machine."""
    return name_of({"cpu": cpu, "architecture": platform.machine(), "cores": threads})


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summary(result):
    """Rows, verdicts and means, for each number of threads."""
    lines = []
    for count in result["threads"]:
        rows = [r for r in result["rows"] if r["threads"] == count]
        if not rows:
            continue
        words = [r["verdict"] for r in rows]
        told = ", ".join(f"{words.count(w)} {w}" for w in
                         ("faster", "same", "inconclusive", "slower") if w in words)
        plan = sum(r["plan_ms_takt"] <= r["plan_ms_onnxruntime"] for r in rows)
        memory = sum(r["memory_takt"] <= r["memory_onnxruntime"] for r in rows)
        lines.append(f"{count}T: {len(rows)} rows, {told}; geometric mean "
                     f"{mean([r['ratio'] for r in rows]):.2f}, least "
                     f"{min(r['ratio'] for r in rows):.2f}; made ready sooner {plan}, less memory "
                     f"{memory}")
        for key, name in OTHERS.items():
            others = [r[key] for r in rows if "ratio" in r.get(key, {})]
            if others:
                behind = sum(b["verdict"] == "slower" for b in others)
                lines.append(f"{count}T against {name}: {len(others)} rows, {behind} slower; "
                             f"geometric mean {mean([b['ratio'] for b in others]):.2f}")
        behind = sum(any(of.get("verdict") == "slower" for of in
                         (r, *(r.get(key, {}) for key in OTHERS))) for r in rows)
        peers = "the best peer" if any(key in r for r in rows for key in OTHERS) else "onnxruntime"
        lines.append(f"{count}T: behind {peers} on {behind} of {len(rows)} rows, "
                     f"{100 - 100 * behind / len(rows):.1f} % are not")
    for key, text in (("left_out", "left out, the time was over"), ("failed", "failed"),
                      ("absent", "packages with models are not installed")):
        if result.get(key):
            lines.append(f"{len(result[key])} {text}")
    wrong = [r["row"] for r in result["rows"] if not r["agree"]]
    if wrong:
        lines.append(f"answers differ: {', '.join(sorted(set(wrong)))}")
    unsure = {(r["row"], r["threads"]): r for r in result["rows"] if "own_error" in r}
    for (name, count), r in sorted(unsure.items()):
        lines.append(f"answers of {name} differ by {r['error']:.2f} with {count}T, onnxruntime's "
                     f"with and without optimisations by {r['own_error']:.2f}")
    return "\n".join(lines)


def _lost(row):
    lost = row.get("loses")
    if not lost or "kind" not in lost:
        return ""
    return (f"{lost['kind']} {lost['takt_us']:.0f} against {lost['onnxruntime_us']:.0f} us "
            f"(`{lost['step']}`)")


def _others(row):
    told = (row.get(key, {}) for key in OTHERS)
    return " | ".join(f"{o['ratio']:.2f} {o['verdict']}" if "ratio" in o else "" for o in told)


def markdown(result):
    versions = ", ".join(f"{name} {v}" for name, v in result.get("versions", {}).items())
    lines = [f"# Many architectures against ONNX Runtime: {result['cpu']}", "", summary(result), "",
             f"Made {result['made']} at {result.get('commit') or 'an unknown commit'}"
             f"{', quick' if result['quick'] else ''}; {versions}. Times in "
             "microseconds, ratio = onnxruntime / Takt; made = milliseconds to read and plan; MB = "
             "peak memory of the process beyond an empty one; OpenVINO, ncnn, torch.compile = "
             "their time / Takt's, rows within 1.3, where they are installed and can have the "
             "model. Written by `make peers ROWS=wide`.",
             "", "| row | threads | Takt | onnxruntime | ratio | interval | verdict | made | of "
             f"onnxruntime | MB | of onnxruntime | {' | '.join(OTHERS.values())} | what loses |",
             "|---" * (12 + len(OTHERS)) + "|"]
    for r in result["rows"]:
        low, high = r["interval"] or (math.nan, math.nan)
        lines.append(
            f"| {r['row']} | {r['threads']} | {r['takt']:.1f} | {r['onnxruntime']:.1f} | "
            f"{r['ratio']:.2f} | {low:.2f}–{high:.2f} | {r['verdict']}"
            f"{'' if r['agree'] else ', answers differ'} | {r['plan_ms_takt']:.0f} | "
            f"{r['plan_ms_onnxruntime']:.0f} | {r['memory_takt'] / 1e6:.0f} | "
            f"{r['memory_onnxruntime'] / 1e6:.0f} | {_others(r)} | {_lost(r)} |")
    older = sorted({r["commit"] for r in result["rows"] if r.get("commit")})
    for name in older:
        which = sorted({r["row"] for r in result["rows"] if r.get("commit") == name})
        lines[2] += f"\n{len(which)} architectures were measured at {name}"
    for name, why in result["failed"]:
        lines.append(f"| {name} | | | | | | {why} |{' |' * (5 + len(OTHERS))}")
    return "\n".join(lines) + "\n"
