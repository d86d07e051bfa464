"""text_experts.py - experts in blocks: products with activations in 8 bits give the same text for
any number of threads, vector code, `-b` and other texts in the batch, and stay close to exact
arithmetic."""
import os
import random
import re

import _words
from _cli import TMP, expect, finish, parsed, succeeds

tiny = _words._tiny  # pylint: disable=protected-access
FILE = os.path.join(TMP, "prompts.txt")
PROMPTS = ["a b", "b", "c a b a", "a b c a b c b a"]
COUNT = {"expert_count": 4, "expert_used_count": 2, "attention.layer_norm_rms_epsilon": 1e-5}


def weights(draw, *dims):
    size = 1
    for n in dims:
        size *= n
    return (list(dims), tiny.F32, [draw.gauss(0, 0.3) for _ in range(size)])


def write(path, arch, more, rows):
    with open(path, "wb") as file:
        file.write(tiny.gguf(tiny.settings(arch, **COUNT, **more) + tiny.llama_words(), rows))


def model(path, oss, ones=()):
    """One block with four experts, of which two are chosen; in f32. Shapes end with `ones`."""
    draw = random.Random(5)
    rows = [("blk.0.ffn_gate_inp.weight", *weights(draw, 32, 4)),
            ("token_embd.weight", *weights(draw, 32, 11))]
    norms = ["output_norm", "blk.0.attn_norm",
             "blk.0.post_attention_norm" if oss else "blk.0.ffn_norm"]
    rows += [(f"{name}.weight", [32], tiny.F32, 1.0) for name in norms]
    rows += [(f"blk.0.attn_{name}.weight", *weights(draw, 32, 32))
             for name in ("q", "k", "v", "output")]
    rows += [(f"blk.0.ffn_{name}_exps.weight", *weights(draw, *dims, 4))
             for name, dims in (("gate", (32, 64)), ("up", (32, 64)), ("down", (64, 32)))]
    more = {"feed_forward_length": 64}
    if oss:
        more = {"expert_feed_forward_length": 64, "attention.sliding_window": 8}
        rows += [(f"blk.0.ffn_{name}_exps.bias", *weights(draw, size, 4))
                 for name, size in (("gate", 64), ("up", 64), ("down", 32))]
        rows.append(("blk.0.attn_sinks.weight", *weights(draw, 4)))
    rows = [(name, [*dims, *ones], kind, value) for name, dims, kind, value in rows]
    write(path, "gpt-oss" if oss else "llama", more, rows)


def padded():
    """In ggml all shapes go on with ones, and llama.cpp's converter writes some of them."""
    paths = [os.path.join(TMP, name) for name in ("plain.gguf", "padded.gguf")]
    texts = []
    for path, ones in zip(paths, ((), (1,))):
        model(path, True, ones)
        texts.append(parsed("generate", path, "-p", "a b", "-n", "12", "-s", "3", "--json")["text"])
    expect(texts[0] == texts[1] != "", f"{texts}")


def check(arch):
    whole, file = os.path.join(TMP, arch + ".gguf"), os.path.join(TMP, arch + "_q8.gguf")
    model(whole, arch == "oss")
    succeeds("convert", whole, "-o", file, "--outtype", "q8_0")
    sizes = ["-c", "32", "-D", "seq=1", "-D", "count=1"]
    told = succeeds("plan", file, *sizes, "--activations", "int8")
    expect(told.count("ggml_experts ") == 3 and "scan" not in told, told)
    expect("scan" in succeeds("plan", file, *sizes), "experts are computed row by row if exact")
    ask = ["generate", file, "-n", "12", "-s", "3", "--json", "--ignore-eos"]
    want = [parsed(*ask, "-p", prompt)["text"] for prompt in PROMPTS]
    expect(len(set(want)) > 1, f"{want}")
    for flags in (["-t", "1"], ["-t", "3", "-b", "1"], ["-b", "3"], ["--isa", "scalar"]):
        got = [parsed(*ask, "-p", prompt, *flags)["text"] for prompt in PROMPTS]
        expect(got == want, f"{arch} {flags}: {got}, not {want}")
    with open(FILE, "w", encoding="utf-8") as prompts:
        prompts.write("\n".join(PROMPTS))
    for count in ("2", "4"):
        got = [t["text"] for t in parsed(*ask, "-f", FILE, "-np", count)]
        expect(got == want, f"{arch} {count} at a time: {got}, alone {want}")
    rate = succeeds("perplexity", file, "-p", "a b a c b a c c a b " * 3, "-c", "16",
                    "--kl-divergence", file)
    mean = float(re.search(r"mean (\S+)", rate)[1])
    expect(0 < mean < 1e-3, f"{arch}: mean divergence {mean}, rounded and more than 0")


check("mixtral")
check("oss")
padded()
finish()
