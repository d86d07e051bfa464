#!/usr/bin/env python3
"""table.py - the rows of gpu_kernels, gpu_models and torch_rows.py as one table with bars.

    bench/gpu/table.py FOLDER      reads kernels.txt, models.txt and peers.txt of scripts/gpu

Times are microseconds as a caller sees them, launch to flag; `device` is the kernel alone, by
events. A bar is met or missed; a row that was not measured has no answer. Exit 1: a bar is missed.
"""
import os
import re
import sys

COPY, READ = 3.95e6, 4.46e6  # bytes a microsecond that an H200 copies and reads

# name in the files, what is shown, most microseconds
BARS = [
    ("launch", "one node, launch to flag", 8.5),
    ("node", "each further node", 0.75),
    ("product 1024x1024x1024", "product 1024 x 1024 x 1024", 52),
    ("product 4096x4096x4096", "product 4096 x 4096 x 4096", 2550),
    ("product 1x4096x4096", "product 1 x 4096 x 4096", 24),
    ("product 8x4096x4096", "product 8 x 4096 x 4096", 28),
    ("mlp_b1", "MLP, batch 1", 11),
    ("mlp_b32", "MLP, batch 32", 14),
    ("resnet18_block", "ResNet-18 block, batch 1", 20),
    ("encoder", "encoder layer, 128 x 768", 85),
    ("resnet50_b1", "ResNet-50, batch 1", 500),
    ("resnet50_b32", "ResNet-50, batch 32", 6000),
    ("mobilenet_v2_b1", "MobileNetV2, batch 1", 180),
    ("layer_norm 32x768", "layer_norm 32 x 768", 9),
    ("softmax 32x10000", "softmax 32 x 10000", 10),
    ("gelu 1048576", "gelu 2^20", 9),
    ("sum 1048576", "sum 2^20", 10),
    # 90 % of the rate at which the bytes can be copied, or read
    ("softmax 65536x4096", "softmax 2^16 x 4096", 8 * 65536 * 4096 / COPY / 0.9),
    ("layer_norm 262144x1024", "layer_norm 2^18 x 1024", 8 * 262144 * 1024 / COPY / 0.9),
    ("gelu 268435456", "gelu 2^28", 8 * 268435456 / COPY / 0.9),
    ("sum 268435456", "sum 2^28", 4 * 268435456 / READ / 0.9),
    ("attention 4x16x4096x128", "attention 4 x 16 x 4096 x 128", 10500),
    ("lstm_b1", "LSTM, 256 units, 100 steps, batch 1", None),
    ("lstm_b32", "LSTM, 256 units, 100 steps, batch 32", None),
    ("gru_b1", "GRU, 256 units, 100 steps, batch 1", None),
    ("lstm_1024_b1", "LSTM, 1024 units, 100 steps, batch 1", None),
]


def lines(folder, name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            return f.read().splitlines()
    except OSError:
        return []


def ours(folder):
    """For each row: microseconds on the device alone (or None), and as the caller sees them."""
    found, graphs = {}, {}
    for line in lines(folder, "kernels.txt"):
        graph = re.match(r"graph of +(\d+) nodes .* ([\d.]+) us$", line)
        row = re.match(r"(.+?) +\S+_f32\S* +([\d.]+) us .* caller +([\d.]+) us", line)
        if graph:
            graphs[int(graph[1])] = float(graph[2])
        elif row:
            found[row[1]] = (float(row[2]), float(row[3]))
    for line in lines(folder, "models.txt"):
        row = re.match(r"(.+?) +device +([\d.]+) us ", line)
        if row:
            found[row[1]] = (None, float(row[2]))
    if graphs:
        least, most = min(graphs), max(graphs)
        found["launch"] = (None, graphs[least])
        if most > least:
            found["node"] = (None, (graphs[most] - graphs[least]) / (most - least))
    return found


def theirs(folder):
    """The times of peers for each row, by name."""
    found = {}
    for line in lines(folder, "peers.txt"):
        row = re.match(r"(.+?) {2,}(.* us.*)$", line)
        if row:
            times = re.findall(r"(\S[^=]*?) = ([\d.]+) us", row[2])
            found.setdefault(row[1], {}).update((n.strip(), float(us)) for n, us in times)
    return found


def figure(us):
    return "" if us is None else f"{us:,.2f}" if us < 10 else f"{us:,.1f}" if us < 1000 else \
        f"{us:,.0f}"


def table(folder):
    mine, peers = ours(folder), theirs(folder)
    names = []
    for times in peers.values():
        names += [n for n in times if n not in names]
    out = ["| row | device | Takt | bar | met | " + "".join(f"{n} | " for n in names) + "ratio |",
           "|---|--:|--:|--:|---|" + "--:|" * (len(names) + 1)]
    missed = met = 0
    for key, what, bar in BARS:
        device, seen = mine.get(key, (None, None))
        times = peers.get(key, {})
        exact = [us for n, us in times.items() if us > 0 and "TF32" not in n and "device" not in n]
        answer = "" if bar is None or seen is None else "yes" if seen <= bar else "no"
        met += answer == "yes"
        missed += answer == "no"
        ratio = f"{min(exact) / seen:.2f}" if exact and seen else ""
        cells = [what, figure(device), figure(seen), figure(bar), answer]
        cells += [figure(times.get(n)) for n in names] + [ratio]
        out.append("| " + " | ".join(cells) + " |")
    out.append("")
    out.append(f"{met} bars met, {missed} missed; ratio: the best exact peer over Takt, above 1 is "
               "faster.")
    return out, missed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__)
        sys.exit(2)
    text, bad = table(sys.argv[1])
    print("\n".join(text))
    sys.exit(bad > 0)
