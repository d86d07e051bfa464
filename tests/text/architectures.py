"""architectures.py - models with random weights, of each architecture, against their formulas in
plain Python: scores of every row, and vectors of texts."""
import json
import math
import os
import random
import struct
import subprocess
import sys

from _tiny import F32, gguf, safetensors, settings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
WIDTH, HIDDEN, WORDS, TOKENS = 32, 48, 11, [1, 5, 4, 10, 4, 7, 2]
PROMPT = [(7 * i * i + i) % 11 for i in range(40)]  # of encoders
failures = []


# ---- formulas ----

def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Weights:
    """Random tensors by name, written in the order of their first use."""

    def __init__(self, seed):
        self.draw, self.rows, self.known = random.Random(seed), [], {}

    def get(self, name, *shape, around=0.0):
        if name not in self.known:
            count = math.prod(shape)
            flat = [f32(around + self.draw.gauss(0, 0.2)) for _ in range(count)]
            self.rows.append((name, list(reversed(shape)), flat))
            self.known[name] = flat if len(shape) == 1 else [
                flat[i:i + shape[1]] for i in range(0, count, shape[1])]
        return self.known[name]

    def project(self, x, units, name, bias=False):
        matrix = self.get(name + ".weight", units, len(x[0]))
        offset = self.get(name + ".bias", units) if bias else [0.0] * units
        return [[sum(a * b for a, b in zip(row, column)) + o for column, o in zip(matrix, offset)]
                for row in x]


def rms_norm(x, gamma, epsilon):
    return [[v * g / math.sqrt(sum(a * a for a in row) / len(row) + epsilon)
             for v, g in zip(row, gamma)] for row in x]


def layer_norm(w, x, name, epsilon):
    gamma, beta = w.get(name + ".weight", WIDTH, around=1.0), w.get(name + ".bias", WIDTH)
    out = []
    for row in x:
        mean = sum(row) / len(row)
        by = math.sqrt(sum((v - mean) ** 2 for v in row) / len(row) + epsilon)
        out.append([(v - mean) / by * g + b for v, g, b in zip(row, gamma, beta)])
    return out


def rope(x, heads, base, neighbours, turned):
    size = len(x[0]) // heads
    out = []
    for place, row in enumerate(x):
        new = list(row)
        for h in range(heads):
            for i in range(turned // 2):
                a = h * size + (2 * i if neighbours else i)
                b = a + (1 if neighbours else turned // 2)
                angle = place * base ** (-2 * i / turned)
                new[a] = row[a] * math.cos(angle) - row[b] * math.sin(angle)
                new[b] = row[a] * math.sin(angle) + row[b] * math.cos(angle)
        out.append(new)
    return out


def attention(q, k, v, heads, kv_heads, causal):
    size, out = len(q[0]) // heads, []
    for i, row in enumerate(q):
        new = []
        for h in range(heads):
            g = h // (heads // kv_heads)
            keys = range(i + 1) if causal else range(len(k))
            scores = [sum(row[h * size + d] * k[j][g * size + d] for d in range(size)) /
                      math.sqrt(size) for j in keys]
            parts = [math.exp(s - max(scores)) for s in scores]
            new += [sum(p * v[j][g * size + d] for p, j in zip(parts, keys)) / sum(parts)
                    for d in range(size)]
        out.append(new)
    return out


def added(a, b):
    return [[x + y for x, y in zip(r, s)] for r, s in zip(a, b)]


def llama(w, neighbours, bias, base, turned):
    heads, kv_heads, epsilon = 4, 2, f32(1e-5)
    table = w.get("token_embd.weight", WORDS, WIDTH)
    x = [table[t] for t in TOKENS]
    for i in range(2):
        p = f"blk.{i}."
        h = rms_norm(x, w.get(p + "attn_norm.weight", WIDTH, around=1.0), epsilon)
        q, k, v = (w.project(h, n, p + name, bias)
                   for name, n in (("attn_q", WIDTH), ("attn_k", 16), ("attn_v", 16)))
        y = attention(rope(q, heads, base, neighbours, turned),
                      rope(k, kv_heads, base, neighbours, turned), v, heads, kv_heads, True)
        x = added(x, w.project(y, WIDTH, p + "attn_output"))
        h = rms_norm(x, w.get(p + "ffn_norm.weight", WIDTH, around=1.0), epsilon)
        gate = w.project(h, HIDDEN, p + "ffn_gate")
        up = w.project(h, HIDDEN, p + "ffn_up")
        both = [[g / (1 + math.exp(-g)) * u for g, u in zip(r, s)] for r, s in zip(gate, up)]
        x = added(x, w.project(both, WIDTH, p + "ffn_down"))
    x = rms_norm(x, w.get("output_norm.weight", WIDTH, around=1.0), epsilon)
    return w.project(x, WORDS, "output" if bias else "token_embd")


def gpt2(w):
    epsilon = f32(1e-5)
    table = w.get("token_embd.weight", WORDS, WIDTH)
    places = w.get("position_embd.weight", 64, WIDTH)
    x = [[a + b for a, b in zip(table[t], places[i])] for i, t in enumerate(TOKENS)]
    for i in range(2):
        p = f"blk.{i}."
        h = layer_norm(w, x, p + "attn_norm", epsilon)
        both = w.project(h, 3 * WIDTH, p + "attn_qkv", True)
        q, k, v = ([row[n * WIDTH:(n + 1) * WIDTH] for row in both] for n in range(3))
        y = attention(q, k, v, 4, 4, True)
        x = added(x, w.project(y, WIDTH, p + "attn_output", True))
        h = w.project(layer_norm(w, x, p + "ffn_norm", epsilon), HIDDEN, p + "ffn_up", True)
        root = math.sqrt(2 / math.pi)
        h = [[v / 2 * (1 + math.tanh(root * (v + 0.044715 * v ** 3))) for v in row] for row in h]
        x = added(x, w.project(h, WIDTH, p + "ffn_down", True))
    return w.project(layer_norm(w, x, "output_norm", epsilon), WORDS, "token_embd")


def bert(w, pooling):
    epsilon = f32(1e-12)
    table = w.get("token_embd.weight", WORDS, WIDTH)
    places, kinds = w.get("position_embd.weight", 64, WIDTH), w.get("token_types.weight", 2, WIDTH)
    x = [[a + b + c for a, b, c in zip(table[t], places[i], kinds[0])]
         for i, t in enumerate(TOKENS)]
    x = layer_norm(w, x, "token_embd_norm", epsilon)
    for i in range(2):
        p = f"blk.{i}."
        q, k, v = (w.project(x, WIDTH, p + name, True) for name in ("attn_q", "attn_k", "attn_v"))
        y = w.project(attention(q, k, v, 4, 4, False), WIDTH, p + "attn_output", True)
        x = layer_norm(w, added(x, y), p + "attn_output_norm", epsilon)
        h = w.project(x, HIDDEN, p + "ffn_up", True)
        h = [[v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in row] for row in h]
        x = layer_norm(w, added(x, w.project(h, WIDTH, p + "ffn_down", True)),
                       p + "layer_output_norm", epsilon)
    return [[sum(column) / len(x) for column in zip(*x)] if pooling == 1 else x[0]]


def bucket(distance, both, count, most):
    """The bucket of the distance from a query to a key, as in T5."""
    first = 0
    if both:
        count //= 2
        first = count if distance > 0 else 0
    away, exact = abs(distance) if both else max(-distance, 0), count // 2
    if away >= exact:
        steps = 0  # whole powers of the ratio that fit
        while steps < count - exact - 1 and (most / exact) ** ((steps + 1) / (
                count - exact)) * exact <= away * (1 + 1e-9):
            steps += 1
        away = exact + steps
    return first + away


def biased(q, k, v, table, both):
    """Attention of four heads whose scores are not scaled; `table` None: no bias, all is seen."""
    size, out = len(q[0]) // 4, []
    for i, row in enumerate(q):
        new = []
        for h in range(4):
            keys = range(len(k)) if both else range(i + 1)
            scores = [sum(row[h * size + d] * k[j][h * size + d] for d in range(size)) +
                      (table[bucket(j - i, both, 8, 20)][h] if table else 0) for j in keys]
            parts = [math.exp(s - max(scores)) for s in scores]
            new += [sum(p * v[j][h * size + d] for p, j in zip(parts, keys)) / sum(parts)
                    for d in range(size)]
        out.append(new)
    return out


def t5_attention(w, x, source, name, table, both):
    h = rms_norm(x, w.get(name + "attn_norm.weight", WIDTH, around=1.0), f32(1e-6))
    k, v = (w.project(source or h, 48, f"{name}attn_{part}") for part in "kv")
    y = biased(w.project(h, 48, name + "attn_q"), k, v, table, both)
    return added(x, w.project(y, WIDTH, name + "attn_o"))


def t5_feed_forward(w, x, name, gated):
    h = rms_norm(x, w.get(name + "ffn_norm.weight", WIDTH, around=1.0), f32(1e-6))
    up = w.project(h, HIDDEN, name + "ffn_up")
    if gated:
        root = math.sqrt(2 / math.pi)
        gate = [[v / 2 * (1 + math.tanh(root * (v + 0.044715 * v ** 3))) for v in row]
                for row in w.project(h, HIDDEN, name + "ffn_gate")]
        up = [[g * u for g, u in zip(r, s)] for r, s in zip(gate, up)]
    else:
        up = [[max(v, 0) for v in row] for row in up]
    return added(x, w.project(up, WIDTH, name + "ffn_down"))


def t5(w, gated, tied):
    """Scores of an answer to PROMPT."""
    words = w.get("token_embd.weight", WORDS, WIDTH)
    tables = {side: w.get(f"{side}.blk.0.attn_rel_b.weight", 8, 4) for side in ("enc", "dec")}
    x = [words[t] for t in PROMPT]
    for i in range(2):
        x = t5_attention(w, x, None, f"enc.blk.{i}.", tables["enc"], True)
        x = t5_feed_forward(w, x, f"enc.blk.{i}.", gated)
    encoded = rms_norm(x, w.get("enc.output_norm.weight", WIDTH, around=1.0), f32(1e-6))
    x = [words[t] for t in TOKENS]
    for i in range(3):
        x = t5_attention(w, x, None, f"dec.blk.{i}.", tables["dec"], False)
        x = t5_attention(w, x, encoded, f"dec.blk.{i}.cross_", None, True)
        x = t5_feed_forward(w, x, f"dec.blk.{i}.", gated)
    x = rms_norm(x, w.get("dec.output_norm.weight", WIDTH, around=1.0), f32(1e-6))
    if not tied:
        return w.project(x, WORDS, "output")
    return w.project([[v / math.sqrt(WIDTH) for v in row] for row in x], WORDS, "token_embd")


# ---- the command ----

def npy(path, values):
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(values)},), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{len(values)}q", *values))


def floats(path):
    with open(path, "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack_from("<H", data, 8)[0]:]
    return struct.unpack(f"<{len(data) // 4}f", data)


def check(name, keys, weights, want, output):
    path = os.path.join(TMP, name + ".gguf")
    tensors = [(n, dims, F32, flat) for n, dims, flat in weights.rows]
    with open(path, "wb") as file:
        file.write(gguf(keys, tensors))
    compare(name, path, want, output)


HF_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
            "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
            "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
            "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
            "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def hf_name(name):
    parts = name.split(".")
    if parts[0] != "blk":
        return f"{HF_NAMES[parts[0]]}.{parts[1]}"
    return f"model.layers.{parts[1]}.{HF_NAMES[parts[2]]}.{parts[3]}"


def check_folder(name, config, weights, want):
    """The same weights under Hugging Face's names, in two parts; pairs are half a head apart."""
    path = os.path.join(TMP, name)
    os.makedirs(path, exist_ok=True)
    rows = [(hf_name(n), list(reversed(dims)), flat) for n, dims, flat in weights.rows]
    parts = {"a.safetensors": rows[::2], "b.safetensors": rows[1::2]}
    index = {"weight_map": {n: part for part, own in parts.items() for n, _, _ in own}}
    for file_name, data in [(part, safetensors(own)) for part, own in parts.items()] + [
            ("config.json", json.dumps(config).encode()),
            ("model.safetensors.index.json", json.dumps(index).encode())]:
        with open(os.path.join(path, file_name), "wb") as file:
            file.write(data)
    compare(name, path, want, "logits")


def compare(name, path, want, output):
    out = os.path.join(TMP, name + ".npy")
    npy(os.path.join(TMP, "tokens.npy"), TOKENS)
    npy(os.path.join(TMP, "wanted.npy"), list(range(len(TOKENS))))
    call = [TOOL, "run", path, "-i", f"tokens={TMP}/tokens.npy", "-o", f"{output}={out}"]
    if output == "logits":
        call += ["-i", f"wanted={TMP}/wanted.npy"]
    if name.startswith("t5"):
        npy(os.path.join(TMP, "prompt.npy"), PROMPT)
        call += ["-i", f"prompt={TMP}/prompt.npy"]
    run = subprocess.run(call, text=True, capture_output=True, check=False)
    if run.returncode != 0:
        failures.append(name)
        print(f"{name}: exit {run.returncode}: {run.stderr}")
        return
    flat = [v for row in want for v in row]
    got = floats(out)
    worst = max(abs(a - b) for a, b in zip(got, flat))
    print(f"{name}: {len(got)} values, at most {worst:.2g} away")
    if len(got) != len(flat) or not worst < 2e-5:
        failures.append(name)


def refused_mpt():
    """Tensors that kinds of MPT have which are not computed: a file with them is refused."""
    rows = [("token_embd.weight", [WIDTH, WORDS]), ("output_norm.weight", [WIDTH]),
            ("blk.0.attn_norm.weight", [WIDTH]), ("blk.0.attn_qkv.weight", [WIDTH, 3 * WIDTH]),
            ("blk.0.attn_output.weight", [WIDTH, WIDTH]), ("blk.0.ffn_norm.weight", [WIDTH]),
            ("blk.0.ffn_up.weight", [WIDTH, HIDDEN]), ("blk.0.ffn_down.weight", [HIDDEN, WIDTH])]
    keys = settings("mpt", **{"attention.layer_norm_epsilon": 1e-5, "feed_forward_length": HIDDEN})
    path = os.path.join(TMP, "mpt.gguf")
    for name, dims in ((None, None), ("position_embd", [WIDTH, 64]),
                       ("blk.0.attn_q_norm", [WIDTH]), ("blk.0.attn_k_norm", [WIDTH])):
        more = [(name + ".weight", dims)] if name else []
        with open(path, "wb") as file:
            file.write(gguf(keys, [(n, d, F32, None) for n, d in rows + more]))
        run = subprocess.run([TOOL, "inspect", path], text=True, capture_output=True, check=False)
        said = name.split(".")[-1] if name else "mpt"
        if (run.returncode != 0) != bool(name) or said not in run.stdout + run.stderr:
            failures.append("mpt")
            print(f"mpt with {name}: exit {run.returncode}: {run.stderr}")


def main():
    refused_mpt()
    rms = {"attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-5,
           "feed_forward_length": HIDDEN, "block_count": 2}
    layer = {"attention.layer_norm_epsilon": 1e-5, "feed_forward_length": HIDDEN, "block_count": 2}
    w = Weights(1)
    check("llama", settings("llama", **rms), w, llama(w, True, False, 10000.0, 8), "logits")
    w = Weights(2)
    more = {"rope.freq_base": 500000.0, "rope.dimension_count": 4}
    check("llama_partial", settings("llama", **rms, **more), w, llama(w, True, False, 500000.0, 4),
          "logits")
    w = Weights(3)
    check("qwen2", settings("qwen2", **rms, **{"rope.freq_base": 1e6}), w,
          llama(w, False, True, 1e6, 8), "logits")
    w = Weights(4)
    check("gpt2", settings("gpt2", **layer), w, gpt2(w), "logits")
    for pooling in (1, 2):
        w = Weights(5)
        bert_keys = {**layer, "attention.layer_norm_epsilon": 1e-12, "pooling_type": pooling}
        check(f"bert_{pooling}", settings("bert", **bert_keys), w, bert(w, pooling), "embedding")
    relative = {**rms, "attention.key_length": 12, "decoder_block_count": 3,
                "attention.relative_buckets_count": 8, "attention.relative_max_distance": 20,
                "attention.layer_norm_rms_epsilon": 1e-6}
    for gated, tied in ((True, False), (False, True)):
        w = Weights(8)
        check(f"t5_{gated}", settings("t5", **relative), w, t5(w, gated, tied), "logits")
    config = {"hidden_size": WIDTH, "intermediate_size": HIDDEN, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
              "rms_norm_eps": 1e-5}
    w = Weights(6)
    check_folder("llama_folder", {**config, "model_type": "llama"}, w,
                 llama(w, False, False, 10000.0, 8))
    w = Weights(7)
    check_folder("qwen2_folder", {**config, "model_type": "qwen2", "rope_theta": 1e6}, w,
                 llama(w, False, True, 1e6, 8))
    sys.exit(len(failures) > 0)


main()
