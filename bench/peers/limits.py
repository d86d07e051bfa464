"""limits.py - how close Takt is to what the machine allows: one short table from the rows."""
import os
import re
import subprocess

import engines
import scaling
import tails

GEMMS = re.compile(r"gemm_(\d+)x(\d+)x(\d+)$")
MAPS = ("add_1m", "relu_1m", "sum_1m", "add_f64_1m", "relu_f64_1m", "sum_f64_1m")


def overhead():
    """Output of bench/overhead/run: ns of a step without its kernel, of waking a worker."""
    script = os.path.join(engines.ROOT, "bench", "overhead", "run")
    try:
        done = subprocess.run([script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return parsed(done.stdout)


def parsed(text):
    out = {}
    for key, words in (("step_ns", "a step without its kernel:"),
                       ("wake_ns", "a worker that looks out:")):
        found = re.search(re.escape(words) + r"\s+(-?[\d.]+) ns", text)
        if found:
            out[key] = float(found.group(1))
    return out


def _is_gemm(row, least, most):
    found = GEMMS.match(row["workload"])
    return found is not None and least <= int(found.group(1)) <= most


def _entry(what, wanted, unit, values, is_least):
    """`values`: {name: number}; the worst of them decides. Without a target they are only shown."""
    if not values:
        return []
    worst = (min if is_least else max)(values, key=values.get)
    held = [n for n, v in values.items()
            if wanted is not None and (v >= wanted if is_least else v <= wanted)]
    return [{"what": what, "wanted": wanted, "is_least": is_least, "unit": unit,
             "worst": values[worst], "worst_row": worst, "rows": values, "held": len(held),
             "best": (max if is_least else min)(values.values())}]


def _named(rows, value):
    return {f"{r['workload']} {r['threads']}T": value(r) for r in rows}


def _moving(row):
    """The minimum time of any engine for the bytes, and for waking as many threads, over Takt's
    time."""
    return (row.get("moving", 0) + row.get("call", 0)) / row["takt"]


def limits(result):
    """The limits of which this result has something, each with every row's number."""
    exact = [r for r in result["rows"] if r["numerics"] == "exact"]
    one = [r for r in exact if r["threads"] == 1]
    own = {r["workload"]: r["takt"] for r in one}
    out = _entry("products of 512 and more, 1 thread, of the peak", 0.92, "%",
                 _named([r for r in one if _is_gemm(r, 512, 1 << 30)], lambda r: r["share"]), True)
    narrow = [r for r in exact if _is_gemm(r, 1, 1) or r["workload"] in MAPS]
    narrow = [r for r in narrow if "moving" in r]
    for count in sorted({r["threads"] for r in narrow}):
        rows = [r for r in narrow if r["threads"] == count]
        calling = " and calling the threads" if any(r.get("call") for r in rows) else ""
        out += _entry(f"one row and element-wise, {count} thread{'s' * (count > 1)}, of moving as "
                      f"much{calling}", 0.9, "%", _named(rows, _moving), True)
    out += _entry("resnet50, 1 thread, of the peak", 0.8, "%",
                  _named([r for r in one if r["workload"] == "resnet50"],
                         lambda r: r["share"]), True)
    out += _entry("mlp_b1, 1 thread, over reading its weights once", 1.3, "x",
                  _named([r for r in one if r["workload"] == "mlp_b1" and r.get("moving")],
                         lambda r: 1 / _moving(r)), False)
    pairs = [r for r in one if r["workload"].replace("gemm_i8", "gemm") in own
             and r["workload"] == "gemm_i8_1024x1024x1024"]
    out += _entry("bytes over f32, 1 thread, as fast", 3, "x",
                  _named(pairs, lambda r: own["gemm_1024x1024x1024"] / r["takt"]), True)
    cost = result.get("overhead", {})
    for key, what, most in (("step_ns", "a step without its kernel", 60),
                            ("wake_ns", "waking a worker that looks out", 1000)):
        out += _entry(what, most, "ns", {key: cost[key]} if key in cost else {}, False)
    return out + _threads(result["rows"]) + _tail(exact)


def _threads(rows):
    """Speedup of more threads over one: two, and as many as the rows have."""
    out = []
    for count in sorted({c for r in rows for c in r.get("beside_one", {})}, key=int):
        values = {_of(r): r["beside_one"][count]["interval"][1] for r in rows
                  if count in r.get("beside_one", {})}
        out += _entry(f"{count} threads over one, upper end of the interval", scaling.LIMIT, "x",
                      values, False)
    return out


def _of(row):
    return row["workload"] + ("" if row["numerics"] == "exact" else f" {row['numerics']}")


def _tail(exact):
    """p99 over median, relative to the fastest peer and to the peer with the smallest one."""
    rows, out = [r for r in exact if r["workload"] == tails.ROW], []
    for whose, wanted, value in (("best (fastest)", 1, tails.over_best),
                                 ("steadiest", None, tails.over_steadiest)):
        values = _named([r for r in rows if value(r) is not None], value)
        out += _entry(f"{tails.ROW}, p99 over median, over the {whose} peer's", wanted, "x",
                      values, False)
    return out


def _number(value, unit):
    return f"{100 * value:.1f} %" if unit == "%" else f"{value:.0f} ns" if unit == "ns" \
        else f"{value:.2f}"


def cells(entry):
    """what, wanted, reached, held: as words."""
    ends = [_number(entry[k], entry["unit"]) for k in ("worst", "best")]
    reached = ends[0] if len(entry["rows"]) == 1 else f"{ends[0]} to {ends[1]}"
    count = len(entry["rows"])
    if entry["wanted"] is None:
        return [entry["what"], "-", reached, "" if count == 1 else f"worst {entry['worst_row']}"]
    wanted = ("at least " if entry["is_least"] else "at most ") + \
        _number(entry["wanted"], entry["unit"])
    held = "held" if entry["held"] == count else "missed" if count == 1 else \
        f"{entry['held']} of {count}, worst {entry['worst_row']}"
    return [entry["what"], wanted, reached, held]


def text(entries):
    """For the terminal."""
    rows = [["limit", "wanted", "reached", ""]] + [cells(e) for e in entries]
    widths = [max(len(r[i]) for r in rows) for i in range(3)]
    return "\n".join("  ".join([c.ljust(w) for c, w in zip(r, widths)] + [r[3]]).rstrip()
                     for r in rows)


def markdown(entries):
    if not entries:
        return []
    return ["", "How close to the machine's limits:", "", "| limit | wanted | reached | |",
            "|---|--:|--:|---|", *["| " + " | ".join(cells(e)) + " |" for e in entries]]
