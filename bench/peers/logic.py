#!/usr/bin/env python3
"""logic.py - rules against databases and solvers: CPU seconds of one thread, one table.

    bench/peers/logic.py [--rounds 3] [--rows closure,dag] [--quick]

Peers come from PyPI, in build/venv or here: duckdb, python-graphblas, clingo, pycozo[embedded],
torch, deepproblog; and souffle, if it is on the path. What is absent is skipped and counted. Every
row is the CPU time of what is asked for alone: Takt's is that of its command less the same command
with the facts only, a peer's is measured inside its process, after its data is there. Programs take
turns, and the smallest of all rounds counts: other load on the machine only adds. Every result is
compared with Takt's. Lines below a row say which bars it reaches: time, ratios to peers, two
threads, and the memory of whole processes. The gain of two threads is that of runs of a bound
session, whose facts are inputs: logic_threads.py.
"""
import argparse
import importlib.util
import os
import random
import resource
import sys

import logic_bars
import logic_steps
import logic_threads
from logic_peers import (OUT, PACKAGES, ROOT, blas_closure, blas_product, clingo_rules, clocked,
                         cozo, duck, is_here, process, souffle)

TAKT = os.path.join(ROOT, os.environ.get("BUILD", "build/release"), "takt")
DATA = os.environ.get("TAKT_DATA", os.path.join(ROOT, "..", "shared", "data"))


def in_venv():
    """Goes on in build/venv if that has more of the peers."""
    python = os.path.join(os.environ.get("TAKT_VENV", os.path.join(ROOT, "build", "venv")), "bin",
                          "python")
    has_all = all(importlib.util.find_spec(name) for name in PACKAGES.values())
    if not has_all and os.path.exists(python) and "TAKT_IN_VENV" not in os.environ:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(python, [python, "-B", os.path.abspath(sys.argv[0]), *sys.argv[1:]])


# ---- programs ----

def write(name, text):
    path = os.path.join(OUT, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def apart(work):
    """In a separate process: the memory for making the data must not count as the peer's."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit("the data of a row could not be made")


def pairs_file(name, rows):
    """`rows` makes the pairs."""
    apart(lambda: write(name, "".join(f"{a},{b}\n" for a, b in rows())))


def graph(name):
    """The edges of a stored graph, or of a random one of about its size."""
    path = os.path.join(DATA, "logic", "graphs", name)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return [tuple(map(int, line.split(","))) for line in file]
    rng = random.Random(1)
    if name == "random2000.csv":
        return sorted({(rng.randrange(2000), rng.randrange(2000)) for _ in range(4000)})
    return sorted({(i, max(0, i - 1 - int(rng.expovariate(0.05)))) for i in range(1, 200000)})


def model(size, facts, rules, counted):
    relations = "\n".join(f'  relation {name}(node, node) = "{file}"' for name, file in facts)
    return (f"domain node = {size}\nmodel m() {{\n{relations}\n{rules}"
            f"  rule pairs(n: i64) = n == count x, y: {counted}(x, y)\n  return pairs\n}}\n")


def takt(text, base):
    """What a program takes beyond `base`, the number that it counts, and its memory."""
    full, empty = write("full.takt", text), write("base.takt", base)
    # The minimum of each: the minimum of the differences would only be noise.
    lower = min(process([TAKT, "query", "-t", "1", empty, "pairs(n)"])[0] for _ in range(3))
    runs = [process([TAKT, "query", "-t", "1", full, "pairs(n)"]) for _ in range(3)]
    upper = min(run[0] for run in runs)
    return max(upper - lower, 0.0), int(runs[0][1].split()[0]), max(run[2] for run in runs)


# ---- rows ----

def nothing(name, of):
    """The rule of a command that only reads the facts: storing tuples, and tables for them, is work
    of the row itself, which threads would share."""
    return f"  rule {name}(x, y) capacity=16 = {of}(x, y) and x < y and y < x\n"


def closure(file, size, capacity=""):
    pairs_file(file, lambda: graph(file))
    rule = (f"  rule path(x, z){capacity} = edge(x, z) or exists y: edge(x, y) and path(y, z)\n")
    text = model(size, [("edge", file)], rule, "path")
    base = "  rule path(x, z) = edge(x, z)\n" if capacity == "" else nothing("path", "edge")
    base = model(size, [("edge", file)], base, "path")
    query = ("WITH RECURSIVE path(a, b) AS (SELECT a, b FROM edge UNION SELECT edge.a, path.b FROM "
             "edge, path WHERE edge.b = path.a) SELECT count(*) FROM path")
    rules = "path(X,Y) :- edge(X,Y). path(X,Z) :- edge(X,Y), path(Y,Z)."
    peers = {"duckdb": duck([("edge", file)], query), "graphblas": blas_closure(file, size)}
    if size <= 2000:
        peers["clingo"] = clingo_rules([("edge", file)], rules, "path")
        peers["cozo"] = cozo([("edge", file)], "path[a, b] := *edge[a, b] path[a, c] := "
                             "*edge[a, b], path[b, c]", "path")
    return text, base, peers


def random_pairs(name, count, sizes, seed):
    def rows():
        rng, found = random.Random(seed), set()
        while len(found) < count:
            found.add((rng.randrange(sizes[0]), rng.randrange(sizes[1])))
        return sorted(found)
    pairs_file(name, rows)


def generation():
    """People of the same generation: a forest of 3 children each."""
    count = 1100
    pairs_file("up.csv", lambda: [(i, (i - 1) // 3) for i in range(1, count)])
    rule = ("  rule same(x, z) capacity=600000 = (exists u: up(x, u) and up(z, u)) or "
            "exists u, v: up(x, u) and up(z, v) and same(u, v)\n")
    base = nothing("same", "up")
    query = ("WITH RECURSIVE same(a, b) AS (SELECT p.a, q.a FROM up p, up q WHERE p.b = q.b UNION "
             "SELECT p.a, q.a FROM up p, up q, same WHERE p.b = same.a AND q.b = same.b) "
             "SELECT count(*) FROM same")
    rules = "same(X,Z) :- up(X,U), up(Z,U). same(X,Z) :- up(X,U), same(U,V), up(Z,V)."
    facts = [("up", "up.csv")]
    return (model(count, facts, rule, "same"), model(count, facts, base, "same"),
            {"duckdb": duck(facts, query), "clingo": clingo_rules(facts, rules, "same"),
             "souffle": souffle(facts, rules, "same")})


def points_to():
    """Andersen's analysis without fields: new, assign, load and store, 10^6 facts."""
    size = 400000
    for name, count, seed in (("new", 860000, 1), ("assign", 100000, 2), ("load", 20000, 3),
                              ("store", 20000, 4)):
        random_pairs(name + ".csv", count, (size, size), seed)
    facts = [(name, name + ".csv") for name in ("new", "assign", "load", "store")]
    rule = ("  rule pt(v, o) capacity=1250000 = new(v, o) or (exists w: assign(v, w) and pt(w, o))"
            " or (exists w, h: load(v, w) and pt(w, h) and heap(h, o))\n"
            "  rule heap(h, o) capacity=200000 = exists v, w: store(v, w) and pt(v, h) and "
            "pt(w, o)\n")
    base = nothing("pt", "new")
    rules = ("pt(V,O) :- new(V,O). pt(V,O) :- assign(V,W), pt(W,O). pt(V,O) :- load(V,W), pt(W,H), "
             "heap(H,O). heap(H,O) :- store(V,W), pt(V,H), pt(W,O).")
    # DuckDB's recurring table holds all rows so far; heap is written out, since there is only one.
    query = ("WITH RECURSIVE pt(v, o) USING KEY (v, o) AS (SELECT a, b FROM new UNION (SELECT v, o "
             "FROM (SELECT assign.a AS v, pt.o AS o FROM assign, pt WHERE assign.b = pt.v UNION "
             "SELECT load.a, q.o FROM load, store, recurring.pt AS l, recurring.pt AS p, "
             "recurring.pt AS q WHERE load.b = l.v AND store.a = p.v AND p.o = l.o AND "
             "store.b = q.v) AS n WHERE NOT EXISTS (FROM recurring.pt AS z WHERE z.v = n.v AND "
             "z.o = n.o))) SELECT count(*) FROM pt")
    return (model(size, facts, rule, "pt"), model(size, facts, base, "pt"),
            {"duckdb": duck(facts, query), "clingo": clingo_rules(facts, rules, "pt"),
             "souffle": souffle(facts, rules, "pt")})


def triangles():
    """Edges that begin a triangle, of 10^6."""
    size = 100000
    random_pairs("tri.csv", 1000000, (size, size), 5)
    facts = [("edge", "tri.csv")]
    rule = ("  rule tri(x, y) capacity=1000000 = exists z: edge(x, y) and edge(y, z) and "
            "edge(z, x)\n")
    query = ("SELECT count(*) FROM (SELECT DISTINCT p.a, p.b FROM edge p, edge q, edge r WHERE "
             "p.b = q.a AND q.b = r.a AND r.b = p.a)")
    base = nothing("tri", "edge")
    return (model(size, facts, rule, "tri"), model(size, facts, base, "tri"),
            {"duckdb": duck(facts, query),
             "souffle": souffle(facts, "tri(X,Y) :- edge(X,Y), edge(Y,Z), edge(Z,X).", "tri")})


ROWS = {"closure": lambda: closure("random2000.csv", 2000),
        "dag": lambda: closure("dag200k.csv", 200000, " capacity=8000000"),
        "generation": generation, "triangles": triangles, "points_to": points_to}


def facts_row(rounds):
    """10^6 facts with names: read, and the number of different ones."""
    def make():
        rng = random.Random(7)
        names = [f"name{i:06d}" for i in range(100000)]
        write("names.txt", "\n".join(names) + "\n")
        write("named.tsv", "".join(f"{rng.choice(names)}\t{rng.choice(names)}\n"
                                   for _ in range(1000000)))
    apart(make)
    text = ('domain node = "names.txt"\nmodel m() {\n  relation fact(node, node) = "named.tsv"\n'
            "  rule pairs(n: i64) = n == count x, y: fact(x, y)\n  return pairs\n}\n")
    base = text.replace('= "named.tsv"', '= [["name000000", "name000001"]]')

    def load():
        import duckdb
        base = duckdb.connect()
        base.execute("SET threads = 1")
        name = os.path.join(OUT, "named.tsv")
        return clocked(lambda: base.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT column0, column1 FROM read_csv('{name}', "
            "delim = '\t', header = false))").fetchone()[0])
    return table_row("facts", text, base, {"duckdb": load}, rounds)


def timed_row(name, ours, peers, rounds):
    """Seconds and bytes of `ours`, of one and of many repeats, and of peers: (work, repeats)."""
    best, memory, why = {}, {}, {}
    for _ in range(rounds):
        for engine in ("takt", *peers):
            if engine != "takt" and not is_here(engine):
                why[engine] = "not installed"
                continue
            if engine == "takt":
                seconds, size = ours()
            else:
                work, repeats = peers[engine]
                seconds, text, size = child(work)
                if seconds is None:
                    why[engine] = text
                    continue
                seconds /= repeats
            best[engine] = min(best.get(engine, seconds), seconds)
            memory[engine] = min(memory.get(engine, size), size)
    cells = [f"{engine} {1e3 * seconds:.2f} ms" for engine, seconds in best.items()]
    mine = best.pop("takt")
    cells += [f"{engine} x{other / max(mine, 1e-6):.1f}" for engine, other in best.items()]
    print(f"{name:10} {'':9}  " + ", ".join(cells), flush=True)
    for engine, reason in why.items():
        print(f"{'':10} {engine} skipped: {reason}", flush=True)
    return len(why), 0, logic_bars.show(logic_bars.judged(name, mine, best, memory=memory))


def repeated(command, most):
    """Seconds of one of `most` repeats, which end the command, and the memory of all."""
    whole = process([*command, str(most + 1)])
    return (whole[0] - process([*command, "1"])[0]) / most, whole[2]


def product_row(name, rounds):
    """A product of two 256 x 256 matrices of truth values: CPU seconds of one, of 50."""
    file = write("product.takt", "model m(a: f32[256, 256], b: f32[256, 256]) {\n"
                 f"  return semiring_matmul(a, b, semiring={name})\n}}\n")

    def with_torch():
        import torch
        torch.set_num_threads(1)
        a, b = torch.rand(256, 256), torch.rand(256, 256)

        def run():
            if name == "max_min":
                return torch.minimum(a[:, :, None], b[None]).amax(1).numel()
            return (1 - (1 - a[:, :, None] * b[None]).prod(1)).numel()
        run()
        return clocked(lambda: [run() for _ in range(5)][0])
    peers = {"torch": (with_torch, 5)}
    if name == "max_min":
        peers["graphblas"] = (blas_product, 5)
    return timed_row(name, lambda: repeated([TAKT, "run", "-t", "1", "--random", file, "-r"], 50),
                     peers, rounds)


def step_row(name, rounds):
    """A training step by SGD: CPU seconds of one, of 40, one thread."""
    if importlib.util.find_spec("numpy") is None:
        print(f"{name:10} skipped: it needs numpy for its data")
        return 1, 0, 0
    file, data, make_data, steps = logic_steps.STEPS[name](ROOT, OUT)
    apart(make_data)

    def of(make):
        def theirs():
            import torch
            torch.set_num_threads(1)
            step = make()
            step()
            return clocked(lambda: len([step() for _ in range(10)]))
        return theirs
    flags = [TAKT, "train", "-t", "1", "--workers", "0", "--optimizer", "sgd", "--data", data, file,
             "--steps"]
    return timed_row(name, lambda: repeated(flags, 40),
                     {engine: (of(make), 10) for engine, make in steps.items()}, rounds)


# ---- the table ----

def child(work):
    """In a process of its own, so that no peer leaves threads or memory behind."""
    read, to = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            seconds, count, *memory = work()
            memory = memory or [1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]
            os.write(to, f"{seconds} {count} {memory[0]}".encode())
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            os.write(to, f"error {type(error).__name__}: {error}".encode()[:200])
            os._exit(1)
    os.close(to)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    if text.startswith("error") or not text:
        return None, text, 0
    seconds, count, memory = text.split()
    return float(seconds), int(count), int(memory)


def table_row(name, text, base, peers, rounds):
    best, counts, why, memory = {}, {}, {}, {}
    for number in range(rounds):
        order = ["takt", *peers] if number % 2 == 0 else [*reversed(list(peers)), "takt"]
        for engine in order:
            if engine != "takt" and not is_here(engine):
                why[engine] = "not installed"
                continue
            run = takt(text, base) if engine == "takt" else child(peers[engine])
            seconds, count = run[:2]
            if seconds is None:
                why[engine] = count
                continue
            best[engine] = min(best.get(engine, seconds), seconds)
            counts[engine] = count
            memory[engine] = min(memory.get(engine, run[2]), run[2])
    cells = [f"{engine} {best[engine]:.3f} s" for engine in ("takt", *peers) if engine in best]
    cells += [f"{engine} x{best[engine] / max(best['takt'], 1e-3):.1f}" for engine in peers
              if engine in best]
    print(f"{name:10} {counts['takt']:>9}  " + ", ".join(cells), flush=True)
    for engine, reason in why.items():
        print(f"{'':10} {engine} skipped: {reason}", flush=True)
    wrong = [engine for engine, count in counts.items() if count != counts["takt"]]
    for engine in wrong:
        print(f"{'':10} {engine} has {counts[engine]} tuples instead", flush=True)
    others = {engine: best[engine] for engine in peers if engine in best}
    gain = None
    if os.cpu_count() > 1 and name != "facts":
        gain = logic_threads.gain(TAKT, write("inputs.takt", logic_threads.with_inputs(text, OUT)),
                                  best["takt"], rounds)
    missed = logic_bars.show(logic_bars.judged(name, best["takt"], others, gain, memory))
    return len(why), len(wrong), missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    names = [*ROWS, "facts", "max_min", "noisy_or", *logic_steps.STEPS]
    parser.add_argument("--rows", default=",".join(names))
    parser.add_argument("--quick", action="store_true", help="one round")
    given = parser.parse_args()
    in_venv()
    os.makedirs(OUT, exist_ok=True)
    skipped = wrong = missed = 0
    rounds = 1 if given.quick else given.rounds
    for name in given.rows.split(","):
        if name not in names:
            parser.error(f"rows are {', '.join(names)}, not {name}")
        if name in ROWS:
            more = table_row(name, *ROWS[name](), rounds)
        elif name in logic_steps.STEPS:
            more = step_row(name, rounds)
        else:
            more = facts_row(rounds) if name == "facts" else product_row(name, rounds)
        skipped, wrong, missed = skipped + more[0], wrong + more[1], missed + more[2]
    print(f"{skipped} skipped, {wrong} with other results, {missed} bars not reached")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
