"""text_damaged.py - language models with impossible settings, tensors, tokenizers, weights and chat
templates: each is refused with one sentence and a hint, quickly, and what can be run still runs."""
import math
import os
import struct
import time

import _words
from _cli import TMP, expect, finish, takt

tiny = _words._tiny  # pylint: disable=protected-access
LETTERS, NAN, INF = tiny.LETTERS, math.nan, math.inf


def rows(change):
    """Tensors of a small model; `change` maps names to (dims, type, value), or None: left out."""
    every = {"token_embd": ([32, 11], tiny.F32, None), "output_norm": ([32], tiny.F32, 1.0),
             "blk.0.attn_norm": ([32], tiny.F32, 1.0), "blk.0.ffn_norm": ([32], tiny.F32, 1.0),
             "blk.0.attn_q": ([32, 32], tiny.F32, None), "blk.0.attn_k": ([32, 16], tiny.F32, None),
             "blk.0.attn_v": ([32, 16], tiny.F32, None), **{
                 f"blk.0.{name}": ([32, 32], tiny.F32, None)
                 for name in ("attn_output", "ffn_gate", "ffn_up", "ffn_down")}, **change}
    return [(name + ".weight", *row) for name, row in every.items() if row is not None]


def words(tokens=None, scores=None, kinds=None, model="llama", more=()):
    tokens = LETTERS if tokens is None else tokens
    count = len(tokens)
    scores = [0.0] * count if scores is None else scores
    kinds = [2, 3, 3][:count] + [1] * (count - 3) if kinds is None else kinds
    return [tiny.key("tokenizer.ggml.model", 8, tiny.text(model)),
            tiny.texts("tokenizer.ggml.tokens", tokens),
            tiny.numbers("tokenizer.ggml.scores", 6, "f", scores),
            tiny.numbers("tokenizer.ggml.token_type", 5, "i", kinds), *more]


def model(settings=None, keys=(), tensors=None, vocabulary=None):
    """`keys`: (name, bytes of the key), instead of a setting of that name."""
    all_of = {"attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-5,
              **(settings or {})}
    head = tiny.settings("llama", **all_of)
    for name, _ in keys:
        head = [k for k in head if not k.startswith(tiny.text("llama." + name))]
    path = os.path.join(TMP, "damaged.gguf")
    with open(path, "wb") as file:
        file.write(tiny.gguf(head + [k for _, k in keys] +
                             (words() if vocabulary is None else vocabulary), rows(tensors or {})))
    return path


def run(path, *more):
    begin = time.monotonic()
    got = takt("generate", path, "a b", "-n", "4", "--temp", "0", "-q", *more)
    expect(time.monotonic() - begin < 20, f"{more}: it takes {time.monotonic() - begin:.0f} s")
    return got


def refused(what, path, says, *more):
    got = run(path, *more)
    expect(got.returncode in (1, 2) and all(w in got.stderr for w in (says, "hint: ")),
           f"{what}: exit {got.returncode}, not `{says}` and a hint: {got.stderr}")


def settings():
    for name, value, says in (
            ("attention.head_count", 0, "head_count is 0"),
            ("attention.head_count", 1 << 31, "head_count is 2147483648"),
            ("attention.head_count_kv", 3, "head_count_kv divides"),
            ("attention.key_length", 0, "key_length is 0"),
            ("block_count", 2**32 - 1, "block_count is 4294967295"),
            ("block_count", 0, "block_count is 0"),
            ("block_count", 2, "blk.1.attn_norm.weight is missing"),
            ("context_length", 0, "context_length is 0"),
            ("context_length", 2**31, "context_length is 2147483648"),
            ("embedding_length", 33, "is [11, 32] where the settings want [any, 33]"),
            ("feed_forward_length", 64, "blk.0.ffn_gate.weight is [32, 32]"),
            ("rope.dimension_count", 0, "dimension_count is 0"),
            ("rope.dimension_count", 3, "is even"), ("rope.dimension_count", 64, "size of a head"),
            ("rope.freq_base", 0.0, "freq_base is not a positive"),
            ("rope.freq_base", NAN, "freq_base is not a positive"),
            ("attention.layer_norm_rms_epsilon", -1.0, "epsilon is not a positive"),
            ("attention.layer_norm_rms_epsilon", NAN, "epsilon is not a positive"),
            ("attention.sliding_window", 2**32 - 1, "sliding_window is 4294967295")):
        refused(f"{name} = {value}", model({name: value}), says)
    for name, key, says in (
            ("block_count", tiny.key("llama.block_count", 8, tiny.text("1")), "not a whole number"),
            ("block_count", tiny.numbers("llama.block_count", 4, "I", [1]), "not one value"),
            ("block_count", tiny.key("llama.block_count", 11, struct.pack("<q", -1)), "is -1"),
            ("block_count", tiny.key("llama.block_count", 10, struct.pack("<Q", 1 << 63)),
             "64 bits"),
            ("attention.head_count", tiny.f32("llama.attention.head_count", 4.0), "whole number")):
        refused(says, model(keys=[(name, key)]), says)


def tensors():
    for name, row, says in (
            ("blk.0.attn_q", ([32, 16], 0, None), "is [16, 32] where the settings want [32, 32]"),
            ("blk.0.attn_norm", ([32, 2], 0, 1.0), "is [2, 32] where the settings want [32]"),
            ("blk.0.ffn_down", ([32, 32, 2], 0, None), "is [2, 32, 32] where the settings want"),
            ("output_norm", None, "output_norm.weight is missing"),
            ("token_embd", ([32, 10], 0, None), "has 11 tokens, the model scores 10"),
            ("token_embd", ([32, 11], 0, NAN), "every score of the next token is NaN"),
            ("output_norm", ([32], 0, INF), "every score of the next token is NaN"),
            ("blk.0.attn_v", ([32, 16], 0, -INF), "every score of the next token is NaN")):
        refused(f"{name} {row}", model(tensors={name: row}), says)
    blocks = tiny.PACK[tiny.Q8_0]
    for scale, says in ((0x7E00, "NaN"), (0x7C00, "NaN"), (1, "")):  # NaN, infinite, denormal
        tiny.PACK[tiny.Q8_0] = lambda values, scale=scale: struct.pack(
            "<H32b", scale, *[5] * 32) * (len(values) // 32)
        path = model(tensors={"blk.0.ffn_up": ([32, 32], tiny.Q8_0, None)})
        if says:
            refused(f"a scale of {scale:x}", path, says)
        else:
            expect(run(path).returncode == 0, "a denormal scale is refused")
    tiny.PACK[tiny.Q8_0] = blocks


def tokenizers():
    merges = tiny.key("tokenizer.ggml.pre", 8, tiny.text("gpt-2"))
    for what, vocabulary, says in (
            ("few scores", words(scores=[0.0] * 5), "scores is not one number for each token"),
            ("many scores", words(scores=[0.0] * 50), "scores is not one number for each token"),
            ("NaN", words(scores=[NAN] * 11), "scores holds NaN"),
            ("few types", words(kinds=[1] * 5), "token_type is not one number for each token"),
            ("types", words(kinds=[99] * 11), "unknown type of token"),
            ("twice", words(LETTERS[:-1] + ["a"]), "token 10 is the same as token 6"),
            ("added twice", words(LETTERS[:-2] + ["a", "a"], kinds=[2, 3, 3] + [1] * 6 + [4] * 2),
             "token 10 is the same as token 9"),
            ("none", words([], [], []), "a vocabulary of 0 tokens"),
            ("no merges", words(model="gpt2"), "without tokenizer.ggml.merges"),
            ("merges", words(model="gpt2", more=[merges, tiny.texts("tokenizer.ggml.merges",
                                                                    ["x y"])]),
             "merge 0 names a token that is not in the vocabulary"),
            ("pair", words(model="gpt2", more=[merges, tiny.texts("tokenizer.ggml.merges",
                                                                  ["ab"])]), "is not a pair"),
            *((role, words(more=[tiny.u32(f"tokenizer.ggml.{role}_token_id", 11)]),
               f"{role}_token_id is 11; the vocabulary has 11 tokens")
              for role in ("bos", "eos", "eot", "unknown", "padding"))):
        refused(what, model(vocabulary=vocabulary), says)
    for vocabulary in (words(LETTERS[:-1] + ["a" * (1 << 20)]), words(LETTERS[:-1] + [""]),
                       words(LETTERS[:-1] + ["a"], kinds=[2, 3, 3] + [1] * 7 + [4]),
                       words(more=[tiny.u32("tokenizer.ggml.bos_token_id", 2**32 - 1)])):
        expect(run(model(vocabulary=vocabulary)).returncode == 0, "a legal tokenizer is refused")


def templates():
    loop = "{% for i in range(100000) %}"
    for text, says in (
            (loop + loop + "a{% endfor %}{% endfor %}", "more than 1000000 steps"),
            ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "calls nest too deeply"),
            ("{% set n = namespace(a='x') %}{% for i in range(60) %}{% set n.a = n.a + n.a %}"
             "{% endfor %}", "values take more than"), ("a" * (2 << 20), "more than 1048576 bytes"),
            ("{% if %}", "begins no expression"),
            ("{{ " + "(" * 100000 + "1" + ")" * 100000 + " }}", "nests too deeply"),
            ("{% if 1 %}" * 100000 + "{% endif %}" * 100000, "nests too deeply")):
        path = model(vocabulary=words(more=[tiny.key("tokenizer.chat_template", 8,
                                                     tiny.text(text))]))
        refused(f"template {text[:60]}", path, says, "--chat")


def files():
    """Another architecture, and a file that ends too early."""
    with open(model(), "rb") as file:
        whole = file.read()
    path = os.path.join(TMP, "cut.gguf")
    known = b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama"
    for data, says in ((whole.replace(known, known[:-1] + b"b"), "llamb"),
                       (whole[:-1], "beyond the file"), (whole[:100], "the file")):
        with open(path, "wb") as file:
            file.write(data)
        got = takt("inspect", path)
        expect(got.returncode == 1 and says in got.stderr and "TAKT370" in got.stderr and
               "hint: " in got.stderr, f"{says}: exit {got.returncode}: {got.stderr}")


def biases():
    refused("a bias", model(), "a bias is for token 99; the vocabulary has ids from 0 to 10",
            "-l", "99+5")


settings()
tensors()
tokenizers()
templates()
files()
biases()
finish()
