"""logic_embedded.py - rules over relations in an embedding space: at temperature 0 random programs
derive exactly the same as from the facts themselves; above it they generalise.

TAKT_PROGRAMS says how many programs, TAKT_FIRST the first seed. Programs share a text, 40 to each,
under names of their own. Facts are embedded by random unit vectors of 128 numbers, as in
examples/embedded.takt.
"""
import os
import re

from _cli import TMP, expect, finish, takt
from _programs import FACTS, program

FIRST, PROGRAMS = int(os.environ.get("TAKT_FIRST", "1")), int(os.environ.get("TAKT_PROGRAMS", "40"))
TOGETHER = 40
LAYERS = """
layer gate(x, temperature: float) {
  if temperature > 0 {
    y = sigmoid((x - 0.5) / temperature)
  } else {
    y = cast(x > 0.5, dtype=f32)
  }
  return y
}

layer alike(size: int, temperature: float) {
  param object: f32[size, 128] = normal(0, 1)
  unit = object / sqrt(reduce_sum(object * object, axes=[-1], keep=true))
  return gate(unit @ transpose(unit), temperature)
}

layer recall(r, like) {
  if rank(r) == 1 {
    y = einsum("xa,a->x", like, r)
  } else {
    y = einsum("xa,ab,yb->xy", like, r, like)
  }
  return clip(y, min=0, max=1)
}
"""


def embedded(part, seed, temperature):
    """The statements of a program whose rules read embedded facts."""
    domain, lines, _, _ = part
    size = int(domain.split("=")[1])
    text = [f"  like{seed} = alike({size}, {temperature})"]
    for line in lines[:FACTS]:
        name = re.match(r"\s*relation (\w+)", line).group(1)
        text.append(re.sub(r"(\d)\](?=[,\]])", r"\1, 1]", line))
        text.append(f"  e{name} = recall({name}, like{seed})")
    for line in lines[FACTS:]:
        line = line.replace(" capacity=500", "")
        text.append(re.sub(rf"\b(p{seed}_[0-{FACTS - 1}])\(", r"e\1(", line))
    return text


def answers(head, parts, lines, path):
    """The tuples that a text derives: {name: {tuple: truth}}, or None."""
    names = [name for part in parts for name in part[3]]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*(part[0] for part in parts), head, *lines,
                              f"  return {', '.join(names)}", "}", ""]))
    files = {name: os.path.join(TMP, name + ".tsv") for name in names}
    run = takt("run", path, *(flag for name in names for flag in ("-o", f"{name}={files[name]}")))
    if not expect(run.returncode == 0, f"{path}: {run.stderr}"):
        return None
    found = {}
    for name in names:
        with open(files[name], encoding="utf-8") as file:
            found[name] = [line.split("\t") for line in file.read().splitlines()]
        os.remove(files[name])
    return found


def together(seeds, temperature):
    """The number of tuples, and of programs whose embedded facts derive others or doubtful ones."""
    parts = [program(seed) for seed in seeds]
    plain = answers("model m() {", parts, [line for part in parts for line in part[1]],
                    os.path.join(TMP, "plain.takt"))
    soft = answers(LAYERS + f"model m() semantics=godel seed={seeds[0]} {{", parts,
                   [line for part, seed in zip(parts, seeds)
                    for line in embedded(part, seed, temperature)],
                   os.path.join(TMP, "embedded.takt"))
    if plain is None or soft is None:
        return None
    count, others = 0, []
    for part, seed in zip(parts, seeds):
        count += sum(len(plain[name]) for name in part[3])
        if any(soft[name] != [[*row, "1"] for row in plain[name]] for name in part[3]):
            others.append(seed)
    return count, others


tuples, done = 0, 0
while done < PROGRAMS:
    more = min(TOGETHER, PROGRAMS - done)
    found = together(range(FIRST + done, FIRST + done + more), 0.0)
    if found is None or not expect(not found[1], f"programs {found[1]} derive something else"):
        break
    tuples, done = tuples + found[0], done + more
expect(tuples > 3 * done, f"{tuples} tuples in all")
warm = together(range(FIRST, FIRST + 8), 0.25)
expect(warm is not None and len(warm[1]) > 0, f"nothing is guessed at temperature 0.25: {warm}")
print(f"{done} programs, {tuples} tuples at temperature 0")
finish()
