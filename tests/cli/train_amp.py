"""train_amp.py - mixed precision: near f32 and torch.autocast, in about half the memory."""
import array
import json
import os
import random
import shutil
import struct
import sys

from _cli import ROOT, expect, fails, finish, parsed, path, succeeds, write

WIDTH, CLASSES, ROWS, BATCH = 20, 5, 640, 32
NET = write("amp.takt", f"""model net(x: f32[batch, {WIDTH}]) seed=4 {{
  h = dense(x, 64, act=relu)
  h = layer_norm(dense(h, 48, act=gelu))
  return dense(h, {CLASSES})
}}
""")
GPT = write("ampgpt.takt", """model gpt(ids: i64[batch, seq], labels: i64[batch, seq]) seed=1 {
  h = embedding(ids, 65, 128)
  repeat 4 as k {
    h = transformer_block(h, heads=4, hidden=512, causal=true)
  }
  return loss = op.cross_entropy(dense(layer_norm(h), 65), labels)
}
""")


def table():
    source = random.Random(8)
    teacher = [[source.gauss(0, 1) for _ in range(WIDTH)] for _ in range(CLASSES)]
    rows, lines = [], [",".join(f"x{i}" for i in range(WIDTH)) + ",kind"]
    for _ in range(ROWS):
        x = [round(source.gauss(0, 1), 5) for _ in range(WIDTH)]
        scores = [sum(a * b for a, b in zip(x, row)) for row in teacher]
        rows.append((x, scores.index(max(scores))))
        lines.append(",".join(f"{v:.5f}" for v in x) + f",{rows[-1][1]}")
    return write("amp.csv", "\n".join(lines) + "\n"), rows


TABLE, SAMPLES = table()


def curve(*more, name="amp.jsonl"):
    log = path(name)
    if os.path.exists(log):
        os.remove(log)
    succeeds("train", NET, "--data", TABLE, "--batch-size", str(BATCH), "--epochs", "3",
             "--optimizer", "adam", "--lr", "3e-3", "--no-shuffle", "-q", "--log", log, *more)
    with open(log, encoding="utf-8") as source:
        return [json.loads(line) for line in source]


def losses(lines):
    return [line["loss"] for line in lines]


def apart(one, other):
    return max(abs(a - b) for a, b in zip(one, other))


def weights():
    """First values of the parameters by name: (shape, numbers)."""
    file = path("amp.safetensors")
    succeeds("convert", NET, "-o", file)
    with open(file, "rb") as source:
        raw = source.read()
    size, = struct.unpack("<Q", raw[:8])
    made = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            made[name] = (entry["shape"],
                          list(array.array("f", raw[8 + size + first:8 + size + last])))
    return made


def by_torch(torch, dtype):
    """The same training by torch.autocast."""
    tensors = {name: torch.tensor(values).reshape(shape).requires_grad_()
               for name, (shape, values) in weights().items()}
    optimizer = torch.optim.Adam(tensors.values(), lr=3e-3)
    call, seen = torch.nn.functional, []
    for step in range(3 * ROWS // BATCH):
        first = step * BATCH % ROWS
        batch = SAMPLES[first:first + BATCH]
        x = torch.tensor([row[0] for row in batch])
        labels = torch.tensor([row[1] for row in batch])
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            h = torch.relu(call.linear(x, tensors["dense_0.weight"].T, tensors["dense_0.bias"]))
            h = call.gelu(call.linear(h, tensors["dense_1.weight"].T, tensors["dense_1.bias"]))
            h = call.layer_norm(h, (48,), tensors["layer_norm_0.gamma"],
                                tensors["layer_norm_0.beta"])
            y = call.linear(h, tensors["dense_2.weight"].T, tensors["dense_2.bias"])
        loss = call.cross_entropy(y.float(), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


def find_torch():
    """It imports a module called cuda, which must not be the test of that name next to this one."""
    before = sys.path
    sys.path = [folder for folder in before if folder != os.path.dirname(os.path.abspath(__file__))]
    try:
        import torch
        return torch
    except ImportError:
        return None
    finally:
        sys.path = before


def curves():
    wide = losses(curve())
    narrow = losses(curve("--amp", "bf16"))
    expect(len(wide) == 3 * ROWS // BATCH and wide[-1] < 0.5 * wide[0], wide)
    expect(0 < apart(wide, narrow) < 0.03, f"bf16 is {apart(wide, narrow)} from f32")
    for more in ([], ["--amp", "bf16"]):
        fast = losses(curve("--numerics", "fast", *more))
        expect(apart(wide, fast) < 0.05, f"fast {more} is {apart(wide, fast)} from f32")
    planned = parsed("plan", NET, "--train", "-D", "batch=32", "--numerics", "fast", "--json")
    chosen = [s["kernel"] for s in planned["steps"] if s["kind"] == "gemm"]
    if any(kernel.startswith("gemm_bf16") for kernel in chosen):  # where the machine has them
        expect(all(kernel.startswith("gemm_bf16") for kernel in chosen), chosen)
    half = curve("--amp", "f16")
    skipped = [line for line in half if line.get("skipped")]
    expect(all(line["scale"] >= 1 for line in half), half[0])
    expect(len(skipped) < 12, f"{len(skipped)} steps skipped")
    for one, following in zip(half, half[1:]):
        factor = 0.5 if one.get("skipped") else 1
        expect(following["scale"] == one["scale"] * factor, f"{one}, then {following}")
    expect(abs(half[-1]["loss"] - wide[-1]) < 0.15, f"{half[-1]}, f32 {wide[-1]}")
    torch = find_torch()
    if torch is None:
        print("skipped: torch is not installed, its autocast is not compared")
        return
    torch.set_num_threads(1)
    expect(apart(by_torch(torch, None), wide) < 1e-4, "f32 is not PyTorch's")
    theirs = by_torch(torch, torch.bfloat16)
    print(f"from f32: ours {apart(wide, narrow):.4f}, torch.autocast {apart(wide, theirs):.4f}; "
          f"between them {apart(narrow, theirs):.4f}")
    expect(apart(narrow, theirs) < 0.05, f"torch.autocast is {apart(narrow, theirs)} away")


def memory():
    """Activations of a transformer, as the plan counts them."""
    size = ["-D", "batch=4", "-D", "seq=128", "--threads", "1", "--train", "--json"]
    wide = parsed("plan", GPT, *size)["training"]
    expect(len(wide["points"]) >= 8, wide["points"])
    for kind, most in (("bf16", 0.55), ("f16", 0.55)):
        narrow = parsed("plan", GPT, *size, "--amp", kind)["training"]
        ratio = narrow["activations"] / wide["activations"]
        print(f"{kind}: activations {ratio:.3f} of those of f32")
        expect(ratio < most, f"{kind}: activations {ratio:.3f} of those of f32")
        expect(0 <= narrow["weights"] - wide["weights"] < 64, narrow)  # but for the loss scale
        # With f16 all gradients are kept, in 16 bits, and checked before the first weight changes.
        kept = wide["weights"] / 2 if kind == "f16" else 0
        expect(narrow["gradients"] < kept + 0.9 * wide["gradients"], narrow)


def rows():
    """The rows of bench/train: at most 0.55 of the activations, and not more memory in all."""
    sys.path.insert(0, os.path.join(ROOT, "bench", "train"))
    from rows import ROWS as BENCH
    for name in ("mlp", "cnn", "resnet", "ds_cnn", "gru", "transformer", "gpt"):
        text, batch, optimizer = BENCH[name]
        model = write(f"row_{name}.takt", text.replace("SEED", "1"))
        args = ["plan", model, "--train", "-D", f"batch={batch}", "--optimizer", optimizer,
                "--threads", "1", "--json"]
        wide = parsed(*args)
        most = wide["training"]["activations"]
        expect(name != "gpt" or most <= 80e6, f"{name}: {most} bytes of activations by default")
        for kind in ("bf16", "f16"):
            narrow = parsed(*args, "--amp", kind)
            ratio = narrow["training"]["activations"] / wide["training"]["activations"]
            print(f"{name} {kind}: activations {ratio:.3f} of those of f32")
            expect(ratio <= 0.55, f"{name} {kind}: activations {ratio:.3f} of those of f32")
            if name != "mlp":  # whose products widen all of their factors
                # x86 reads an A of f32 in place, where one of 16 bits is widened: more scratch.
                # GRU's largest step is a product whose factors are all widened.
                most = {"transformer": 0.85, "gpt": 0.87, "gru": 1}.get(name, 0.8)
                expect(narrow["memory"]["peak"] < most * wide["memory"]["peak"], narrow["memory"])


def refusals():
    fails(2, "train", NET, "--data", TABLE, "--amp", "f8", says=["bf16, f16 or f32"])
    fails(2, "plan", NET, "--train", "--tradeoff", "2", says=["0 to 1"])
    fails(4, "plan", NET, "--train", "-D", "batch=64", "--activation-limit", "1K",
          says=["4002", "activations", "--shards"])
    fails(2, "train", NET, "--data", TABLE, "--checkpoint-every", "often",
          says=["checkpoint-every"])


def background():
    """An unwritable folder is detected although saves are asynchronous."""
    folder = path("amp_saves")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "checkpoint.0"), exist_ok=True)  # a folder in the file's place
    run = ["train", NET, "--data", TABLE, "--epochs", "1", "--checkpoint", folder]
    fails(1, *run, "--checkpoint-every", "2", says=["checkpoint.0"])
    os.rmdir(os.path.join(folder, "checkpoint.0"))
    succeeds(*run, "-q", "--checkpoint-every", "1ms")
    expect(os.path.exists(os.path.join(folder, "checkpoint.1")), "no second generation")
    for ending in ("json", "csv", "txt"):
        file = path("amp_bench." + ending)
        succeeds("benchmark", "run", NET, "--type", "training", "--iterations", "8", "-o", file)
        with open(file, encoding="utf-8") as source:
            text = source.read()
        expect("optimizer" in text and (ending != "json" or json.loads(text)["batch"] == 32), text)
    fails(2, "benchmark", "run", NET, "--type", "training", "-o", path("amp_bench.html"),
          says=["json and csv"])


curves()
memory()
rows()
refusals()
background()
finish()
