"""_tiny.py - writes the small models of tests/corpus: GGUF files, a folder of Hugging Face, and
seeds of the fuzz target folder. Random weights, few letters."""
import base64
import json
import math
import os
import random
import struct

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
F32, F16, Q8_0 = 0, 1, 8


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def u32(name, value):
    return key(name, 4, struct.pack("<I", value))


def f32(name, value):
    return key(name, 6, struct.pack("<f", value))


def texts(name, items):
    return key(name, 9, struct.pack("<IQ", 8, len(items)) + b"".join(map(text, items)))


def numbers(name, kind, letter, items):
    return key(name, 9, struct.pack(f"<IQ{len(items)}{letter}", kind, len(items), *items))


def q8_0(values):
    out = b""
    for i in range(0, len(values), 32):
        block = values[i:i + 32]
        scale = struct.unpack("<e", struct.pack("<e", max(map(abs, block)) / 127))[0]
        out += struct.pack("<e32b", scale, *(round(v / scale) if scale else 0 for v in block))
    return out


# ggml's types of few bits: number, weights and bytes of a block, high byte of its scale.
RARE = {"NVFP4": (40, 64, 36, None), "Q1_0": (41, 128, 18, 1), "Q2_0": (42, 64, 18, 1),
        "TQ1_0": (34, 256, 54, 53), "TQ2_0": (35, 256, 66, 65), "IQ1_S": (19, 256, 50, 1),
        "IQ1_M": (29, 256, 56, 55), "IQ2_XXS": (16, 256, 66, 1), "IQ2_XS": (17, 256, 74, 1),
        "IQ2_S": (22, 256, 82, 1), "IQ3_XXS": (18, 256, 98, 1), "IQ3_S": (21, 256, 110, 1)}


def random_blocks(weights, size, scale):
    def pack(values):
        draw, out = random.Random(len(values) + size), b""
        for _ in range(len(values) // weights):
            block = bytearray(draw.randbytes(size))
            if scale is None:
                block[:4] = bytes([0x10] * 4)
            else:
                block[scale] = 0x14
            out += block
        return out
    return pack


PACK = {F32: lambda v: struct.pack(f"<{len(v)}f", *v),
        F16: lambda v: struct.pack(f"<{len(v)}e", *v), Q8_0: q8_0,
        **{kind: random_blocks(*how) for kind, *how in RARE.values()}}


def gguf(keys, tensors, seed=1):
    """`tensors`: (name, dims with the contiguous one first, type, values): a list, one for all, or
    None: random."""
    draw = random.Random(seed)
    head, data = b"", b""
    for name, dims, kind, value in tensors:
        count = math.prod(dims)
        values = value if isinstance(value, list) else [value] * count
        if value is None:
            values = [draw.gauss(0, 0.3) for _ in range(count)]
        data += b"\0" * (-len(data) % 32)
        head += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(data))
        data += PACK[kind](values)
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + head
    return out + b"\0" * (-len(out) % 32) + data


def settings(arch, **more):
    rows = {"context_length": 64, "embedding_length": 32, "block_count": 1,
            "feed_forward_length": 32, "attention.head_count": 4, **more}
    return [key("general.architecture", 8, text(arch))] + [
        (f32 if isinstance(v, float) else u32)(f"{arch}.{k}", v) for k, v in rows.items()]


LETTERS = ["<unk>", "<s>", "</s>", "▁", "▁a", "▁b", "a", "b", "c", "▁c", "."]


def llama_words():
    kinds = [2, 3, 3] + [1] * (len(LETTERS) - 3)
    scores = [0.0, 0.0, 0.0] + [-float(i) for i in range(3, len(LETTERS))]
    return [key("tokenizer.ggml.model", 8, text("llama")), texts("tokenizer.ggml.tokens", LETTERS),
            numbers("tokenizer.ggml.scores", 6, "f", scores),
            numbers("tokenizer.ggml.token_type", 5, "i", kinds)]


def llama():
    rows = [("token_embd.weight", [32, 11], F32, None), ("output_norm.weight", [32], F32, 1.0)]
    rows += [("blk.0.attn_norm.weight", [32], F32, 1.0), ("blk.0.ffn_norm.weight", [32], F32, 1.0),
             ("blk.0.attn_q.weight", [32, 32], Q8_0, None),
             ("blk.0.attn_k.weight", [32, 16], F16, None),
             ("blk.0.attn_v.weight", [32, 16], F32, None),
             ("blk.0.attn_output.weight", [32, 32], F32, None),
             ("blk.0.ffn_gate.weight", [32, 32], F16, None),
             ("blk.0.ffn_up.weight", [32, 32], Q8_0, None),
             ("blk.0.ffn_down.weight", [32, 32], F32, None)]
    return gguf(settings("llama", **{"attention.head_count_kv": 2,
                                     "attention.layer_norm_rms_epsilon": 1e-5}) + llama_words(),
                rows)


def rare_rows(names):
    """Seven of RARE, the last of which has blocks of 64."""
    kinds = [RARE[name][0] for name in names]
    sizes = [("attn_q", 256, 256), ("attn_k", 256, 64), ("attn_v", 256, 64),
             ("ffn_gate", 256, 64), ("ffn_up", 256, 64), ("ffn_down", 64, 256)]
    rows = [("token_embd.weight", [256, 11], kinds[0], None),
            ("output_norm.weight", [256], F32, 1.0), ("blk.0.ffn_down.scale", [1], F32, 0.75),
            ("blk.0.attn_output.weight", [256, 256], kinds[1], None)]
    rows += [(f"blk.0.{name}.weight", [256], F32, 1.0) for name in ("attn_norm", "ffn_norm")]
    return rows + [(f"blk.0.{name}.weight", [inner, outer], kind, None)
                   for (name, inner, outer), kind in zip(sizes, kinds[1:])]


def rare(names):
    return gguf(settings("llama", **{"embedding_length": 256, "feed_forward_length": 64,
                                     "attention.head_count_kv": 1,
                                     "attention.layer_norm_rms_epsilon": 1e-5}) + llama_words(),
                rare_rows(names))


GRIDS = ["IQ3_S", "IQ1_S", "IQ2_XS", "IQ2_S", "IQ2_XXS", "IQ1_M", "NVFP4"]
DIGITS = ["Q1_0", "TQ1_0", "TQ2_0", "IQ3_XXS", "IQ3_S", "TQ2_0", "Q2_0"]


def wide(width=64):
    """One head of keys for two of queries, of half the width each."""
    half, spread = width // 2, 0.3 * (64 / width) ** 0.5
    draw = random.Random(width)
    rows = [("token_embd.weight", [width, 11], F32, None),
            ("output_norm.weight", [width], F32, 1.0)]
    rows += [(f"blk.0.{name}.weight", [width], F32, 1.0) for name in ("attn_norm", "ffn_norm")]
    for name, dims in (("attn_q", [width, width]), ("attn_k", [width, half]),
                       ("attn_v", [width, half]), ("attn_output", [width, width]),
                       ("ffn_gate", [width, width]), ("ffn_up", [width, width]),
                       ("ffn_down", [width, width])):
        values = [draw.gauss(0, spread) for _ in range(math.prod(dims))]
        rows.append((f"blk.0.{name}.weight", dims, F32, values))
    return gguf(settings("llama", **{"embedding_length": width, "feed_forward_length": width,
                                     "attention.head_count": 2, "attention.head_count_kv": 1,
                                     "attention.layer_norm_rms_epsilon": 1e-5}) + llama_words(),
                rows)


def bert():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "▁b", "▁c", "a", "b", "c", "▁."]
    keys = [key("tokenizer.ggml.model", 8, text("bert")), texts("tokenizer.ggml.tokens", words),
            numbers("tokenizer.ggml.token_type", 5, "i", [3, 2, 3, 3] + [1] * 7),
            u32("tokenizer.ggml.cls_token_id", 2), u32("tokenizer.ggml.seperator_token_id", 3),
            u32("tokenizer.ggml.unknown_token_id", 1)]
    rows = [("token_embd.weight", [32, 11], F32, None),
            ("position_embd.weight", [32, 64], F16, None),
            ("token_types.weight", [32, 2], F32, None)]
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        rows += [(name + ".weight", [32], F32, 1.0), (name + ".bias", [32], F32, 0.1)]
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"):
        rows += [(f"blk.0.{name}.weight", [32, 32], F32, None),
                 (f"blk.0.{name}.bias", [32], F32, 0.05)]
    return gguf(settings("bert", **{"attention.layer_norm_epsilon": 1e-12,
                                    "pooling_type": 1}) + keys, rows)


def t5():
    """An encoder with gates, a decoder without; heads wider than their share."""
    words = ["<pad>", "</s>", "<unk>", "▁", "▁a", "▁b", "a", "b", "c", "▁c", "."]
    keys = [key("tokenizer.ggml.model", 8, text("t5")), texts("tokenizer.ggml.tokens", words),
            numbers("tokenizer.ggml.scores", 6, "f", [-float(i) for i in range(11)]),
            numbers("tokenizer.ggml.token_type", 5, "i", [3, 3, 2] + [1] * 8),
            u32("tokenizer.ggml.eos_token_id", 1), u32("tokenizer.ggml.unknown_token_id", 2),
            u32("tokenizer.ggml.padding_token_id", 0)]
    rows = [("token_embd.weight", [32, 11], F32, None), ("enc.output_norm.weight", [32], F32, 1.0),
            ("dec.output_norm.weight", [32], F32, 1.0),
            ("enc.blk.0.attn_rel_b.weight", [4, 8], F32, None),
            ("dec.blk.0.attn_rel_b.weight", [4, 8], F16, None),
            ("enc.blk.0.ffn_gate.weight", [32, 32], Q8_0, None)]
    for part in ("enc.blk.0.", "dec.blk.0.", "dec.blk.0.cross_", "dec.blk.1.", "dec.blk.1.cross_"):
        rows += [(f"{part}attn_norm.weight", [32], F32, 1.0),
                 (f"{part}attn_o.weight", [48, 32], F32, None)]
        rows += [(f"{part}attn_{name}.weight", [32, 48], kind, None)
                 for name, kind in (("q", F32), ("k", F16), ("v", Q8_0))]
        if not part.endswith("cross_"):
            rows += [(f"{part}ffn_norm.weight", [32], F32, 1.0),
                     (f"{part}ffn_up.weight", [32, 32], F32, None),
                     (f"{part}ffn_down.weight", [32, 32], Q8_0, None)]
    more = {"decoder_block_count": 2, "decoder_start_token_id": 0, "attention.key_length": 12,
            "attention.value_length": 12, "attention.relative_buckets_count": 8,
            "attention.layer_norm_rms_epsilon": 1e-6}
    return gguf(settings("t5", **more) + keys, rows, seed=8)


def safetensors(tensors):
    """`tensors`: name, shape, values."""
    head, data = {}, b""
    for name, shape, values in tensors:
        more = struct.pack(f"<{len(values)}f", *values)
        head[name] = {"dtype": "F32", "shape": shape,
                      "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    rows = json.dumps(head).encode()
    rows += b" " * (-len(rows) % 8)
    return struct.pack("<Q", len(rows)) + rows + data


CONFIG = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
          "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
          "hidden_act": "silu", "vocab_size": 56}
LAYER = {"input_layernorm": [8], "post_attention_layernorm": [8], "self_attn.q_proj": [8, 8],
         "self_attn.k_proj": [4, 8], "self_attn.v_proj": [4, 8], "self_attn.o_proj": [8, 8]}
PLAIN = {"mlp.gate_proj": [8, 8], "mlp.up_proj": [8, 8], "mlp.down_proj": [8, 8]}
EXPERTS = {"block_sparse_moe.gate": [2, 8],
           **{f"block_sparse_moe.experts.{e}.w{w}": [8, 8] for e in range(2) for w in (1, 2, 3)}}


def folder(layer, **more):
    """config.json and model.safetensors."""
    draw = random.Random(3)
    rows = {"model.embed_tokens": [56, 8], "model.norm": [8],
            **{"model.layers.0." + name: shape for name, shape in layer.items()}}
    tensors = [(name + ".weight", shape, [draw.gauss(len(shape) == 1, 0.3)
                                          for _ in range(math.prod(shape))])
               for name, shape in rows.items()]
    return json.dumps({**CONFIG, **more}).encode(), safetensors(tensors)


def t5_folder():
    rows = {"shared": [11, 8], "encoder.final_layer_norm": [8], "decoder.final_layer_norm": [8]}
    for side, parts in (("encoder", ("SelfAttention",)),
                        ("decoder", ("SelfAttention", "EncDecAttention"))):
        block = side + ".block.0.layer."
        for i, part in enumerate(parts):
            rows.update({f"{block}{i}.{part}.{name}": [8, 8] for name in "qkvo"})
            rows[f"{block}{i}.layer_norm"] = [8]
        rows[block + "0.SelfAttention.relative_attention_bias"] = [8, 2]
        rows.update({f"{block}{len(parts)}.DenseReluDense.{name}": [8, 8]
                     for name in ("wi_0", "wi_1", "wo")})
        rows[f"{block}{len(parts)}.layer_norm"] = [8]
    draw = random.Random(4)
    tensors = [(name + ".weight", shape, [draw.gauss(len(shape) == 1, 0.3)
                                          for _ in range(math.prod(shape))])
               for name, shape in rows.items()]
    config = {"model_type": "t5", "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1,
              "num_heads": 2, "relative_attention_num_buckets": 8, "vocab_size": 11,
              "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    return json.dumps(config).encode(), safetensors(tensors)


SCALED = {"rope_type": "llama3", "factor": 4.0, "original_max_position_embeddings": 16,
          "rope_theta": 10000.0}
YARN = {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 16}
FOLDERS = {"llama": folder({**LAYER, **PLAIN}, model_type="llama"),
           "scaled": folder({**LAYER, **PLAIN}, model_type="llama", rope_parameters=SCALED),
           "yarn": folder({**LAYER, **PLAIN}, model_type="mistral", rope_scaling=YARN,
                          sliding_window=3),
           "experts": folder({**LAYER, **EXPERTS}, model_type="mixtral", num_local_experts=2,
                             num_experts_per_tok=1),
           "t5": t5_folder()}
FILES = {"tiny.gguf": llama, "tiny_bert.gguf": bert, "tiny_t5.gguf": t5,
         "tiny_grids.gguf": lambda: rare(GRIDS)}


def field(number, value):
    """One field of protobuf: bytes, a float or a number."""
    if isinstance(value, bytes):
        return bytes([number << 3 | 2]) + varint(len(value)) + value
    if isinstance(value, float):
        return bytes([number << 3 | 5]) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def charsmap():
    """A table that maps A to a: the root's children begin at 256, the leaf is unit 400."""
    units = [0] * 512
    units[0] = 256 << 10
    units[256 ^ 0x41] = 0x41 | 256 | (256 ^ 0x41 ^ 400) << 10
    units[400] = 0x80000000
    return struct.pack("<I512I", 2048, *units) + b"a\0"


PIECES = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("▁", -3.0, 1), ("a", -4.0, 1),
          ("b", -4.5, 1), ("▁a", -2.0, 1), ("ab", -3.5, 1), ("▁ab", -6.5, 1), ("c", -5.0, 1)]


# a, b is better than ab by less than the precision of a float.
TIE = [*PIECES[:3], ("▁", 0.0, 1), ("a", -1.0, 1), ("b", 2.0 ** -26 - 2.0 ** -23, 1),
       ("ab", -1.0 - 2.0 ** -23, 1)]


def sentence_piece(kind, pieces=PIECES):
    rows = b"".join(field(1, field(1, text.encode()) + field(2, score) + field(3, type_of))
                    for text, score, type_of in pieces)
    trainer = field(3, kind) + field(40, 0) + field(41, 1) + field(42, 2)
    normal = field(2, charsmap()) + field(3, 1) + field(4, 1) + field(5, 1)
    return rows + field(2, trainer) + field(3, normal)


def unigram_json(pieces=PIECES):
    added = [{"id": i, "content": text, "special": True} for i, (text, _, _) in
             enumerate(PIECES[:3])]
    return json.dumps({"added_tokens": added, "normalizer": {
        "type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap()).decode()},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
                  "vocab": [[text, score] for text, score, _ in pieces]}}).encode()


TOKENIZERS = {"unigram.json": unigram_json(), "unigram.model": sentence_piece(1),
              "bpe.model": sentence_piece(2), "tie.json": unigram_json(TIE),
              "tie.model": sentence_piece(1, TIE)}


def write_folder():
    place = os.path.join(ROOT, "tests/corpus/hf_tiny")
    os.makedirs(place, exist_ok=True)
    config, weights = FOLDERS["llama"]
    with open(os.path.join(ROOT, "tests/corpus/tokenizer/tiny.json"), "rb") as file:
        words = file.read()
    roles = {"bos_token": "<|endoftext|>", "eos_token": {"content": "<|endoftext|>"},
             "chat_template": "{{ messages[0]['content'] }}!"}
    for name, data in (("config.json", config), ("model.safetensors", weights),
                       ("tokenizer.json", words),
                       ("tokenizer_config.json", json.dumps(roles).encode())):
        with open(os.path.join(place, name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    write_folder()
    for tokenizer, content in TOKENIZERS.items():
        with open(os.path.join(ROOT, "tests/corpus/tokenizer", tokenizer), "wb") as out:
            out.write(content)
    os.makedirs(os.path.join(ROOT, "tests/corpus/folder"), exist_ok=True)
    for case, (settings_of, weights_of) in FOLDERS.items():
        with open(os.path.join(ROOT, "tests/corpus/folder", case + ".bin"), "wb") as out:
            out.write(settings_of + b"\0" + weights_of)
    for file, make in FILES.items():
        with open(os.path.join(ROOT, "tests/corpus/gguf", file), "wb") as out:
            out.write(make())
