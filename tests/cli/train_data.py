"""train_data.py - data sets by name, and what a checkpoint records about data, model and settings.
"""
import gzip
import hashlib
import os
import random
import shutil
import struct
import zipfile

from _cli import expect, fails, finish, parsed, path, succeeds, takt, write

NET = write("net.takt", """model net(x: f32[batch, 6]) seed=2 {
  h = dense(x, 16, act=relu)
  return dense(h, 3, act=softmax)
}
""")


def table(name, rows, seed=5):
    source = random.Random(seed)
    lines = []
    for _ in range(rows):
        x = [source.uniform(-1, 1) for _ in range(6)]
        kind = max(range(3), key=lambda k: x[k] + x[k + 3])
        lines.append(",".join([f"{v:.6f}" for v in x] + [str(kind)]))
    return write(name, "\n".join(lines) + "\n")


def pictures(folder, parts):
    """MNIST's files with few pictures."""
    os.makedirs(folder, exist_ok=True)
    for part, count in parts.items():
        images = struct.pack(">4i", 0x803, count, 28, 28) + bytes(i % 251 for i in
                                                                  range(784 * count))
        labels = struct.pack(">2i", 0x801, count) + bytes(i % 10 for i in range(count))
        for kind, content in (("images-idx3", images), ("labels-idx1", labels)):
            with gzip.open(os.path.join(folder, f"{part}-{kind}-ubyte.gz"), "wb") as file:
                file.write(content)


def names():
    """A name is searched below TAKT_DATA and in the user's folder; a file takes precedence."""
    root, home = path("sets"), path("home")
    for folder in (root, home):
        shutil.rmtree(folder, ignore_errors=True)
    pictures(os.path.join(root, "data", "mnist"), {"train": 60, "t10k": 20})
    pictures(os.path.join(home, "takt", "fashion-mnist"), {"train": 40, "t10k": 10})
    env = {"TAKT_DATA": root, "XDG_DATA_HOME": home}
    expect(parsed("data", "mnist", "--json", env=env)["samples"] == 60, "mnist below TAKT_DATA")
    facts = parsed("data", "mnist", "--split", "test", "--json", env=env)
    expect(facts["samples"] == 20, facts)
    facts = parsed("data", "fashion-mnist", "--json", env={"XDG_DATA_HOME": home})
    expect(facts["samples"] == 40, facts)
    listed = {row["name"]: row for row in parsed("data", "--list", "--json", env=env)}
    expect(listed["mnist"]["path"] == os.path.join(root, "data", "mnist"), listed["mnist"])
    expect(listed["iris"]["path"] == "" and "iris.csv" in listed["iris"]["get"], listed["iris"])
    text = succeeds("data", "--list", env=env)
    expect("fashion-mnist" in text and "not here: put iris.csv" in text, text)
    for flags in (["train", "examples/fashion.takt"], ["train", "examples/mlp.takt"]):
        out = succeeds(*flags, "--data", "mnist", "--epochs", "1", "-o", path("m.taktp"), env=env)
        expect("60 samples" in out, out)
    out = succeeds("eval", path("m.taktp"), "--data", "mnist", "--split", "test", env=env)
    expect("top1" in out, out)
    empty = {"XDG_DATA_HOME": path("nowhere")}
    fails(2, "train", NET, "--data", "mnist", env=empty,
          says=["7005", "mnist is not on this machine", "TAKT_DATA", "nowhere/takt/mnist"])
    fails(2, "train", NET, "--data", "minst", says=["did you mean mnist"])
    fails(1, "train", NET, "--data", "./mnist-of-mine.csv", says=["mnist-of-mine"])
    fails(2, "data", says=["no data"])
    fails(1, "train", NET, "--data", table("plain.csv", 9), "--window", "8",
          says=["windows are for plain text, this is csv", "leave out --window"])
    # The folder of data sets is not a data set: verbs that take --data behave as without it.
    fails(2, "train", NET, env=env, says=["--data"])
    given = ["quantize", NET, "--calib", table("calib.csv", 20), "--size-first", "-o",
             path("q.onnx"), "--json"]
    expect(set(parsed(*given, env=env)) == set(parsed(*given)), "TAKT_DATA is taken as --data")


def batches():
    """The training part of CIFAR-10 is five files."""
    folder = path("cifar-10-batches-bin")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for k in range(1, 7):
        name = f"data_batch_{k}.bin" if k < 6 else "test_batch.bin"
        rows = [bytes([k]) + bytes([k * 40 - 20]) * 3072 for _ in range(k)]
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"".join(rows))
    env = {"TAKT_DATA": os.path.dirname(folder)}
    facts = parsed("data", "cifar10", "--json", env=env)
    expect(facts["samples"] == 15 and facts["classes"] == 6, facts)
    mean = sum(k * (k * 40 - 20) for k in range(1, 6)) / 15
    expect(abs(facts["fields"][0]["mean"] - mean) < 1e-3, facts)
    expect(parsed("data", "cifar10", "--split", "test", "--json", env=env)["samples"] == 6, "test")
    with open(os.path.join(folder, "data_batch_3.bin"), "ab") as file:
        file.write(b"?")
    fails(1, "data", folder, says=["7005", "CIFAR-10"])
    os.remove(os.path.join(folder, "data_batch_3.bin"))
    expect(parsed("data", folder, "--json")["samples"] == 1, "the first file alone")


def held_out():
    """What --val-split holds out is drawn: of a file sorted by class the end is one class."""
    rows = [[float(k == i // 30) for k in range(6)] + [i // 30] for i in range(90)]
    file = write("sorted.csv", "".join(",".join(map(str, row)) + "\n" for row in rows))
    run = ["train", NET, "--data", file, "--lr", "0.1", "--epochs", "20", "--val-split", "0.34"]
    drawn = [row for row in succeeds(*run).splitlines() if row.startswith("epoch 20")][0]
    expect("validation loss" in drawn and "accuracy 1.0000" in drawn.split("validation")[1], drawn)
    last = succeeds(*run, "--no-shuffle")
    expect("accuracy 0.0000" in last.splitlines()[-1].split("validation")[1], last)
    for more in (["--seed", "5"], ["--workers", "0"], ["--augment", "mixup=0.2"]):
        expect("60 samples" in succeeds(*run, *more), more)


def settings():
    """Resumed with other data or another model: refused. With other settings: reported."""
    one, other = table("one.csv", 200), table("other.csv", 200, seed=6)
    folder = path("settings")
    shutil.rmtree(folder, ignore_errors=True)
    base = ["train", NET, "--checkpoint", folder, "--data"]
    succeeds(*base, one, "--epochs", "1", "--lr", "1e-2")
    more = ["--epochs", "2", "--resume"]
    fails(2, *base, other, *more, says=["7004", "other data"])
    fails(2, *base, one, *more, "--limit", "150", says=["7004", "other data"])
    tanh = write("tanh.takt", open(NET).read().replace("relu", "tanh"))
    fails(2, "train", tanh, *base[2:], one, *more, says=["7004", "another model"])
    said = takt(*base, one, *more, "--lr", "0.01").stderr
    expect("other settings" not in said and "going on after step 7" in said, said)
    said = takt(*base, one, "--epochs", "3", "--resume", "--clip", "1", "--seed", "3").stderr
    expect("other settings: --lr 0.01 then, --clip 1 now, --seed 3 now" in said, said)
    said = takt(*base, one, "--epochs", "4", "--resume", "-q").stderr
    expect(said == "", said)


def digest(model):
    succeeds("convert", model, "-o", model + ".safetensors")
    with open(model + ".safetensors", "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def mixup():
    """Mixed samples: the same for any number of workers and after a break, and data that cannot be
    mixed."""
    data = table("mixed.csv", 300)
    base = ["train", NET, "--data", data, "--lr", "1e-2", "--epochs", "4", "--val-split", "0.2"]
    seen = []
    for flags in (["--workers", "0"], ["--workers", "4", "--threads", "2"], ["--isa", "scalar"]):
        out = succeeds(*base, "--augment", "mixup=0.3,noise=0.01", *flags, "-o", path("x.taktp"))
        seen.append(digest(path("x.taktp")))
    expect(len(set(seen)) == 1, "workers, threads or instruction set change mixed samples")
    told = [line for line in out.splitlines() if line.startswith("epoch 4")][0]
    last = float(told.rsplit("accuracy ", 1)[1].split(";")[0])
    expect(last > 0.5, f"it does not learn from mixed samples: {out}")
    succeeds(*base, "--augment", "noise=0.01", "-q", "-o", path("x.taktp"))
    expect(digest(path("x.taktp")) not in seen, "mixup does nothing")
    folder = path("mixed")
    shutil.rmtree(folder, ignore_errors=True)
    with_state = [*base, "--augment", "mixup=0.3,noise=0.01", "-q", "--checkpoint", folder,
                  "--checkpoint-every", "5"]
    succeeds(*with_state[:6], "--steps", "13", *with_state[8:])
    succeeds(*with_state, "--resume", "-o", path("x.taktp"))
    expect(digest(path("x.taktp")) in seen, "mixed samples are others after a break")
    succeeds(*base, "--augment", "mixup=1", "--loss", "cross_entropy:smoothing=0.1", "-q")
    fails(2, *base, "--augment", "mixup=0.3", "--loss", "focal", says=["cannot be mixed"])
    fails(2, *base, "--augment", "mixup=5", says=["0 to 4"])
    line = write("line.takt", "model line(x: f32[batch, 6]) seed=1 {\n  return dense(x, 1)\n}\n")
    rows = "\n".join(",".join(str((i * k) % 7 / 7 + 0.25) for k in range(1, 8)) for i in range(50))
    succeeds("train", line, "--data", write("line.csv", rows + "\n"), "--loss", "mse", "--augment",
             "mixup=0.4", "--epochs", "3", "-q")
    text = write("chars.takt", "model chars(x: i64[batch, 8]) seed=1 {\n"
                 "  return dense(embedding(x, 65, 4), 65)\n}\n")
    fails(2, "train", text, "--data", write("words.txt", "to be or not to be " * 40), "--window",
          "8", "--augment", "mixup=0.2", says=["one input of floats"])


def archive(name, **arrays):
    """A .npz of zeros: shapes by name."""
    with zipfile.ZipFile(path(name), "w") as to:
        for key, shape in arrays.items():
            count = 1
            for size in shape:
                count *= size
            head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
            to.writestr(key + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
                        + (head.ljust(117) + "\n").encode() + bytes(4 * count))
    return path(name)


def parts():
    """Next to the parts of an archive, arrays of no part are samples only if they are as many."""
    parts = {"x_train": (5, 6), "y_train": (5,), "x_test": (3, 6), "y_test": (3,)}
    file = archive("parts.npz", mean=(2,), weight=(5,), **parts, seed=())
    for split, samples, fields, left in (("train", 5, ["weight", "x", "labels"], "mean seed"),
                                         ("test", 3, ["x", "labels"], "seed mean weight")):
        facts = parsed("data", file, "--split", split, "--json")
        expect(facts["samples"] == samples, facts)
        expect([field["name"] for field in facts["fields"]] == fields, facts)
        expect(sorted(facts["left_out"]) == sorted(left.split()), facts)
    out = succeeds("data", file)
    expect("mean     left out: of no part" in out and "seed" in out, out)
    succeeds("train", NET, "--data", archive("one.npz", mean=(1, 6), **parts), "-q")
    for shapes in ({"mean": (2,), "seed": ()}, {"seed": ()}):
        fails(1, "data", archive("no.npz", x=(5, 6), **shapes), says=["seed is one number"])
    fails(1, "data", archive("no.npz", x=(5, 6), mean=(2,)),
          says=["x has 5 samples, mean has 2", "cut off"])
    fails(1, "data", archive("no.npz", x_train=(5, 6), y_train=(4,)),
          says=["x has 5 samples, labels has 4", "cut off"])
    expect("left_out" not in parsed("data", table("left.csv", 9), "--json"), "of a table")


names()
batches()
parts()
held_out()
settings()
mixup()
finish()
