"""text_trained_slow.py - a language model that Takt trains and rounds, against llama-quantize.

A LLaMA of width 256 learns tiny-shakespeare (TAKT_STEPS steps, 200 by default; characters, 64 of
context), becomes a GGUF file, and is rounded to every type by `takt quantize` and, with the same
type for all matrices, by llama-quantize. Perplexity on a part that it has not seen: ours is no
worse than theirs by more than a hundredth, and an importance matrix lowers the divergence from F32
where weights have 4 bits or fewer. Every type has its line in the output.

TAKT_LLAMA_QUANTIZE names llama.cpp's program (target llama-quantize of its sources, as in the
sdist of llama-cpp-python); without it, or without tiny-shakespeare in TAKT_DATA, this is skipped.
TAKT_TRAINED names a model of an earlier call (model.taktp), which is not trained again. Needs
numpy, safetensors and gguf, here or in build/venv.
"""
import json
import os
import subprocess
import sys

import _venv

try:
    import numpy as np
    from gguf import GGUFReader
    from safetensors.numpy import load_file, save_file
except ImportError:
    _venv.instead("gguf safetensors")

PEER, TRAINED = os.environ.get("TAKT_LLAMA_QUANTIZE"), os.environ.get("TAKT_TRAINED")
STEPS = os.environ.get("TAKT_STEPS", "200")
DATA = os.environ.get("TAKT_DATA", os.path.join(os.path.dirname(__file__), "../../../shared/data"))
TEXT = os.path.join(DATA, "data", "text", "tinyshakespeare.txt")
from _cli import TOOL, expect, finish, parsed, path, succeeds  # noqa: E402

WIDTH, HIDDEN, LAYERS, HEADS, SEEN = 256, 512, 4, 4, 64
TYPES = ["Q8_0", "Q6_K", "Q5_K", "Q5_1", "Q5_0", "Q4_K", "Q4_1", "Q4_0", "IQ4_NL", "Q3_K", "Q2_K"]
FEW = TYPES[5:]  # bits: 4 and fewer
MODEL = f"""model llama(x: i64[batch, {SEEN}]) seed=1 {{
  h = embedding(x, COUNT, {WIDTH})
  repeat {LAYERS} as k {{
    h = transformer_block(h, heads={HEADS}, hidden={HIDDEN}, act=silu, norm=rms_norm, causal=true,
                          bias=false, gated=true, rotate=true)
  }}
  return dense(rms_norm(h, name="final"), COUNT, bias=false)
}}
"""
NAMES = {"attention_0.q": "self_attn.q_proj", "attention_0.k": "self_attn.k_proj",
         "attention_0.v": "self_attn.v_proj", "attention_0.out": "self_attn.o_proj",
         "feed_forward_0.gate": "mlp.gate_proj", "feed_forward_0.up": "mlp.up_proj",
         "feed_forward_0.down": "mlp.down_proj", "norm_0": "input_layernorm",
         "norm_1": "post_attention_layernorm"}


def renamed(weights):
    """Takt's weights, [in, out], as transformers has them, [out, in]."""
    made = {"model.embed_tokens.weight": weights["embedding_0.weight"],
            "model.norm.weight": weights["final.gamma"],
            "lm_head.weight": weights["dense_0.weight"].T.copy()}
    for i in range(LAYERS):
        for ours, theirs in NAMES.items():
            norm = ours.startswith("norm")
            w = weights[f"transformer_block_{i}.{ours}.{'gamma' if norm else 'weight'}"]
            made[f"model.layers.{i}.{theirs}.weight"] = w if norm else w.T.copy()
    return made


def write_folder(weights, letters):
    """A folder as transformers writes it."""
    folder, byte = path("folder"), {" ": "\u0120", "\n": "\u010a"}
    vocab = {byte.get(letter, letter): i for i, letter in enumerate(letters)}
    os.makedirs(folder, exist_ok=True)
    save_file(weights, os.path.join(folder, "model.safetensors"))
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH,
              "intermediate_size": HIDDEN, "vocab_size": len(letters), "num_hidden_layers": LAYERS,
              "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "rms_norm_eps": 1e-5,
              "max_position_embeddings": SEEN, "rope_theta": 10000.0, "hidden_act": "silu",
              "tie_word_embeddings": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": True}
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level,
                 "post_processor": None, "decoder": {"type": "ByteLevel"},
                 "model": {"type": "BPE", "vocab": vocab, "merges": []}}
    for name, content in (("config", config), ("tokenizer", tokenizer), ("tokenizer_config", {})):
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
            json.dump(content, f)
    return folder


def perplexity(model):
    return parsed("perplexity", model, *HELD, "--json")["perplexity"]


def divergence(model):
    return parsed("perplexity", model, *HELD, "--kl-divergence", floats,
                  "--json")["kl_divergence"]["mean"]


def train(model):
    with open(path("llama.takt"), "w", encoding="utf-8") as f:
        f.write(MODEL.replace("COUNT", str(len(letters))))
    subprocess.run([TOOL, "train", path("llama.takt"), "--data", path("seen.txt"), "--window",
                    str(SEEN), "--batch-size", "12", "--steps", STEPS, "--optimizer",
                    "adamw:beta2=0.99", "--weight-decay", "0.1", "--lr", "1e-3", "--schedule",
                    "cosine:floor=0.1", "--warmup", "50", "--clip", "1", "-q", "-o", model],
                   check=True)


def rounded(kind, *more):
    """The files that both write of a type; `more`: an importance matrix."""
    ours, theirs = path(f"ours{len(more)}.{kind}.gguf"), path(f"theirs{len(more)}.{kind}.gguf")
    succeeds("quantize", floats, "--type", kind, *more, "-o", ours)
    done = subprocess.run([PEER, "--pure", *more, floats, theirs, kind, "1"], capture_output=True,
                          text=True, check=False)
    expect(done.returncode == 0, f"llama-quantize {kind}: {done.stderr[-300:]}")
    return ours, theirs


def different(ours, theirs):
    """How many of the matrices' bytes differ, and how many there are."""
    other = {t.name: t for t in GGUFReader(theirs).tensors}
    bad = all_bytes = 0
    for t in GGUFReader(ours).tensors:
        a, b = np.array(t.data).view(np.uint8), np.array(other[t.name].data).view(np.uint8)
        expect(t.tensor_type == other[t.name].tensor_type, f"{ours}: {t.name} has another type")
        bad += np.count_nonzero(a != b)
        all_bytes += a.size
    return bad, all_bytes


if PEER is None or not os.path.exists(TEXT):
    print("skipped: TAKT_LLAMA_QUANTIZE is not set, or there is no tinyshakespeare.txt")
    sys.exit(77)
with open(TEXT, encoding="utf-8") as source:
    text = source.read()
letters = sorted(set(text))
for name, part in (("seen.txt", text[:len(text) * 9 // 10]), ("guide.txt", text[:40000]),
                   ("unseen.txt", text[-20000:])):
    with open(path(name), "w", encoding="utf-8") as f:
        f.write(part)
if TRAINED is None:
    TRAINED = path("model.taktp")
    train(TRAINED)
floats, HELD = path("floats.gguf"), ("-f", path("unseen.txt"), "-c", str(SEEN), "--activations",
                                     "f32")
succeeds("convert", TRAINED, "-o", path("weights.safetensors"))
succeeds("convert", write_folder(renamed(load_file(path("weights.safetensors"))), letters), "-o",
         floats, "--outtype", "f32")
succeeds("imatrix", floats, "-f", path("guide.txt"), "-c", str(SEEN), "-o", path("columns.gguf"))
print(f"F32: perplexity {perplexity(floats):.4f}")
for kind in TYPES:
    files, guided = rounded(kind), rounded(kind, "--imatrix", path("columns.gguf"))
    score = [perplexity(file) for file in (*files, *guided)]
    spread = [divergence(file) for file in (files[0], guided[0])]
    counts = [different(*pair) for pair in (files, guided)]
    print(f"{kind}: perplexity {score[0]:.4f}, llama-quantize {score[1]:.4f}; with importances "
          f"{score[2]:.4f}, {score[3]:.4f}; KL {spread[0]:.5f}, with importances {spread[1]:.5f}; "
          f"bytes that differ {counts[0][0]}, {counts[1][0]} of {counts[0][1]}")
    expect(score[0] <= 1.01 * score[1], f"{kind}: {score[0]}, llama-quantize {score[1]}")
    expect(score[2] <= 1.01 * score[3], f"{kind} by importance: {score[2]}, theirs {score[3]}")
    expect(kind not in FEW or spread[1] < spread[0], f"{kind}: importances do not help: {spread}")
finish()
