"""logic_bars.py - the targets of the rows of rules, and which of them a run reached."""

# Per row: most seconds of Takt, least ratio to each peer; None: no bar.
BARS = {"closure": (0.02, 15), "dag": (0.45, 3), "generation": (None, 2), "triangles": (None, 2),
        "points_to": (None, 2), "facts": (None, 1), "max_min": (0.001, None),
        "noisy_or": (None, None), "gradient": (None, 8), "addition": (0.01, 2)}
PEERS = {"souffle": 1, "deepproblog": 50}  # their own bar, in every row
THREADS = 1.6  # least gain of two threads, where a row is measured with both


def judged(name, seconds, peers, gain=None, memory=None):
    """One line: every bar of a row with its figure and yes or no. `peers` has their seconds, `gain`
    is logic_threads.gain's, and `memory` the bytes of all processes, Takt's under `takt`."""
    most, least = BARS[name]
    bars = []
    if most is not None:
        bars.append((f"<= {1e3 * most:g} ms: {1e3 * seconds:.2f}", seconds <= most))
    for peer, other in peers.items() if least is not None else ():
        ratio = other / max(seconds, 1e-6)
        bar = PEERS.get(peer, least)
        bars.append((f">= {bar}x {peer}: {ratio:.2f}", ratio >= bar))
    if gain is not None:
        middle, least, most, one, two = gain
        bars.append((f">= {THREADS}x with 2 threads: {middle:.2f} ({least:.2f} to {most:.2f}; "
                     f"{1e3 * one:.1f} and {1e3 * two:.1f} ms a run)", middle >= THREADS))
    for peer, other in (memory or {}).items():
        if peer != "takt":
            sizes = f"{memory['takt'] / 2**20:.0f} of {other / 2**20:.0f} MiB"
            bars.append((f"memory below {peer}: {sizes}", memory["takt"] < other))
    return bars


def show(bars):
    for text, is_reached in bars:
        print(f"{'':10} {'yes' if is_reached else 'NO ':3} {text}", flush=True)
    return sum(not is_reached for _, is_reached in bars)
