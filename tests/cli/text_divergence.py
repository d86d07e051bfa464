"""text_divergence.py - KL divergence from a reference: its figures against a computation in Python
from the models' own scores, files of probabilities, and refusals."""
import math
import os
import struct

from _cli import TMP, expect, fails, finish, parsed, succeeds

TINY = "tests/corpus/gguf/tiny.gguf"
OTHER = os.path.join(TMP, "other.gguf")
BASE = os.path.join(TMP, "base.kld")
CONTEXT, VOCABULARY = 16, 11
TEXT = "a b c a b a c b b a c a b c c a b a b c a a b c b a c a b a b b c a c a b"


def rows(path):
    """The tokens and the logarithms of probabilities of a file, piece by piece."""
    with open(path, "rb") as file:
        data = file.read()
    context, vocabulary, pieces = struct.unpack_from("<3i", data, 8)
    expect((data[:8], context, vocabulary) == (b"_logits_", CONTEXT, VOCABULARY), f"{data[:20]}")
    at = 20 + 4 * context * pieces
    tokens = struct.unpack_from(f"<{context * pieces}i", data, 20)
    out = []
    for i in range(pieces):
        for k in range(context // 2, context - 1):
            scale, least = struct.unpack_from("<2f", data, at)
            words = struct.unpack_from(f"<{VOCABULARY}H", data, at + 8)
            at += 8 + 2 * 2 * ((VOCABULARY + 1) // 2)
            out.append((tokens[i * context + k + 1], [least + scale * w for w in words]))
    expect(at == len(data), f"{path} has {len(data)} bytes, not {at}")
    return out


def close(a, b, what, tolerance=2e-3):
    expect(abs(a - b) <= tolerance * max(abs(b), 1e-3), f"{what}: {a}, not {b}")


def figures(model, reference):
    """By definition, from two files."""
    each, same, nll = [], 0, []
    for (token, p), (_, q) in zip(reference, model):
        each.append(sum(math.exp(x) * (x - y) for x, y in zip(p, q)))
        same += p.index(max(p)) == q.index(max(q))
        nll.append(-p[token])
    n = len(each)
    mean = sum(each) / n
    ordered = sorted(each)
    rank = 0.999 * (n - 1)
    low = int(rank)
    p999 = ordered[low] + (rank - low) * (ordered[min(low + 1, n - 1)] - ordered[low])
    return {"mean": mean, "maximum": max(each), "same_top": same / n, "p99.9": p999,
            "mean_error": math.sqrt(sum((x - mean) ** 2 for x in each) / (n - 1) / n),
            "same_top_error": math.sqrt(same / n * (1 - same / n) / (n - 1)),
            "reference_perplexity": math.exp(sum(nll) / n)}


def divergence():
    succeeds("convert", TINY, "-o", OTHER, "--outtype", "q4_0")
    text = ["-p", TEXT, "-c", str(CONTEXT), "--json"]
    exact = ["--activations", "f32"]
    kept = parsed("perplexity", TINY, *text, *exact, "--kl-divergence-base", BASE)
    reference = rows(BASE)
    expect(len(reference) == kept["tokens"], f"{kept}")
    changed = os.path.join(TMP, "changed.kld")
    plain = parsed("perplexity", OTHER, *text, "--kl-divergence-base", changed)
    want = figures(rows(changed), reference)
    for ref in ([*text, "--kl-divergence", TINY], ["--json", "--kl-divergence", BASE]):
        got = parsed("perplexity", OTHER, *ref)
        expect(got["perplexity"] == plain["perplexity"], f"{got}, without a reference {plain}")
        close(got["reference_perplexity"], want["reference_perplexity"], "perplexity")
        for key, value in want.items():
            if key in got["kl_divergence"]:
                close(got["kl_divergence"][key], value, key)
        expect(got["kl_divergence"]["mean"] > 1e-4 and
               0 < got["kl_divergence"]["p99.9_error"] < got["kl_divergence"]["maximum"], f"{got}")
    none = parsed("perplexity", TINY, *text, *exact, "--kl-divergence", TINY)["kl_divergence"]
    expect(none["mean"] == 0 == none["maximum"] and none["same_top"] == 1, f"{none}")
    one = parsed("perplexity", OTHER, *text, "--kl-divergence", TINY, "-t", "2", "-b", "3")
    expect(one == parsed("perplexity", OTHER, *text, "--kl-divergence", TINY),
           "threads or batches change the figures")
    said = succeeds("perplexity", OTHER, *text[:-1], "--kl-divergence", TINY)
    expect("KL divergence  mean" in said and "99.9 %" in said and "same top" in said, said)


def refusals():
    fails(2, "perplexity", TINY, "-p", TEXT, "-c", "2", "--kl-divergence", TINY,
          says=["two tokens predicts nothing"])
    fails(2, "perplexity", TINY, "-p", "a b", "--kl-divergence", BASE, says=["has the text"])
    fails(2, "perplexity", TINY, "-p", "a b", "-c", "32", "--kl-divergence-base", BASE + "2",
          says=["short piece"])
    with open(BASE, "rb") as file:
        good = file.read()
    for name, data, words in (
            ("cut", good[:-2], "not a complete file"),
            ("long", good + b"\0", "not a complete file"),
            ("pieces", good[:16] + struct.pack("<i", 2**24) + good[20:], "not a complete file"),
            ("context", good[:8] + struct.pack("<i", -5) + good[12:], "not a complete file"),
            ("context_2", good[:8] + struct.pack("<3i", 2, VOCABULARY, 1) + bytes(8),
             "not a complete file"),
            ("token", good[:24] + struct.pack("<i", 99) + good[28:], "is 99"),
            ("head", good[:12], "not a complete file"),
            ("scale", good[:20 + 4 * CONTEXT * ((len(good) - 20) // (4 * CONTEXT + 7 * 32))] +
             struct.pack("<f", math.nan) + good[24 + 4 * CONTEXT *
                                                ((len(good) - 20) // (4 * CONTEXT + 7 * 32)):],
             "cannot be read")):
        path = os.path.join(TMP, name + ".kld")
        with open(path, "wb") as file:
            file.write(data)
        fails(2, "perplexity", TINY, "--kl-divergence", path, says=[words])
    fails(2, "perplexity", "tests/corpus/hf_tiny", "--kl-divergence", BASE, says=["same tokens"])
    fails(2, "perplexity", "tests/corpus/hf_tiny", "-p", "hello hello hello", "--kl-divergence",
          TINY, says=["same tokens"])
    fails(1, "perplexity", TINY, "-p", TEXT, "-c", "16", "--kl-divergence-base",
          os.path.join(TMP, "no/where"), says=["cannot write"])


divergence()
refusals()
finish()
