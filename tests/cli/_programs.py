"""_programs.py - random stratified programs, for Takt and for clingo."""
import random

FACTS, RULES = 2, 5
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
