"""divergence_slow.py - the loss by rounding, compared with llama.cpp: the mean Kullback-Leibler
divergence from exact arithmetic over 2,048 tokens, with activations in 8 bits for each type of
weights, and with a cache of keys and values in q8_0. Super-blocks and such a cache want longer rows
and heads than stories260K has: models with random weights take its place. At most 1.1 times
llama.cpp's own. Needs the package xllamacpp and the model stories260K of the shared data."""
import os
import sys

import _tiny
from _library import ROOT, TMP, ctx, failure, takt
from _llama import F32, Q8_0, Model, library, numpy

SMALL = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
SUPER = ("q6_k", "q5_k", "q4_k", "q3_k", "q2_k")
TOKENS, FACTOR = 2048, 1.1
STORIES = os.path.join(os.environ.get("TAKT_DATA", os.path.join(ROOT, "../shared/data")),
                       "llm/stories260K/stories260K-F32.gguf")


def divergence(exact, rounded):
    p, q = (x - numpy.log(numpy.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)) -
            x.max(1, keepdims=True) for x in (exact, rounded))
    return float((numpy.exp(p) * (p - q)).sum(1).mean())


def told(what, ours, theirs):
    print(f"{what}: {ours:.3e}, llama.cpp {theirs:.3e}: {ours / theirs:.2f} of it", flush=True)
    return not 0 < ours <= FACTOR * theirs


def weights(llama, model, types):
    """The model with weights of each type; how many lose too much."""
    ids, wrong = model.text(TOKENS), 0
    for name in types:
        path = os.path.join(TMP, f"{name}.gguf")
        if takt.takt_text_convert(ctx, model.path.encode(), path.encode(), name.encode()) != 0:
            raise failure()
        made = Model(path, model.words, model.piece)
        exact = made.by_takt(ids)
        wrong += told(f"weights in {name}", divergence(exact, made.by_takt(ids, b"int8")),
                      divergence(exact, made.by_llama(llama, ids, F32)))
    return wrong


def random(name, data):
    path = os.path.join(TMP, name)
    with open(path, "wb") as file:
        file.write(data)
    return Model(path, 11, 64)


def main():
    if not os.path.exists(STORIES):
        print(f"skipped: {STORIES} is not there")
        sys.exit(77)
    llama = library()
    wrong = weights(llama, Model(STORIES, 512, 256), SMALL)
    wrong += weights(llama, random("deep.gguf", _tiny.wide(256)), SUPER)
    model = random("wide.gguf", _tiny.wide())
    ids = model.text(TOKENS)
    exact = model.by_takt(ids)
    wrong += told("cache in q8_0", divergence(exact, model.by_takt(ids, kind=b"q8_0")),
                  divergence(exact, model.by_llama(llama, ids, Q8_0)))
    return wrong


sys.exit(main() != 0)
