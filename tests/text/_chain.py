"""_chain.py - random cases for samplers, in the form that tests/text/chain.c reads."""
import os
import random
import struct
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build/release"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")

VOCABULARY = 11  # of tests/corpus/gguf/tiny.gguf, whose tokens the breakers consist of
BREAKERS = [[], ["b"], ["a b", "c"], ["b a b"], ["\n", ":", "a"]]


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def cases(seed=7):
    """(name, settings, scores, history, breakers) of each sampler, and of chains of several."""
    r = random.Random(seed)

    def scores(count, scale=3):
        return [f32(r.gauss(0, scale)) for _ in range(count)]

    for i in range(6):
        for name, s in [
                ("temperature", {"temperature": 0.3 + 0.3 * i}),
                ("temperature", {"temperature": 1.0, "dynatemp_range": 0.15 * (i + 1),
                                 "dynatemp_exponent": 0.5 + 0.5 * i}),
                ("top_n_sigma", {"top_n_sigma": 0.4 * (i + 1)}),
                ("top_k", {"top_k": 1 + 3 * i}), ("top_p", {"top_p": 0.2 + 0.15 * i}),
                ("min_p", {"min_p": 0.02 + 0.1 * i}), ("typ_p", {"typical_p": 0.2 + 0.15 * i}),
                ("xtc", {"xtc_probability": 1.0, "xtc_threshold": 0.02 + 0.05 * i})]:
            yield name, s, scores(40, 1 + i / 2), [], []
        yield ("penalties", {"repeat_penalty": 1.1 + 0.2 * i, "presence_penalty": 0.1 * i,
                             "frequency_penalty": 0.05 * i, "repeat_last_n": 4 + 3 * i},
               scores(40), [r.randrange(40) for _ in range(20)], [])
    for i in range(40):
        few = r.randrange(1, 5)  # number of distinct tokens: the fewer, the longer repetitions are
        history = [4 + r.randrange(few) for _ in range(r.randrange(0, 60))]
        if i % 4 == 0:
            history = history + history
        yield ("dry", {"dry_multiplier": 0.3 + 0.1 * r.random(), "dry_base": 1 + r.random(),
                       "dry_allowed_length": r.randrange(1, 5),
                       "dry_penalty_last_n": r.choice([-1, -1, 10, 30])},
               scores(VOCABULARY), history, r.choice(BREAKERS))
    for i in range(6):
        yield ("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature",
               {"repeat_penalty": 1.1, "repeat_last_n": 64, "dry_multiplier": 0.8, "dry_base": 1.75,
                "dry_allowed_length": 2, "dry_penalty_last_n": -1, "top_n_sigma": 2.0, "top_k": 9,
                "typical_p": 0.97, "top_p": 0.95, "min_p": 0.01, "xtc_probability": 1.0,
                "xtc_threshold": 0.15, "temperature": 0.7, "dynatemp_range": 0.2,
                "dynatemp_exponent": 1.0},
               scores(VOCABULARY), [4 + r.randrange(3) for _ in range(30)], ["b"])


def text_of(want):
    """`want`: a function from a case to {id: probability}."""
    lines = []
    for i, (order, settings, scores, history, breakers) in enumerate(cases()):
        filled = {"temperature": 1.0, **settings}
        lines.append(f"case {order.split(';')[0]}_{i} {order} " +
                     " ".join(f"{k}={v!r}" for k, v in filled.items()))
        lines.append("scores " + " ".join(f"{x:.9g}" for x in scores))
        lines.append("history " + " ".join(map(str, history)))
        lines += ["breaker " + b.encode().hex() for b in breakers]
        got = want(order.split(";"), filled, scores, history, breakers)
        lines.append("want " + " ".join(f"{k}:{v:.9g}" for k, v in sorted(got.items())))
    return "\n".join(lines) + "\n"


def check(text):
    """The exit status of tests/text/chain.c over these cases."""
    path = os.path.join(TMP, "cases.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return subprocess.run([os.path.join(BUILD, "text_chain"), path], cwd=ROOT,
                          check=False).returncode
