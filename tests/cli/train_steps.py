"""train_steps.py - how many steps a training plan has, and the memory it keeps: counted, not timed.
"""
import hashlib
import os
import sys

from _cli import CNN, MLP, ROOT, expect, fails, finish, parsed, path, succeeds, write

# The shape of GPT-2: twelve blocks, the embedding once more as head. Widths change no step.
GPT = """
layer positions(x, count: int) {
  param table: [count, dim(x, -1)] = normal(0, 0.02)
  return x + table[:dim(x, 1)]
}
model gpt(tokens: i64[batch, 32]) -> (logits: f32[batch, 32, 256]) seed=11 {
  param wte: f32[256, 48] = normal(0, 0.02)
  h = positions(gather(wte, tokens, axis=0), 32)
  repeat BLOCKS as i {
    h = transformer_block(h, heads=3, hidden=4 * 48, causal=true)
  }
  h = layer_norm(h, name="final")
  return logits = einsum("bsd,vd->bsv", h, wte)
}
"""

# Gradients of recurrent cells, and of 3x3 convolutions by Winograd's transform.
CELLS = """
model cells(tokens: i64[batch, 32]) -> (logits: f32[batch, 32, 256]) seed=12 {
  param wte: f32[256, 24] = normal(0, 0.1)
  h = gru(gather(wte, tokens, axis=0), 20) |> lstm(24)
  return logits = einsum("bsd,vd->bsv", h, wte)
}
"""
IMAGES = """
model images(tokens: i64[batch, 32]) -> (logits: f32[batch, 32, 256]) seed=13 {
  param wte: f32[256, 54] = normal(0, 0.1)
  h = reshape(gather(wte, tokens, axis=0), [batch, 32, 6, 9])
  h = conv(h, 20, 3, pad=1, act=relu) |> conv(32, 3, pad=1) |> conv(32, 1)
  return logits = einsum("bsd,vd->bsv", reshape(h, [batch, 32, 54]), wte)
}
"""


def plan(model, *flags):
    facts = parsed("plan", model, "--train", "-D", "batch=8", "--json", *flags)
    # Packing weights for the next run is not a step of the graph.
    return facts, [f"{s['kind']} {s['name']}" for s in facts["steps"] if s["kind"] != "pack"]


def updates(facts):
    """Steps that write state, and how many steps run after the first of them."""
    state = {i for i, b in enumerate(facts["buffers"]) if b["place"] == "state"}
    at = [i for i, step in enumerate(facts["steps"])
          if state & set(step["writes"]) and step["kind"] != "pack"]
    return len(at), len(facts["steps"]) - at[0]


def small_models():
    """Cross-entropy and its gradient are one step each; relu and its bias stay in the product."""
    for model, parameters in ((MLP, 4), (CNN, 8 + 4)):
        facts, steps = plan(model)
        entropy = [s for s in steps if "entropy" in s or "softmax" in s or "gather" in s]
        expect(len(entropy) == 2, f"{model}: {entropy}")
        expect(any("+relu" in s for s in steps), f"{model}: relu left its product: {steps}")
        count, after = updates(facts)
        expect(count == parameters, f"{model}: {count} updates, expected {parameters}")
        expect(after > count, f"{model}: parameters are updated last")
        for optimizer in ("adam", "adamw"):
            chosen = [s["kernel"] for s in plan(model, "--optimizer", optimizer)[0]["steps"]]
            fused = sum(kernel is not None and kernel.startswith("adam_f32") for kernel in chosen)
            expect(fused == 4 if model == MLP else fused >= 4, f"{model}: {fused} by {optimizer}")
        expect(facts["memory"]["weights"] < 8192, f"{model}: constants of {facts['memory']}")
    expect(len(plan(MLP)[1]) <= 19, f"the MLP has {len(plan(MLP)[1])} steps")


def gpt():
    model = write("gpt12.takt", GPT.replace("BLOCKS", "12"))
    facts, steps = plan(model)
    count = len(steps) - facts["hint"]["repeated_steps"]
    expect(count <= 750, f"GPT-2 has {count} steps")
    count, after = updates(facts)
    expect(count == 12 * 16 + 4 and after > 2 * count, f"{count} updates, {after} steps")
    for more in ([], ["--amp", "bf16"], ["--amp", "f16"]):
        kernels = [s["kernel"] or "" for s in plan(model, *more)[0]["steps"]]
        slopes = sum("gelu_dx" in kernel for kernel in kernels)
        expect(slopes == 12, f"{slopes} of 12 gradients of gelu are one kernel {more}")
    squares = [s for s in steps if "softmax" in s]
    expect(not squares, f"scores of all heads are kept: {squares}")
    # Constants of zeros, ones and indices as large as a value would show here.
    expect(facts["memory"]["weights"] < 8192, f"constants of {facts['memory']['weights']} bytes")


def cells():
    """A recurrent cell runs forward once: its gradient reads the kept values, and computes neither
    the activations nor the recurrent product again."""
    facts, steps = plan(write("cells.takt", CELLS))
    for kind in ("rnn", "rnn_dx"):
        count = sum(step.startswith(kind + " ") for step in steps)
        expect(count == 2, f"{count} steps are {kind}: {steps}")
    wide = [s for s in facts["steps"] if s["kind"] == "rnn"]
    expect([len(s["writes"]) for s in wide] == [7, 10], wide)


# More queries than a product sums up at once, and heads that share keys and values.
SHARED = """
model shared(tokens: i64[batch, 300]) -> (logits: f32[batch, 300, 128]) seed=3 {
  param wte: f32[128, 12] = normal(0, 0.3)
  h = gather(wte, tokens, axis=0)
  h = h + attention(rms_norm(h), heads=6, kv_heads=2, causal=true)
  h = h + attention(h, heads=2)
  return logits = einsum("bsd,vd->bsv", h, wte)
}
"""


def memory():
    """Less memory for more time, down to a limit that cannot be met."""
    model = write("gpt6.takt", GPT.replace("BLOCKS", "6"))
    facts, _ = plan(model, "-t", "1", "--memory-limit", "1G")
    points = facts["training"]["points"]
    expect(len(points) >= 8 and points[0]["time"] == 1, points)
    for a, b in zip(points, points[1:]):
        expect(b["arena"] < a["arena"] and b["time"] >= a["time"], (a, b))
    least, most = facts["memory"]["minimum"], facts["memory"]["planned"]
    expect(least < 0.45 * most and points[-1]["time"] < 1.5, (least, most, points[-1]))
    rest = facts["memory"]["peak"] - most
    for share in (0.8, 0.6, 0.5):
        limit = rest + int(share * most)
        small = plan(model, "-t", "1", "--memory-limit", str(limit))[0]
        expect(small["memory"]["peak"] <= limit, (share, small["memory"]))
        expect(small["hint"]["repeated_steps"] > 0, small["hint"])
    small = plan(write("gpt1.takt", GPT.replace("BLOCKS", "1")), "-t", "1", "--tradeoff", "0")[0]
    expect(small["hint"]["repeated_steps"] > 0, f"--tradeoff 0 repeats nothing: {small['hint']}")
    fails(4, "plan", model, "--train", "-D", "batch=8", "-t", "1", "--memory-limit",
          str(rest + least // 2), says=("the limit is", "what would fit"))


def half_the_activations():
    """GPT 6x384: activations of 80 MB by default and of 40 MB at 1.25 of the time, as estimated;
    `bench/train/bounds` measures that time."""
    sys.path.insert(0, os.path.join(ROOT, "bench", "train"))
    from rows import gpt as sized
    model = write("gpt384.takt", sized(6, 384, 6, 256, 65, seed="1"))
    args = ["plan", model, "--train", "-D", "batch=4", "--optimizer", "adamw", "--threads", "1",
            "--json"]
    training = parsed(*args)["training"]
    expect(training["activations"] <= 80e6, f"{training['activations']} bytes by default")
    facts = parsed(*args, "--activation-limit", "43M")
    less = [point for point in training["points"] if point["arena"] <= facts["memory"]["arena"]]
    expect(facts["training"]["activations"] <= 40e6, facts["training"])
    expect(less and less[0]["time"] <= 1.25, (facts["memory"], training["points"]))


# Other plans: with every operation by itself, and with values that are computed twice. The first
# two do without Winograd's transform.
LICENSED = (["-O0"], ["--hint", "memory"], ["--tradeoff", "0"])


def same_bits(model, window, want, more=LICENSED):
    """A fused operation has the bits of its parts, with any instruction set, and so has a step that
    rematerialises values."""
    text = write("letters.txt", "".join(chr(97 + i * i % 23) for i in range(900)))
    digests = set()
    for flags in (["-t", "1"], ["-t", "3"], ["-t", "2", "--isa", "scalar"], *more):
        out = path("bits.safetensors")
        succeeds("train", model, "--data", text, "--window", window, "--batch-size", "8",
                 "--epochs", "1", "-o", path("bits.taktp"), *flags)
        succeeds("convert", path("bits.taktp"), "-o", out)
        with open(out, "rb") as file:
            digests.add(hashlib.sha256(file.read()).hexdigest())
    expect(len(digests) == 1, f"bits depend on how a step is run: {digests}")
    expect(digests == {want}, f"the weights were {want} before: {digests}")


small_models()
gpt()
cells()
memory()
half_the_activations()
# Digests of the trained weights: they change if the result of any training changes.
same_bits(write("gpt1.takt", GPT.replace("BLOCKS", "1")), "32",
          "4989b957390aba5af75d39eaa7560b14b6194038478a91a6c15f911ed774e408")
same_bits(write("shared.takt", SHARED), "300",
          "fad251e5e80606933141878565a794e81e8b98ad6f2852ab8c34beb043ce82e2")
same_bits(write("cells.takt", CELLS), "32",
          "bb5214cbd53cfbea95633dd213c2b5e0b6050ac4998f5cf97afcea5e06b017cb")
same_bits(write("images.takt", IMAGES), "32",
          "67aba9f5a1ecba93168b2766f80c17df73825e267bf89f6da6f5e9c9f3ef2baa", more=LICENSED[2:])
finish()
