"""logic_clingo.py - random stratified programs have the tuples that clingo finds: bits and sets.

Needs the Python package clingo, here or in build/venv; without it this is skipped. TAKT_PROGRAMS
says how many programs, TAKT_FIRST the first seed. Programs share a text, 40 to each, under names
of their own.
"""
import os
import random

import _venv

try:
    import clingo
except ImportError:
    _venv.instead("clingo")

from _cli import TMP, expect, finish, takt  # noqa: E402

FIRST, PROGRAMS = int(os.environ.get("TAKT_FIRST", "1")), int(os.environ.get("TAKT_PROGRAMS", "40"))
FACTS, RULES, TOGETHER = 2, 5, 40
VARIABLES = ["x", "y", "z", "w"]


def atom(name, args, asp):
    return f"{name}({', '.join(a.upper() if asp else a for a in args)})"


def clause(rng, names, arity, rule):
    """A body: (literals, variables); literals are (sign, name, arguments) or comparisons."""
    while True:
        literals = []
        for _ in range(rng.randint(1, 3)):
            which = rng.randrange(FACTS + rule + 1)
            literals.append((True, names[which], rng.choices(VARIABLES, k=arity[which])))
        bound = sorted({v for _, _, args in literals for v in args})
        lower = FACTS + rule  # negated: of lower strata
        if rng.random() < 0.4:
            which = rng.randrange(lower)
            literals.append((False, names[which], rng.choices(bound, k=arity[which])))
        if len(bound) > 1 and rng.random() < 0.4:
            literals.append((rng.choice(["<", "!=", "<="]), *rng.sample(bound, 2)))
        if set(VARIABLES[:arity[FACTS + rule]]) <= set(bound):
            return literals, bound


def written(literal, asp):
    if isinstance(literal[0], bool):
        sign = "" if literal[0] else "not "
        return sign + atom(literal[1], literal[2], asp)
    left, right = (v.upper() if asp else v for v in literal[1:])
    return f"{left} {literal[0]} {right}"


def program(seed):
    """The domain, the statements, clingo's rules, and the names of what is derived."""
    rng = random.Random(seed)
    size, is_set, domain = rng.randint(2, 7), seed % 3 == 0, f"d{seed}"
    names = [f"p{seed}_{i}" for i in range(FACTS + RULES)]
    arity = [rng.randint(1, 2) for _ in names]
    text, asp = [], [f"{domain}(0..{size - 1})."]
    for i in range(FACTS):
        rows = {tuple(rng.randrange(size) for _ in range(arity[i])) for _ in range(6)}
        text.append(f"  relation {names[i]}({', '.join([domain] * arity[i])}) = "
                    f"{[list(row) for row in sorted(rows)]}")
        asp += [f"{names[i]}({', '.join(map(str, row))})." for row in rows]
    for i in range(RULES):
        head = VARIABLES[:arity[FACTS + i]]
        bodies = []
        for _ in range(rng.randint(1, 2)):
            literals, bound = clause(rng, names, arity, i)
            body = " and ".join(written(literal, False) for literal in literals)
            free = [v for v in bound if v not in head]
            bodies.append(f"(exists {', '.join(free)}: {body})" if free else f"({body})")
            asp.append(f"{atom(names[FACTS + i], head, True)} :- "
                       f"{', '.join(written(literal, True) for literal in literals)}, "
                       f"{', '.join(f'{domain}({v.upper()})' for v in bound)}.")
        typed = ", ".join(f"{v}: {domain}" for v in head)
        text.append(f"  rule {names[FACTS + i]}({typed}){' capacity=500' if is_set else ''} = "
                    f"{' or '.join(bodies)}")
    return f"domain {domain} = {size}", text, asp, names[FACTS:]


def answers(asp):
    control = clingo.Control(["--warn=none"])
    control.add("base", [], "\n".join(asp))
    control.ground([("base", [])])
    found = {}
    with control.solve(yield_=True) as handle:
        for symbol in handle.model().symbols(atoms=True):
            found.setdefault(symbol.name, set()).add(
                tuple(argument.number for argument in symbol.arguments))
    return found


def together(seeds):
    """Runs these programs as one text; the number of tuples, or None after a difference."""
    parts = [program(seed) for seed in seeds]
    names = [name for part in parts for name in part[3]]
    source = "\n".join([*(part[0] for part in parts), "model m() {",
                        *(line for part in parts for line in part[1]),
                        f"  return {', '.join(names)}", "}", ""])
    path = os.path.join(TMP, "program.takt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    files = {name: os.path.join(TMP, name + ".tsv") for name in names}
    run = takt("run", path, *(flag for name in names for flag in ("-o", f"{name}={files[name]}")))
    if not expect(run.returncode == 0, f"seeds from {seeds[0]}: {run.stderr}"):
        return None
    want = answers([line for part in parts for line in part[2]])
    count, is_good = 0, True
    for part in parts:
        for name in part[3]:
            with open(files[name], encoding="utf-8") as file:
                got = {tuple(map(int, line.split("\t"))) for line in file.read().splitlines()}
            os.remove(files[name])
            count += len(got)
            lines = "\n".join([part[0], *part[1]])
            is_good &= expect(got == want.get(name, set()),
                              f"{name}: {got} instead of {want.get(name)}\n{lines}")
    return count if is_good else None


tuples, done = 0, 0
while done < PROGRAMS:
    more = min(TOGETHER, PROGRAMS - done)
    found = together(range(FIRST + done, FIRST + done + more))
    if found is None:
        break
    tuples, done = tuples + found, done + more
expect(tuples > 3 * done, f"{tuples} tuples in all")
print(f"{done} programs, {tuples} tuples, clingo {clingo.__version__}")
finish()
