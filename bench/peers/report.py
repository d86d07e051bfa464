"""report.py - the table: on the terminal, as Markdown, JSON and a page with plots."""
import json
import os
import re
import sys

import limits
import lines
import page
import scaling
import tails


def span(us):
    """A time in the unit that suits it."""
    if us is None:
        return "-"
    return f"{us:.2f} us" if us < 100 else f"{us:.0f} us" if us < 1000 \
        else f"{us / 1e3:.2f} ms" if us < 1e5 else f"{us / 1e3:.0f} ms"


def peer(row, name):
    """A peer's time; with a star if its answer differs."""
    return span(row.get(name)) + ("*" if "differs" in row["reasons"].get(name, "") else "")


def ratio(row):
    if row["ratio"] is None:
        return "answers differ" if not row["agree"] else "no peer"
    return f"{row['ratio']:.2f}"


VERDICTS = "faster", "same", "inconclusive", "slower"


def headline(result):
    """Counts of the rows' verdicts: "155 faster, 2 same, 1 slower of 158 rows"."""
    rows = result["rows"]
    counts = [(sum(1 for r in rows if r.get("verdict") == v), v) for v in VERDICTS]
    without = sum(1 for r in rows if r.get("verdict") not in VERDICTS)
    words = [f"{count} {v}" for count, v in counts if count or v == "faster"]
    words += [f"{without} without a verdict"] if without else []
    unsteady = sum(1 for r in rows if r.get("unsteady"))
    return (f"Takt against the best peer: {', '.join(words)} of {len(rows)} rows"
            + (f"; {unsteady} unsteady" if unsteady else ""))


def behind(result):
    """The rows on which a peer is ahead, the worst first: "relu_1m 1T 0.980 of torch"."""
    rows = [r for r in result["rows"] if r["ratio"] is not None and r["ratio"] < 1
            and r.get("verdict", "slower") == "slower"]
    return [f"{_name(r)} {r['threads']}T {r['ratio']:.3f} of {r['best']}"
            for r in sorted(rows, key=lambda r: r["ratio"])]


def _name(row):
    return row["workload"] + ("" if row["numerics"] == "exact" else f" {row['numerics']}")


def verdict(row):
    """Which engine is faster; and a note if the processor was never at its full rate for long
    enough."""
    words = row.get("verdict"), "unsteady" if row.get("unsteady") else None
    return ", ".join(w for w in words if w)


def heading(bench):
    names = "".join(f"{e.name:>12}" for e in bench.peers)
    return f"{'workload':24}{'T':>3}{'takt':>11}{names}  {'ratio':>6}  {'interval':>12}  share"


def line(row, peers):
    times = "".join(f"{peer(row, e.name):>12}" for e in peers)
    low_high = "-".join(f"{v:.2f}" for v in row.get("ratio_interval") or [])
    return (f"{_name(row):24}{row['threads']:3}{span(row['takt']):>11}{times}  {ratio(row):>6}  "
            f"{low_high:>12}  {100 * row['share']:3.0f} % {row['bound']} {verdict(row)}")


def scaling_line(row, found):
    """On the terminal below a row's lines: "relu_1m: 2T 0.55 (0.54-0.57), 16T ... of 1T"."""
    name = _name({"workload": row.name, "numerics": row.numerics})
    return f"{name}: " + ", ".join(f"{count}T {_over_one(of, '-')}"
                                   for count, of in found.items()) + " of 1T"


def _over_one(of, dash):
    return f"{of['ratio']:.3f} ({dash.join(f'{v:.3f}' for v in of['interval'])})"


def over_one(row):
    """A row's time with its threads over that with one, taken alternately, and the interval."""
    of = row.get("beside_one", {}).get(str(row["threads"]))
    return _over_one(of, " to ") if of else ""


def slower(result):
    """Where more threads take longer than one, the worst first: "relu_1m 2T 1.03"."""
    found = [(of["ratio"], f"{_name(r)} {count}T {of['ratio']:.2f}") for r in result["rows"]
             for count, of in r.get("beside_one", {}).items() if of["ratio"] > scaling.LIMIT]
    return [text for _, text in sorted(found, reverse=True)]


def markdown(result):
    names = [n for n in result["engines"] if n != "takt"]
    out = [f"# Takt against its peers on {result['machine']['cpu']}", "",
           f"{result['machine']['cores']} cores, {result['machine']['system']}; "
           f"made {result['made']} by `make peers` at {result['commit']}. Medians; ratio: the best "
           "peer's median over Takt's, so above 1 Takt is ahead; share: the time that this "
           "machine's measured ceiling allows, over Takt's. *: its answer differs by more than the "
           "row allows, so it is not a rival; over 1T: Takt's time with these threads over that of "
           "one, both alternately from the same processor, with its 95 % interval.", "",
           "| workload | T | numerics | takt | " + " | ".join(names) +
           " | best | ratio | interval | share | over 1T | verdict |",
           "|---|--:|---|" + "--:|" * (len(names) + 1) + "---|--:|---|--:|--:|---|"]
    for r in result["rows"]:
        cells = [r["workload"], str(r["threads"]), r["numerics"], span(r["takt"]),
                 *[peer(r, n) for n in names], r["best"] or "-", ratio(r),
                 " to ".join(f"{v:.3f}" for v in r.get("ratio_interval") or []),
                 f"{100 * r['share']:.0f} % of {r['bound']}", over_one(r), verdict(r)]
        out.append("| " + " | ".join(cells) + " |")
    if behind(result):
        out += ["", "Behind: " + ", ".join(behind(result)) + "."]
    out += [line for text in repeats(result) for line in ("", text)]
    out += limits.markdown(result.get("limits", []))
    out += ["", "| engine | version | called by | code |", "|---|---|---|--:|"]
    out += [f"| {n} | {e['version']} | {e['call']} | {e['code_bytes'] / 1e6:.1f} MB |"
            for n, e in result["engines"].items()]
    out += steadiness(result, names)
    for workload, found in result.get("start", {}).items():
        out += ["", f"From loading the library to the first result of {workload}, 1 thread:", "",
                "| engine | time | peak memory |", "|---|--:|--:|"]
        out += [f"| {n} | {e['start_ms']:.1f} ms | {e['peak_memory_bytes'] / 1e6:.1f} MB |"
                if "start_ms" in e else f"| {n} | {e['problem']} | |" for n, e in found.items()]
    out += ["", *[f"Without {n}: {why}." for n, why in result["missing"].items()]]
    return "\n".join(out).rstrip() + "\n"


def repeats(result):
    """How many rounds of each engine did not count, and which rows have none at full rate."""
    total = {}
    for r in result["rows"]:
        for name, count in r.get("repeated", {}).items():
            total[name] = total.get(name, 0) + count
    unsteady = [_name(r) for r in result["rows"] if r.get("unsteady")]
    out = []
    if total:
        out.append("Turns repeated because the processor was not at its full rate, with one "
                   "thread: " + ", ".join(f"{n} {c}" for n, c in total.items()) + ".")
    if unsteady:
        out.append("Unsteady, since it was not for long enough at its full rate: "
                   + ", ".join(unsteady) + ".")
    return out


def steadiness(result, names):
    """Distance of the slowest of a hundred runs from the usual one, for the rows where it matters
    most."""
    rows = [r for r in result["rows"] if r["workload"] == tails.ROW]
    if not rows:
        return []
    out = ["", f"p99 over median of {tails.ROW}, and Takt's over that of the best peer, which is "
           "the fastest, with its 95 % interval:", "",
           "| T | numerics | takt | " + " | ".join(names) + " | over the best's | interval |",
           "|--:|---|" + "--:|" * (len(names) + 2) + "---|"]
    for r in rows:
        found, over = tails.of_row(r), tails.over_best(r)
        cells = [f"{found[n]:.2f}" if n in found else "-" for n in ("takt", *names)]
        cells.append(f"{over:.2f} {r['best']}" if over else "-")
        cells.append(" to ".join(f"{v:.2f}" for v in r.get("tail_interval") or []))
        out.append(f"| {r['threads']} | {r['numerics']} | " + " | ".join(cells) + " |")
    return out


def name_of(machine):
    words = re.sub(r"\(.*?\)|CPU|@.*", " ", machine["cpu"])
    slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    return f"{machine['architecture']}-{slug}-{machine['cores']}"


def _stem(result, folder):
    return os.path.join(folder, f"peers-{name_of(result['machine'])}")


def merged(result, folder, order):
    """Replaces some rows of the existing table; each row records when and from what it was made."""
    path = _stem(result, folder) + ".json"
    if not os.path.exists(path):
        return result
    with open(path, encoding="utf-8") as file:
        old = json.load(file)

    def key(r):
        return order.index(r["workload"]), r["numerics"], r["threads"]

    rows = {key(r): r for r in old["rows"] if r["workload"] in order}
    rows.update((key(r), r) for r in result["rows"])
    return {**result, "rows": [rows[k] for k in sorted(rows)],
            "engines": {**old["engines"], **result["engines"]},
            "start": {**old.get("start", {}), **result.get("start", {})},
            "overhead": result.get("overhead") or old.get("overhead", {})}


def write(result, folder):
    os.makedirs(folder, exist_ok=True)
    result["limits"] = limits.limits(result)
    stem = _stem(result, folder)
    lines.write(stem + ".json", result)
    with open(stem + ".md", "w", encoding="utf-8") as file:
        file.write(markdown(result))
    with open(stem + ".html", "w", encoding="utf-8") as file:
        file.write(page.page(result, sys.modules[__name__]))
    print(f"peers: {headline(result)}; {stem}.json, .md, .html")
    if behind(result):
        print(f"peers: behind: {', '.join(behind(result))}")
    if result["limits"]:
        print(limits.text(result["limits"]))
    if slower(result):
        print(f"peers: slower with more threads than with one: {', '.join(slower(result))}")
