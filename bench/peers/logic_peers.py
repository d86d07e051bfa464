"""logic_peers.py - the same rules in DuckDB, clingo and GraphBLAS: CPU seconds and a count."""
import os
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "build", "peers", "logic")


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
