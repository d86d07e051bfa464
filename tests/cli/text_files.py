"""text_files.py - converts language models between forms: files in parts, and folders."""
import json
import os
import random
import re

import _words
from _cli import ROOT, TMP, expect, fails, finish, succeeds, takt

TINY = "tests/corpus/gguf/tiny.gguf"


def shards():
    """A file in parts: the same text, and back to the same bytes; mapped, too."""
    whole, back = os.path.join(TMP, "parts.gguf"), os.path.join(TMP, "back.gguf")
    told = succeeds("convert", TINY, "-o", whole, "--shard-size", "6K")
    first = told.split(":")[0]
    expect(re.search(r"parts-00001-of-0000[2-9]\.gguf$", first), f"{told} is not a first part")
    texts = [succeeds("generate", m, "a b", "-n", "8", "--temp", "0", "-q") for m in (TINY, first)]
    expect(texts[0] == texts[1], f"{texts}")
    succeeds("convert", first, "-o", back)
    with open(os.path.join(ROOT, TINY), "rb") as a, open(back, "rb") as b:
        expect(a.read() == b.read(), "joined parts are another file")
    second = first.replace("-00001-", "-00002-")
    fails(1, "generate", second, "a", says=["tokenizer", "first part"])
    fails(1, "plan", second, says=["not the first part", "-00001-of-"])
    os.rename(second, back)
    fails(1, "generate", first, "a", says=["-00002-of-", "all of them in one folder"])


def folders():
    """A GGUF file as a folder: the same scores, and back to the same tensors."""
    place, plain = os.path.join(TMP, "unpacked"), os.path.join(TMP, "plain.gguf")
    expect("blocks" in takt("convert", TINY, "-o", place + "/").stderr, "blocks are not told")
    succeeds("convert", TINY, "-o", plain, "--outtype", "f32")
    texts = [succeeds("generate", m, "a b", "-n", "8", "--temp", "0", "-q") for m in (plain, place)]
    expect(texts[0] == texts[1], f"{texts}")
    rates = [succeeds("perplexity", m, "-p", "a b a c", "-c", "16", "--json")
             for m in (plain, place)]
    expect(rates[0] == rates[1], f"{rates}")
    ids = [succeeds("tokenize", m, "a b. <s>c", "--ids") for m in (TINY, place)]
    expect(ids[0] == ids[1], f"{ids}")
    with open(os.path.join(place, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    expect(config["model_type"] == "llama" and config["num_key_value_heads"] == 2 and
           config["rms_norm_eps"] == 1e-5 and config["tie_word_embeddings"] is True, f"{config}")
    back = os.path.join(TMP, "folder.gguf")
    succeeds("convert", place, "-o", back)
    succeeds("convert", back, "-o", place + "2/", "--outtype", "f16")
    shapes = os.path.getsize(os.path.join(place, "model.safetensors"))
    expect(os.path.getsize(os.path.join(place + "2", "model.safetensors")) < shapes, "not smaller")
    fails(1, "convert", "tests/corpus/gguf/tiny_t5.gguf", "-o", place + "3/",
          says=["t5", "not written"])
    fails(1, "convert", "examples/mlp.takt", "-o", place + "3/", says=["not a GGUF"])
    fails(2, "convert", TINY, "-o", place + "3/", "--outtype", "q8_0", says=["f16 and bf16"])


def read_only():
    """A prompt cache that cannot be replaced is told once, and the text is written; one that
    cannot be made is refused before anything is computed. Nobody may make files in /proc."""
    ask = ["generate", TINY, "-n", "3", "--temp", "0", "-q"]
    want = succeeds(*ask, "a b a", "--prompt-cache", os.path.join(TMP, "kept.kv"))
    before = os.path.getsize(os.path.join(TMP, "kept.kv"))
    with open(os.path.join(TMP, "kept.kv"), "rb") as file:
        name = f"/proc/self/fd/{file.fileno()}"
        for more, notes in (([], 1), (["--prompt-cache-ro"], 0)):
            run = takt(*ask, "a b a", "--prompt-cache", name, *more, pass_fds=[file.fileno()])
            expect(run.returncode == 0 and run.stdout == want, f"{more}: {run}")
            expect(run.stderr.count("cannot write") == notes and
                   ("stays as it was" in run.stderr) == (notes == 1), f"{more}: {run}")
        talk = takt(*ask, "--chat-template", "vicuna", "--interactive", "--prompt-cache", name,
                    input="a b\nb\n", pass_fds=[file.fileno()])
        expect(talk.returncode == 0 and talk.stderr.count("cannot write") == 1, f"{talk}")
    expect(os.path.getsize(os.path.join(TMP, "kept.kv")) == before, "the cache has changed")
    run = takt(*ask, "a", "--prompt-cache", os.path.join(TMP, "missing", "kept.kv"))
    expect(run.returncode == 1 and run.stdout == "" and "there is no folder" in run.stderr,
           f"a cache without a folder: {run}")


def few_bits():
    """Types of few bits, and a scale per matrix: with activations rounded or not, as floats, and
    mapped; a folder has no name for the scale."""
    rare, floats = "tests/corpus/gguf/tiny_grids.gguf", os.path.join(TMP, "grids.gguf")
    succeeds("convert", rare, "-o", floats, "--outtype", "f32")
    texts = {succeeds("generate", m, "a b", "-n", "8", "--temp", "0", "-q", *more)
             for m in (rare, floats) for more in ([], ["--activations", "f32"])}
    expect(len(texts) == 1 and texts != {""}, f"{texts}")
    fails(1, "convert", rare, "-o", os.path.join(TMP, "grids/"), says=["ffn_down.scale"])


def scaled_experts():
    """Experts with a scale for each matrix: the same scores as if the weights had been scaled. The
    scales are powers of two, so that both are exact."""
    tiny = _words._tiny  # pylint: disable=protected-access
    draw, scales = random.Random(5), {"gate": [0.5, 4.0], "up": [2.0, 0.25], "down": [1.0, 8.0]}
    more = {"expert_count": 2, "expert_used_count": 1, "attention.layer_norm_rms_epsilon": 1e-5}
    weights = {name: [[draw.gauss(0, 0.3) for _ in range(32 * 32)] for _ in range(2)]
               for name in scales}
    told = []
    for applied in (False, True):
        rows = [("blk.0.ffn_gate_inp.weight", [32, 2], tiny.F32, None),
                ("token_embd.weight", [32, 11], tiny.F32, None)]
        rows += [(f"{name}.weight", [32], tiny.F32, 1.0)
                 for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")]
        rows += [(f"blk.0.attn_{name}.weight", [32, 32], tiny.F32, None)
                 for name in ("q", "k", "v", "output")]
        for name, each in scales.items():
            flat = [x * (s if applied else 1) for w, s in zip(weights[name], each) for x in w]
            rows.append((f"blk.0.ffn_{name}_exps.weight", [32, 32, 2], tiny.F32, flat))
            if not applied:
                rows.append((f"blk.0.ffn_{name}_exps.scale", [2], tiny.F32, each))
        with open(os.path.join(TMP, f"experts{applied}.gguf"), "wb") as file:
            file.write(tiny.gguf(tiny.settings("llama", **more) + tiny.llama_words(), rows))
        told.append(succeeds("perplexity", file.name, "-p", "a b a c", "-c", "16", "--json"))
    expect(told[0] == told[1], f"{told}")


shards()
folders()
read_only()
few_bits()
scaled_experts()
finish()
