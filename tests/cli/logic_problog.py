"""logic_problog.py - random programs under `probability` have the probabilities that ProbLog finds.

Needs the Python package problog, here or in build/venv; without it this is skipped. TAKT_PROGRAMS
says how many programs, TAKT_FIRST the first seed. Every other program is computed in f64.
"""
import os
import random
import signal

import _venv

try:
    from problog import get_evaluatable
    from problog.program import PrologString
except ImportError:
    _venv.instead("problog")

from _cli import TMP, expect, finish, takt  # noqa: E402

FIRST, PROGRAMS = int(os.environ.get("TAKT_FIRST", "0")), int(os.environ.get("TAKT_PROGRAMS", "30"))
RULES = 3
VARIABLES = ["x", "y", "z"]


def literal(sign, name, args, is_prolog):
    text = f"{name}({', '.join(a.upper() if is_prolog else a for a in args)})"
    return text if sign else ("\\+" if is_prolog else "not ") + text


def program(seed):
    """The same program for Takt and for ProbLog: weighted facts, rules with recursion, negation of
    lower rules and weights."""
    rng = random.Random(seed)
    size = rng.randint(2, 3)
    wide, parts = ("truth=f64", 10) if seed % 2 == 1 else ("", 16)
    ours = [f"domain d = {size}", f"model m() semantics=probability {wide} {{"]
    theirs = [f"v({i})." for i in range(size)]
    for name, arity in (("p0", 1), ("p1", 2)):
        rows = []
        for at in range(size ** arity):
            if rng.random() < 0.4:
                continue
            entry = [at] if arity == 1 else [at // size, at % size]
            weight = rng.randint(1, parts) / parts
            rows.append("[" + ", ".join(map(str, entry)) + f", {weight}]")
            theirs.append(f"{weight}::{name}({','.join(map(str, entry))}).")
        rows = rows or ["[" + "0, " * arity + "0.5]"]
        if len(rows) == 1 and rows[0].endswith(" 0.5]") and f"::{name}(" not in "".join(theirs):
            theirs.append(f"0.5::{name}({','.join(['0'] * arity)}).")
        ours.append(f"  relation {name}({', '.join(['d'] * arity)}) = [{', '.join(rows)}]")
    arity = {"p0": 1, "p1": 2}
    for rule in range(RULES):
        head = f"p{2 + rule}"
        arity[head] = rng.randint(1, 2)
        variables = VARIABLES[:arity[head]]
        for _ in range(rng.randint(1, 2)):
            literals = []
            for _ in range(rng.randint(1, 3)):
                name = rng.choice(list(arity))
                sign = name == head or rng.random() < 0.75
                literals.append((sign, name, rng.choices(VARIABLES, k=arity[name])))
            weight = rng.choice([1, 1, 0.25])
            bound = [v for v in VARIABLES if v not in variables]
            used = [v for v in bound if any(v in args for _, _, args in literals)]
            text = " and ".join(literal(*part, False) for part in literals)
            text = f"exists {', '.join(used)}: {text}" if used else text
            given = ", ".join(f"{v}: d" for v in variables)
            ours.append(f"  rule {head}({given}) weight={weight} = {text}")
            every = [f"v({v.upper()})" for v in variables + used]
            body = ", ".join(every + [literal(*part, True) for part in
                                      sorted(literals, key=lambda part: not part[0])])
            upper = ", ".join(v.upper() for v in variables)
            clause = f"c{len(theirs)}({upper})"
            theirs.append(f"{clause} :- {body}.")
            if weight != 1:
                theirs.append(f"{weight}::w{len(theirs)}({upper}) :- "
                              + ", ".join(f"v({v.upper()})" for v in variables) + ".")
                clause += f", w{len(theirs) - 1}({upper})"
            theirs.append(f"{head}({upper}) :- {clause}.")
    heads = [f"p{2 + rule}" for rule in range(RULES)]
    for head in heads:
        theirs.append(f"query({head}({', '.join('_' * arity[head])})).")
    ours += [f"  return {', '.join(heads)}", "}"]
    return "\n".join(ours) + "\n", "\n".join(theirs) + "\n", heads


def answers(path, heads):
    """What Takt finds, by name."""
    files = {head: os.path.join(TMP, head + ".tsv") for head in heads}
    run = takt("run", path, *(flag for head in heads for flag in ("-o", f"{head}={files[head]}")))
    got = {}
    for head in heads if run.returncode == 0 else ():
        with open(files[head], encoding="utf-8") as file:
            for line in file.read().splitlines():
                *entry, value = line.split("\t")
                got[f"{head}({','.join(entry)})"] = float(value)
    return run, got


class Slow(Exception):
    pass


def stop(_signal, _frame):
    raise Slow


def wanted(text):
    """ProbLog's probabilities above 0, or None where it takes more than 3 seconds of CPU time."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, 3)
        found = get_evaluatable().create_from(PrologString(text)).evaluate()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except Slow:
        return None
    return {str(k).replace(" ", ""): v for k, v in found.items() if v > 0}


def main():
    asked = slow = done = 0
    worst = [0.0, 0.0]
    path = os.path.join(TMP, "random.takt")
    signal.signal(signal.SIGVTALRM, stop)
    for seed in range(FIRST, FIRST + PROGRAMS):
        ours, theirs, heads = program(seed)
        want = wanted(theirs)
        if want is None:
            slow += 1
            continue
        with open(path, "w", encoding="utf-8") as file:
            file.write(ours)
        run, got = answers(path, heads)
        if not expect(run.returncode == 0, f"seed {seed}: {run.stderr}\n{ours}"):
            break
        asked, done = asked + len(want), done + 1
        same = expect(set(got) == set(want), f"seed {seed}: {set(got) ^ set(want)}\n{ours}{theirs}")
        for name in set(got) & set(want):
            apart = abs(got[name] - want[name])
            worst[seed % 2] = max(worst[seed % 2], apart)
            same &= expect(apart < (1e-9 if seed % 2 == 1 else 2e-6),
                           f"seed {seed}: {name} is {got[name]}, not {want[name]}\n{ours}{theirs}")
        if not same:
            break
    expect(asked >= 2 * done, f"only {asked} probabilities were compared")
    print(f"{done} programs, {slow} more too slow for ProbLog, {asked} probabilities, largest "
          f"difference {worst[0]:.1e} in f32, {worst[1]:.1e} in f64")


main()
finish()
