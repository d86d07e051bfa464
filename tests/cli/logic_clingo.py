"""logic_clingo.py - random stratified programs have the tuples that clingo finds: bits and sets.

Needs the Python package clingo, here or in build/venv; without it this is skipped.
"""
import os
import random
import sys

try:
    import clingo
except ImportError:
    VENV = os.environ.get("TAKT_VENV", "build/venv")
    PYTHON = os.path.join(VENV, "bin", "python")
    if os.path.exists(PYTHON) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(PYTHON, [PYTHON, "-B", os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print("skipped: clingo is not installed; pip install clingo in build/venv gets it")
    sys.exit(77)

from _cli import TMP, expect, finish, takt  # noqa: E402

PROGRAMS, FACTS, RULES = 40, 2, 5
VARIABLES = ["x", "y", "z", "w"]


def atom(name, args, asp):
    return f"{name}({', '.join(a.upper() if asp else a for a in args)})"


def clause(rng, arity, rule):
    """A body: (literals, variables); literals are (sign, name, arguments) or comparisons."""
    while True:
        literals = []
        for _ in range(rng.randint(1, 3)):
            which = rng.randrange(FACTS + rule + 1)
            literals.append((True, f"p{which}", rng.choices(VARIABLES, k=arity[which])))
        bound = sorted({v for _, _, args in literals for v in args})
        lower = FACTS + rule  # negated: of lower strata
        if rng.random() < 0.4:
            which = rng.randrange(lower)
            literals.append((False, f"p{which}", rng.choices(bound, k=arity[which])))
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
    rng = random.Random(seed)
    size, is_set = rng.randint(2, 7), seed % 3 == 0
    arity = [rng.randint(1, 2) for _ in range(FACTS + RULES)]
    text = [f"domain d = {size}", "model m() {"]
    asp = [f"d(0..{size - 1})."]
    for i in range(FACTS):
        rows = {tuple(rng.randrange(size) for _ in range(arity[i])) for _ in range(6)}
        text.append(f"  relation p{i}({', '.join(['d'] * arity[i])}) = "
                    f"{[list(row) for row in sorted(rows)]}")
        asp += [f"p{i}({', '.join(map(str, row))})." for row in rows]
    for i in range(RULES):
        head = VARIABLES[:arity[FACTS + i]]
        bodies = []
        for _ in range(rng.randint(1, 2)):
            literals, bound = clause(rng, arity, i)
            body = " and ".join(written(literal, False) for literal in literals)
            free = [v for v in bound if v not in head]
            bodies.append(f"(exists {', '.join(free)}: {body})" if free else f"({body})")
            asp.append(f"{atom(f'p{FACTS + i}', head, True)} :- "
                       f"{', '.join(written(literal, True) for literal in literals)}, "
                       f"{', '.join(f'd({v.upper()})' for v in bound)}.")
        typed = ", ".join(f"{v}: d" for v in head)
        text.append(f"  rule p{FACTS + i}({typed}){' capacity=500' if is_set else ''} = "
                    f"{' or '.join(bodies)}")
    names = [f"p{FACTS + i}" for i in range(RULES)]
    return "\n".join(text + [f"  return {', '.join(names)}", "}", ""]), "\n".join(asp), names


def answers(asp):
    control = clingo.Control(["--warn=none"])
    control.add("base", [], asp)
    control.ground([("base", [])])
    found = {}
    with control.solve(yield_=True) as handle:
        for symbol in handle.model().symbols(atoms=True):
            found.setdefault(symbol.name, set()).add(
                tuple(argument.number for argument in symbol.arguments))
    return found


tuples = 0
for number in range(1, PROGRAMS + 1):
    source, rules, relations = program(number)
    path = os.path.join(TMP, "program.takt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    files = {name: os.path.join(TMP, name + ".tsv") for name in relations}
    flags = [flag for name in relations for flag in ("-o", f"{name}={files[name]}")]
    run = takt("run", path, *flags)
    if not expect(run.returncode == 0, f"{run.stderr}\n{source}"):
        break
    want = answers(rules)
    for name in relations:
        with open(files[name], encoding="utf-8") as file:
            got = {tuple(map(int, line.split("\t"))) for line in file.read().splitlines()}
        tuples += len(got)
        expect(got == want.get(name, set()), f"{name}: {got} instead of {want.get(name)}\n{source}")
expect(tuples > 200, f"{tuples} tuples in all")
print(f"{PROGRAMS} programs, {tuples} tuples, clingo {clingo.__version__}")
finish()
