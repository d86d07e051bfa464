"""_words.py - a small model with random weights that can write every character of ASCII, and some
control tokens, for tests that need JSON."""
import os
import sys

from _cli import ROOT, TMP

sys.path.insert(0, os.path.join(ROOT, "tests/text"))
import _tiny  # pylint: disable=wrong-import-position

CONTROL = ["<unk>", "<s>", "</s>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>"]
WORDS = CONTROL + ["<0x0A>", "▁"] + [chr(i) for i in range(33, 127)]


def write(name="words.gguf", context=1024, seed=1):
    """The path of the model."""
    count = len(WORDS)
    kinds = [2] + [3] * (len(CONTROL) - 1) + [6] + [1] * (count - len(CONTROL) - 1)
    words = [_tiny.key("tokenizer.ggml.model", 8, _tiny.text("llama")),
             _tiny.texts("tokenizer.ggml.tokens", WORDS),
             _tiny.numbers("tokenizer.ggml.scores", 6, "f", [-float(i) for i in range(count)]),
             _tiny.numbers("tokenizer.ggml.token_type", 5, "i", kinds)]
    rows = [("token_embd.weight", [32, count], _tiny.F32, None),
            ("output_norm.weight", [32], _tiny.F32, 1.0),
            ("blk.0.attn_norm.weight", [32], _tiny.F32, 1.0),
            ("blk.0.ffn_norm.weight", [32], _tiny.F32, 1.0)]
    rows += [(f"blk.0.{part}.weight", [32, out], kind, None) for part, out, kind in (
        ("attn_q", 32, _tiny.Q8_0), ("attn_k", 16, _tiny.F16), ("attn_v", 16, _tiny.F32),
        ("attn_output", 32, _tiny.Q8_0), ("ffn_gate", 32, _tiny.F16), ("ffn_up", 32, _tiny.Q8_0),
        ("ffn_down", 32, _tiny.F32))]
    settings = _tiny.settings("llama", **{"context_length": context, "attention.head_count_kv": 2,
                                          "attention.layer_norm_rms_epsilon": 1e-5})
    path = os.path.join(TMP, name)
    with open(path, "wb") as file:
        file.write(_tiny.gguf(settings + words, rows, seed))
    return path
