"""text_ggml_slow.py - blocks of takt quantize have the bytes of llama.cpp's own quantize functions.

A model of width 256 with random weights, in every type. TAKT_GGML names a library with those
functions, made of llama.cpp's sources (they are in the sdist of llama-cpp-python), in its folder
ggml, where src/ggml-version.h may be empty:

    gcc -O2 -ffp-contract=off -shared -fPIC -D_GNU_SOURCE -Iinclude -Isrc src/ggml-quants.c \\
        src/ggml.c -Wl,--unresolved-symbols=ignore-all -lm -o libquants.so

Needs numpy, safetensors and gguf, here or in build/venv; without them or it this is skipped.
"""
import ctypes
import json
import os
import sys

import _venv

try:
    import numpy as np
    from gguf import GGUFReader
    from safetensors.numpy import save_file
except ImportError:
    _venv.instead("gguf safetensors")

LIBRARY = os.environ.get("TAKT_GGML")  # _cli takes such names out of the command's environment
from _cli import expect, finish, path, succeeds  # noqa: E402

WIDTH, HIDDEN, WORDS, LAYERS = 256, 512, 512, 2
TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL"]


def weights():
    own = np.random.default_rng(1)
    named = {"model.embed_tokens": (WORDS, WIDTH), "lm_head": (WORDS, WIDTH)}
    for i in range(LAYERS):
        for part in "qkvo":
            named[f"model.layers.{i}.self_attn.{part}_proj"] = (WIDTH, WIDTH)
        for part, shape in (("gate", (HIDDEN, WIDTH)), ("up", (HIDDEN, WIDTH)),
                            ("down", (WIDTH, HIDDEN))):
            named[f"model.layers.{i}.mlp.{part}_proj"] = shape
    made = {f"{name}.weight": (own.standard_normal(shape) * own.uniform(0.01, 0.05, shape[1]))
            .astype(np.float32) for name, shape in named.items()}
    norms = ["model.norm"] + [f"model.layers.{i}.{name}_layernorm" for i in range(LAYERS)
                              for name in ("input", "post_attention")]
    return {**made, **{f"{name}.weight": np.ones(WIDTH, np.float32) for name in norms}}


if LIBRARY is None:
    print("skipped: TAKT_GGML names no library with llama.cpp's quantize functions")
    sys.exit(77)
library = ctypes.CDLL(LIBRARY, mode=1)  # lazy binding: it omits functions that are not called
folder, floats = path("model"), path("floats.gguf")
os.makedirs(folder, exist_ok=True)
save_file(weights(), os.path.join(folder, "model.safetensors"))
with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
    json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH,
               "intermediate_size": HIDDEN, "vocab_size": WORDS, "num_hidden_layers": LAYERS,
               "num_attention_heads": 4, "num_key_value_heads": 4, "rms_norm_eps": 1e-5,
               "max_position_embeddings": 512, "rope_theta": 10000.0, "hidden_act": "silu",
               "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2}, f)
succeeds("convert", folder, "-o", floats, "--outtype", "f32")
given = {t.name: np.array(t.data) for t in GGUFReader(floats).tensors}
for kind in TYPES:
    file = path(f"{kind}.gguf")
    succeeds("quantize", floats, "--type", kind, "-o", file)
    name = kind.lower().replace("_k", "_K")
    quantise = getattr(library, f"quantize_{name}")
    quantise.restype = ctypes.c_size_t
    quantise.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
                         ctypes.c_void_p]
    count = 0
    for tensor in GGUFReader(file).tensors:
        if tensor.tensor_type.name != kind:
            continue
        x = np.ascontiguousarray(given[tensor.name], np.float32)
        got = np.array(tensor.data).view(np.uint8).ravel()
        want = np.zeros_like(got)
        size = quantise(x.ctypes.data, want.ctypes.data, x.size // x.shape[-1], x.shape[-1], None)
        expect(size == got.size and (want == got).all(),
               f"{kind} {tensor.name}: {np.count_nonzero(want != got)} of {got.size} bytes differ")
        count += 1
    print(f"{kind}: {count} matrices")
    expect(count == 2 + 7 * LAYERS, f"{kind}: {count} matrices")
finish()
