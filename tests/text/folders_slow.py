"""folders_slow.py - models with random weights as transformers writes them into folders: scores as
torch has them, and 64 greedy tokens. Needs the packages torch and transformers in build/venv."""
import json
import os
import shutil
import subprocess
import sys

from _library import BUILD, TMP, takt
from _transformers import converted, opened, read, torch, transformers

import numpy  # pylint: disable=wrong-import-order

VOCABULARY, PROMPT, WRITTEN, WITHIN = 300, 24, 64, 1e-4
BASE = {"vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 128, "tie_word_embeddings": False, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2}
MOE = {"num_experts": 6, "num_local_experts": 6, "num_experts_per_tok": 2,
       "moe_intermediate_size": 48, "shared_expert_intermediate_size": 80}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 500000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32,
        "rope_theta": 10000.0}
LONG = {"rope_type": "longrope", "short_factor": [1.0 + 0.1 * i for i in range(8)],
        "long_factor": [2.0 + 0.2 * i for i in range(8)], "rope_theta": 10000.0,
        "original_max_position_embeddings": 128}
CASES = {
    "llama": ("Llama", {}),
    "llama_tied": ("Llama", {"tie_word_embeddings": True, "rms_norm_eps": 1e-5}),
    "llama_bias": ("Llama", {"attention_bias": True, "mlp_bias": True, "head_dim": 24}),
    "llama_linear": ("Llama", {"rope_parameters": {"rope_type": "linear", "factor": 2.0,
                                                   "rope_theta": 10000.0}}),
    "llama3": ("Llama", {"rope_parameters": LLAMA3}),
    "llama_yarn": ("Llama", {"rope_parameters": YARN}),
    "mistral": ("Mistral", {"sliding_window": None}),
    "mistral_window": ("Mistral", {"sliding_window": 17}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 32}),
    "gemma": ("Gemma", {"head_dim": 32, "tie_word_embeddings": True}),
    "gemma2": ("Gemma2", {"head_dim": 32, "tie_word_embeddings": True, "sliding_window": 20,
                          "query_pre_attn_scalar": 24, "num_hidden_layers": 3}),
    "gemma3": ("Gemma3Text", {"head_dim": 32, "tie_word_embeddings": True, "sliding_window": 20,
                              "query_pre_attn_scalar": 24, "num_hidden_layers": 7}),
    "phi2": ("Phi", {"partial_rotary_factor": 0.5, "num_key_value_heads": 4}),
    "phi3": ("Phi3", {"sliding_window": None}),
    "phi3_long": ("Phi3", {"sliding_window": None, "rope_parameters": LONG,
                           "max_position_embeddings": 512,
                           "original_max_position_embeddings": 128}),
    "gptneox": ("GPTNeoX", {"rotary_pct": 0.25}),
    "gptneox_serial": ("GPTNeoX", {"use_parallel_residual": False}),
    "falcon": ("Falcon", {"multi_query": True, "new_decoder_architecture": False, "bias": False,
                          "parallel_attn": True, "ffn_hidden_size": 96}),
    "falcon_new": ("Falcon", {"new_decoder_architecture": True, "num_kv_heads": 2, "bias": False,
                              "ffn_hidden_size": 96}),
    "stablelm": ("StableLm", {"partial_rotary_factor": 0.25, "use_qkv_bias": True}),
    "starcoder2": ("Starcoder2", {"sliding_window": None, "tie_word_embeddings": True}),
    "olmo2": ("Olmo2", {}),
    "granite": ("Granite", {"embedding_multiplier": 3.0, "attention_multiplier": 0.2,
                            "residual_multiplier": 0.4, "logits_scaling": 2.0}),
    "smollm3": ("SmolLM3", {"num_hidden_layers": 5, "no_rope_layer_interval": 4}),
    "gpt2": ("GPT2", {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128, "n_inner": 96,
                      "tie_word_embeddings": True}),
    "bloom": ("Bloom", {"n_layer": 2, "n_head": 4, "hidden_size": 64,
                        "tie_word_embeddings": True}),
    "bloom_heads": ("Bloom", {"n_layer": 2, "n_head": 6, "hidden_size": 48,
                              "tie_word_embeddings": True}),
    "mpt": ("Mpt", {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128,
                    "tie_word_embeddings": True}),
    "mpt_clipped": ("Mpt", {"d_model": 48, "n_heads": 6, "n_layers": 2, "max_seq_len": 128,
                            "attn_config": {"alibi": True, "clip_qkv": 0.5},
                            "tie_word_embeddings": True}),
    "mixtral": ("Mixtral", {**MOE, "sliding_window": None}),
    "qwen2moe": ("Qwen2Moe", {**MOE, "norm_topk_prob": False}),
    "qwen3moe": ("Qwen3Moe", {**MOE, "norm_topk_prob": True, "head_dim": 32}),
    "gptoss": ("GptOss", {**MOE, "head_dim": 16, "sliding_window": 9,
                          "rope_parameters": {**YARN, "truncate": False, "factor": 2.0,
                                              "beta_fast": 32.0, "beta_slow": 1.0}}),
    "mamba": ("Mamba", {"state_size": 8, "conv_kernel": 4, "expand": 2, "time_step_rank": 6,
                        "intermediate_size": 128, "layer_norm_epsilon": 1e-5}),
    "olmoe": ("Olmoe", {**MOE, "norm_topk_prob": False}),
}


def alphabet():
    """The characters that represent bytes in byte-level vocabularies."""
    plain = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    other = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(other)}}


def write_tokenizer(folder):
    vocab = {"<pad>": 0, "<s>": 1, "</s>": 2,
             **{c: 3 + i for i, (_, c) in enumerate(sorted(alphabet().items()))}, "ab": 259}
    added = [{"id": vocab[t], "content": t, "special": True, "normalized": False, "lstrip": False,
              "rstrip": False, "single_word": False} for t in ("<pad>", "<s>", "</s>")]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "added_tokens": added, "normalizer": None,
                   "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
                   "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]}}, file)
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump({"bos_token": "<s>", "eos_token": {"content": "</s>"},
                   "chat_template": "{{ messages[0]['content'] }}"}, file)


def randomise(model):
    torch.manual_seed(7)
    with torch.no_grad():
        for name, p in model.named_parameters():
            is_norm = "norm" in name.lower() or ".ln_" in name
            p.normal_(0, 0.1 if p.dim() == 1 else 0.15)
            if is_norm and name.endswith("weight") and "gemma" not in type(model).__name__.lower():
                p.add_(1.0)


def save(name, **more):
    kind, extra = CASES[name]
    folder = os.path.join(TMP, "folder_" + name)
    shutil.rmtree(folder, ignore_errors=True)
    alone = kind in ("GPTNeoX", "GPT2")  # they have no such setting
    named = kind in ("Bloom", "Mpt")  # sizes have names of their own
    base = {k: v for k, v in BASE.items() if (not alone or k != "num_key_value_heads") and
            (not named or k == "vocab_size" or k.endswith("_token_id"))}
    config = getattr(transformers, kind + "Config")(**{**base, **extra})
    config._attn_implementation = "eager"  # pylint: disable=protected-access
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.eval().float()
    randomise(model)
    model.save_pretrained(folder, **more)
    write_tokenizer(folder)
    return model, folder


def compare(name, model, path):
    generator = opened(path)
    draw = torch.Generator().manual_seed(1)
    new = torch.randint(3, VOCABULARY, (PROMPT,), generator=draw).tolist()
    worst, told = 0.0, new[:]
    try:
        for step in range(WRITTEN):
            got = read(generator, new)
            with torch.no_grad():
                want = model(torch.tensor([told]), use_cache=False).logits[0, -1].float()
            worst = max(worst, (got - want).abs().max().item())
            if got.argmax() != want.argmax():
                print(f"{name}: token {step} is another one; {worst:.2g} away")
                return False
            new = [int(want.argmax())]
            told += new
    finally:
        takt.takt_generator_destroy(generator)
    top = want.abs().max()
    print(f"{name}: {WRITTEN} tokens, scores up to {top:.3g}, at most {worst:.2g} away")
    return worst < WITHIN


def encoder(kind, pooling):
    """The vector of a text by an encoder, as sentence-transformers computes it."""
    name = f"{kind} {pooling}"
    folder = os.path.join(TMP, "encoder_" + kind)
    shutil.rmtree(folder, ignore_errors=True)
    sizes = {k: v for k, v in BASE.items() if k != "num_key_value_heads"}
    config = getattr(transformers, kind + "Config")(**{**sizes, "type_vocab_size": 2,
                                                       "pad_token_id": 1})
    model = getattr(transformers, kind + "Model")(config).eval()
    randomise(model)
    model.save_pretrained(folder)
    os.makedirs(os.path.join(folder, "1_Pooling"))
    with open(os.path.join(folder, "1_Pooling/config.json"), "w", encoding="utf-8") as file:
        json.dump({"pooling_mode_cls_token": pooling == "first",
                   "pooling_mode_mean_tokens": pooling == "mean"}, file)
    ids = list(range(7, 30))
    numpy.save(os.path.join(TMP, "ids.npy"), numpy.array(ids, dtype=numpy.int64))
    out = os.path.join(TMP, "vector.npy")
    run = subprocess.run([os.path.join(BUILD, "takt"), "run", folder, "-i",
                          f"tokens={TMP}/ids.npy", "-o", f"embedding={out}"], capture_output=True,
                         text=True, check=False)
    if run.returncode != 0:
        raise ValueError(run.stderr)
    with torch.no_grad():
        rows = model(torch.tensor([ids])).last_hidden_state[0]
    want = rows[0] if pooling == "first" else rows.mean(0)
    worst = (torch.from_numpy(numpy.load(out)) - want).abs().max().item()
    print(f"{name}: at most {worst:.2g} away")
    return worst < WITHIN


def encoders(failed):
    for kind in ("Bert", "Roberta", "XLMRoberta"):
        for pooling in ("mean", "first"):
            try:
                good = encoder(kind, pooling)
            except ValueError as error:
                print(f"{kind}: {error}")
                good = False
            if not good:
                failed.append(kind)


def shards(failed):
    """Weights in several files, as transformers writes large models; one of them missing."""
    for name in ("llama", "mixtral"):
        model, folder = save(name, max_shard_size="50KB")
        parts = [f for f in os.listdir(folder) if f.startswith("model-")]
        good = len(parts) > 3 and compare(f"{name} in {len(parts)} files", model, folder)
        good = good and compare(name + " as GGUF", model, converted(name, folder))
        os.remove(os.path.join(folder, sorted(parts)[1]))
        try:
            takt.takt_generator_destroy(opened(folder))
            good = False
        except ValueError as error:
            print(f"without a file: {error}")
        if not good:
            failed.append(name + " in shards")


def main():
    failed = []
    if len(sys.argv) < 2 or "encoders" in sys.argv:
        encoders(failed)
    if len(sys.argv) < 2 or "shards" in sys.argv:
        shards(failed)
    for name in [n for n in sys.argv[1:] if n in CASES] if len(sys.argv) > 1 else CASES:
        try:
            model, folder = save(name)
            path = converted(name, folder)
            good = compare(name, model, folder) and compare(name + " as GGUF", model, path)
        except (ValueError, AttributeError) as error:
            print(f"{name}: {error}")
            good = False
        if not good:
            failed.append(name)
    print(f"{len(failed)} failed: {' '.join(failed)}")
    sys.exit(len(failed) > 0)


if __name__ == "__main__":
    main()
