"""logic_kinship.py - examples/kinship.takt learns how 20 relations compose from chains of 2 to 4,
and then names the relation at the end of chains of 10.

Relations are the elements of a dihedral group, as in the kinship systems that anthropologists
describe by such groups: who is whose depends on the order of a chain.
"""
import io
import random
import zipfile

from _cli import expect, finish, npy, parsed, path, succeeds, write

KIN, HALF = 20, 10


def compose(a, b):
    turn = b % HALF if a < HALF else -b % HALF
    return (a + turn) % HALF + HALF * ((a < HALF) != (b < HALF))


def chains(name, count, lengths, seed):
    rng, rows, labels = random.Random(seed), [], []
    for _ in range(count):
        steps = [rng.randrange(KIN) for _ in range(rng.choice(lengths))]
        end = steps[0]
        for step in steps[1:]:
            end = compose(end, step)
        for at in range(max(lengths)):
            rows += [float(at < len(steps) and steps[at] == kin) for kin in range(KIN)]
        labels.append(end)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("chain.npy", npy((count, max(lengths), KIN), rows))
        file.writestr("label.npy", npy((count,), labels, "<i8", "q"))
    return write(name, packed.getvalue())


triples = [(a, b, c) for a in range(KIN) for b in range(KIN) for c in (3, 14)]
expect(all(compose(compose(a, b), c) == compose(a, compose(b, c)) for a, b, c in triples),
       "relations do not compose")
SHORT, LONG = chains("short.npz", 6000, [2, 3, 4], 1), chains("long.npz", 400, [10], 2)
MODEL, TRAINED, WEIGHTS = "examples/kinship.takt", path("kin.taktp"), path("kin.safetensors")
before = parsed("eval", MODEL, "--data", LONG, "--json")["constraints"][0]
succeeds("train", MODEL, "--data", SHORT, "--optimizer", "adam", "--lr", "0.1", "--epochs", "8",
         "-o", TRAINED)
succeeds("convert", TRAINED, "-o", WEIGHTS)
after = parsed("eval", MODEL, "--weights", WEIGHTS, "--data", LONG, "--json")["constraints"][0]
expect(before["satisfied"] < 0.2, f"{before}")
expect(after["satisfied"] >= 0.98, f"chains of 10: {after}")
print(f"chains of 10: {100 * after['satisfied']:.1f} %, mean truth {after['mean_truth']:.4f}")
finish()
