"""logic_peers.py - the same rules in other programs: CPU seconds and a count.

DuckDB, clingo, GraphBLAS and Cozo are packages; Soufflé is a command (SOUFFLE, or on the path) that
compiles rules by way of C++. What a peer prepares, its facts or its compiled program, is not timed.
"""
import hashlib
import importlib.util
import os
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(ROOT, "build", "peers", "logic")

PACKAGES = {"duckdb": "duckdb", "graphblas": "graphblas", "clingo": "clingo", "cozo": "pycozo",
            "torch": "torch", "deepproblog": "deepproblog"}
SOUFFLE = os.environ.get("SOUFFLE", "souffle")


def is_here(engine):
    if engine == "souffle":
        return shutil.which(SOUFFLE) is not None
    return importlib.util.find_spec(PACKAGES[engine]) is not None


def clocked(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, int(result)


def duck(tables, query):
    def run():
        import duckdb
        base = duckdb.connect()
        base.execute("SET threads = 1")
        for name, file in tables:
            base.execute(f"CREATE TABLE {name} AS SELECT column0 AS a, column1 AS b FROM "
                         f"read_csv('{os.path.join(OUT, file)}', header = false)")
        return clocked(lambda: base.execute(query).fetchone()[0])
    return run


def clingo_rules(tables, rules, counted):
    def run():
        import clingo
        control = clingo.Control(["--warn=none"])
        facts = []
        for name, file in tables:
            with open(os.path.join(OUT, file), encoding="utf-8") as lines:
                facts += [f"{name}({line.strip()})." for line in lines]
        control.add("base", [], "\n".join(facts) + rules)

        def ground():
            control.ground([("base", [])])
            return sum(1 for _ in control.symbolic_atoms.by_signature(counted, 2))
        return clocked(ground)
    return run


def blas_closure(file, size):
    def run():
        import graphblas as gb
        with open(os.path.join(OUT, file), encoding="utf-8") as lines:
            rows = [tuple(map(int, line.split(","))) for line in lines]
        edge = gb.Matrix.from_coo([r[0] for r in rows], [r[1] for r in rows], True,
                                  nrows=size, ncols=size, dtype=bool)
        gb.ss.config["nthreads"] = 1

        def close():
            path = edge.dup()
            new = edge.dup()
            while new.nvals > 0:
                found = gb.Matrix(bool, size, size)
                found(~path.S, replace=True) << edge.mxm(new, gb.semiring.any_pair)
                path(gb.binary.any) << found
                new = found
            return path.nvals
        return clocked(close)
    return run


def blas_product():
    """A max-min product of two 256 x 256 matrices without an empty entry."""
    import graphblas as gb
    import numpy
    gb.ss.config["nthreads"] = 1
    a, b = (gb.Matrix.from_dense(numpy.random.rand(256, 256).astype("f4")) for _ in range(2))
    a.mxm(b, gb.semiring.max_min).new()
    return clocked(lambda: [a.mxm(b, gb.semiring.max_min).new() for _ in range(5)][0].nrows)


def cozo(tables, rules, counted):
    def run():
        from pycozo.client import Client
        base = Client("mem", "", dataframe=False)
        for name, file in tables:
            with open(os.path.join(OUT, file), encoding="utf-8") as lines:
                rows = [list(map(int, line.split(","))) for line in lines]
            base.run(f":create {name} {{a: Int, b: Int}}")
            base.put(name, [{"a": a, "b": b} for a, b in rows])
        query = f"{rules} ?[count(a)] := {counted}[a, b]"
        return clocked(lambda: base.run(query)["rows"][0][0])
    return run


def compiled(text):
    """A program of Soufflé, compiled once."""
    path = os.path.join(OUT, "souffle-" + hashlib.sha256(text.encode()).hexdigest()[:16])
    if not os.path.exists(path):
        with open(path + ".dl", "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([SOUFFLE, "-j1", "-o", path, path + ".dl"], check=True, capture_output=True)
    return path


def peak():
    """The program that starts commands; peak.c says why Python does not."""
    path, source = os.path.join(OUT, "peak"), os.path.join(HERE, "peak.c")
    if not os.path.exists(path) or os.path.getmtime(path) <= os.path.getmtime(source):
        subprocess.run(["cc", "-std=gnu17", "-O2", "-o", path, source], check=True)
    return path


def process(command):
    """CPU seconds, output and bytes of a process."""
    used = os.path.join(OUT, "peak.txt")
    out = subprocess.run([peak(), used, *command], text=True, stdout=subprocess.PIPE, cwd=OUT,
                         check=True).stdout
    with open(used, encoding="ascii") as file:
        seconds, kibibytes = file.read().split()
    return float(seconds), out, 1024 * int(kibibytes)


def souffle(tables, rules, counted):
    """The compiled program less one that reads the same facts and derives nothing, as Takt's."""
    facts = "".join(f".decl {name}(a: number, b: number)\n"
                    f'.input {name}(IO=file, filename="{file}", delimiter=",")\n'
                    for name, file in tables)
    heads = sorted({word.split("(")[0].strip() for word in rules.replace(").", ")\n").split("\n")
                    if "(" in word})
    more = "".join(f".decl {name}(a: number, b: number)\n" for name in heads)
    full = f"{facts}{more}.printsize {counted}\n{rules}\n"
    # Every input is needed for the result, or Soufflé would not read it.
    empty = (f"{facts}.decl {counted}(a: number, b: number)\n.printsize {counted}\n" + "".join(
        f"{counted}(X,Y) :- {name}(X,Y), X < Y, Y < X.\n" for name, _ in tables))

    def run():
        base, program = compiled(empty), compiled(full)
        lower = min(process([base, "-F", OUT])[0] for _ in range(3))
        runs = [process([program, "-F", OUT]) for _ in range(3)]
        return (max(min(r[0] for r in runs) - lower, 0.0), int(runs[0][1].split()[-1]),
                max(r[2] for r in runs))
    return run
