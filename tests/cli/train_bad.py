"""train_bad.py - data that is cut off, foreign or does not fit: messages name file and sample."""
import gzip
import io
import json
import os
import shutil
import struct
import wave
import zipfile

from _cli import expect, fails, finish, parsed, path, succeeds, takt, write

NET = write("bad_net.takt", """model net(x: f32[batch, 6]) seed=2 {
  return dense(dense(x, 8, act=relu), 3, act=softmax)
}
""")
ONE = write("bad_one.takt", "model one(x: f32[batch, 6]) seed=1 { return dense(x, 1) }\n")
ROWS, WIDTH = 20, 6


def store(name, data):
    file = name if os.path.isabs(name) else path("bad/" + name)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "wb") as out:
        out.write(data)
    return file


def refused(file, *says):
    """One sentence that names the file, and a hint."""
    told = fails(1, "data", file, says=says)
    expect(told.startswith("error[TAKT") and "\nhint: " in told, f"{file}: {told}")
    return told


def npy(values, shape, kind="<f4"):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode()
            + struct.pack(f"<{len(values)}{ {'<f4': 'f', '<i8': 'q', '<f8': 'd'}[kind]}", *values))


X = npy([i % 7 / 7 for i in range(ROWS * WIDTH)], f"({ROWS}, {WIDTH})")


def archive(name, labels, kind="<i8", x=X, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as to:
        to.writestr("x.npy", x)
        to.writestr("y.npy", npy(labels, f"({len(labels)},)", kind))
    return store(name, buffer.getvalue())


def classes():
    return [i % 3 for i in range(ROWS)]


def compressed():
    """Archives of numpy.savez_compressed; damaged ones are refused with a place."""
    plain = parsed("data", archive("plain.npz", classes()), "--json")
    packed = archive("packed.npz", classes(), method=zipfile.ZIP_DEFLATED)
    expect(os.path.getsize(packed) < os.path.getsize(path("bad/plain.npz")), "not compressed")
    expect(parsed("data", packed, "--json") == plain, plain)
    with open(packed, "rb") as file:
        whole = file.read()
    for at in range(40, 140, 7):
        broken = bytearray(whole)
        broken[at] ^= 4
        told = takt("data", store("flipped.npz", bytes(broken)))
        expect(told.returncode == 1 and "flipped.npz" in told.stderr, (at, told))
    size = struct.unpack_from("<I", whole, 22)[0]
    end = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"PK\x01\x02"))
    lies = whole[:end + 24] + struct.pack("<I", size + 1) + whole[end + 28:]
    refused(store("lies.npz", lies), "lies.npz", "checksum is wrong")
    lies = whole[:end + 24] + struct.pack("<I", 9) + whole[end + 28:]
    refused(store("less.npz", lies), "less.npz", "holds more than 9 bytes")
    bzip = archive("bzip.npz", classes(), method=zipfile.ZIP_BZIP2)
    refused(bzip, "bzip.npz", "other than by deflate")


def foreign():
    """Endings are believed: what is not in a format is not taken for text."""
    for name, kind in (("a.npy", "a NumPy array"), ("a.npz", "a NumPy archive"),
                       ("a.png", "a PNG picture"), ("a.jpg", "a JPEG picture"),
                       ("a.wav", "a WAV file"), ("train-images-idx3-ubyte", "an IDX file")):
        refused(store(name, b"<html>404: this page was not found</html>" * 9), name,
                f"the contents are not those of {kind}")
    for name in ("e.npy", "e.npz", "e.txt", "e.wav", "e.png", "e.bin"):
        refused(store(name, b""), name, "the file is empty")
    refused(store("model.onnx", b"x" * 100), "model.onnx", "not a data set")
    os.makedirs(path("bad/nothing"), exist_ok=True)
    refused(path("bad/nothing"), "nothing: the folder has no training data")
    fails(1, "data", path("bad/nothing"), "--split", "test", says=["has no test data"])


def cut():
    """Truncated files of every format."""
    image = struct.pack(">4i", 0x803, 4, 2, 2) + bytes(16)
    refused(store("images-idx3-ubyte", image[:-3]), "promises 16 bytes of data, the file has 13")
    packed = gzip.compress(image, mtime=0)
    refused(store("images-idx3-ubyte.gz", packed[:-9]), "images-idx3-ubyte.gz is damaged")
    refused(store("cut.npy", X[:-5]), "cut.npy", "promises 480 bytes of data, the file has 475")
    with open(archive("whole.npz", classes()), "rb") as file:
        refused(store("cut.npz", file.read()[:-30]), "cut.npz")
    sound = io.BytesIO()
    with wave.open(sound, "wb") as to:
        to.setparams((1, 2, 8000, 0, "NONE", ""))
        to.writeframes(bytes(200))
    sound = sound.getvalue()
    refused(store("cut.wav", sound[:-60]), "promises 200 bytes of sound, the file has 140")
    piped = sound[:40] + struct.pack("<I", 0xffffffff) + sound[44:]
    expect(parsed("data", store("piped.wav", piped), "--json")["samples"] == 1, "piped.wav")
    refused(store("short.txt", b"to be"), "5 characters", "--window")
    for rows, says in (("", "the table is empty"), ("1,2,0\n1,2\n", "line 2 has 2 columns"),
                       ("5,2,a,b\n1,2,3,4,5,6,7\n", "line 2 has 7 columns, the first has 4"),
                       ("1,2,0\n1,,1\n", 'line 2, column 2: "" is a missing value'),
                       ("a.pgm 0\n", "names of columns and no rows")):
        refused(store("bad.tsv", rows.encode()), "bad.tsv", says)
    refused(store("none.tsv", b"a.pgm\t\nb.pgm\t1\n"), "line 1 has no label")


def pieces():
    """CIFAR-10's five files: the one with the fault is named, with its own sample."""
    folder = path("bad/cifar")
    shutil.rmtree(folder, ignore_errors=True)
    rows = [bytes([k]) + bytes(3072) for k in range(4)]
    for k in range(1, 6):
        store(f"cifar/data_batch_{k}.bin", b"".join(rows))
    expect(parsed("data", folder, "--json")["samples"] == 20, folder)
    store("cifar/data_batch_2.bin", b"".join(rows) + b"\x63" + bytes(3072))
    refused(folder, "data_batch_2.bin", "sample 4 has the label 99")
    store("cifar/data_batch_2.bin", b"".join(rows)[:-1])
    refused(folder, "data_batch_2.bin", "not whole pictures")
    store("cifar/data_batch_2.bin", b"")
    refused(folder, "data_batch_2.bin", "the file is empty")


def common_forms():
    """Files as others write them: names of arrays, parts in one archive, quotes, one-hot labels."""
    def packed(name, **arrays):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as to:
            for field, array in arrays.items():
                to.writestr(field + ".npy", array)
        return store(name, buffer.getvalue())
    y = npy(classes(), f"({ROWS},)", "<i8")
    few, fewer = npy([0.5] * 5 * WIDTH, f"(5, {WIDTH})"), npy([0, 1, 2, 0, 1], "(5,)", "<i8")
    marks = npy([float(i % 3 == k) for i in range(ROWS) for k in range(3)], f"({ROWS}, 3)")
    run = ["train", NET, "--no-shuffle", "--log", path("forms.jsonl"), "--data"]

    def losses(file, *flags):
        out = succeeds(*run, file, *flags)
        with open(path("forms.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line)["loss"] for line in lines], out
    want = losses(packed("plain_names.npz", x=X, y=y))[0]
    for x_name, y_name in (("X", "y"), ("features", "labels"), ("images", "target")):
        file = packed("names.npz", **{x_name: X, y_name: y})
        expect(losses(file)[0] == want, f"{x_name} and {y_name}")
    fails(2, *run, packed("several.npz", a=X, b=X, y=y), says=["no field for the input x"])
    for names in (("x_train", "y_train", "x_test", "y_test"),
                  ("train_images", "train_labels", "test_images", "test_labels")):
        file = packed("parts.npz", **dict(zip(names, (X, y, few, fewer))),
                      **({"val_images": few, "val_labels": fewer} if "images" in names[0] else {}))
        expect(losses(file)[0] == want, names)
        expect(parsed("data", file, "--split", "test", "--json")["samples"] == 5, names)
        succeeds("eval", NET, "--data", file, "--split", "test")
    fails(1, "data", packed("one.npz", x_train=X, y_train=y), "--split", "test",
          says=["the archive has no test part", "x_train"])
    fails(1, "data", packed("none.npz", x=X, y=y), "--split", "test", says=["has no test part"])
    file = packed("marks.npz", x=X, y=marks)
    for flags in ([], ["--loss", "cross_entropy"]):
        told = losses(file, *flags)
        expect(all(abs(a - b) < 1e-6 for a, b in zip(told[0], want)), told)
        expect("soft=1" in told[1], told)
    rows = [[(i * 7 + k) % 5 / 4 for k in range(WIDTH)] for i in range(ROWS)]
    lines = {"bare": "".join(",".join(map(str, row)) + f",k{i % 3}\n"
                             for i, row in enumerate(rows)),
             "quoted": "".join(
                 ",".join(f'"{v}"' for v in row) + f',"k{i % 3}, or ""so"""\r\n'
                 for i, row in enumerate(rows))}
    lines["named"] = '"a, ""x""",b,"c, d",d,e,f,"class"\n' + lines["quoted"]
    want = losses(store("bare.csv", lines["bare"].encode()))[0]
    for name in ("quoted", "named"):
        expect(losses(store(f"{name}.csv", lines[name].encode()))[0] == want, name)
    succeeds(*run, path("bad/named.csv"), "--label", "class")


def folders():
    """A class without samples would shift the numbers of others; rates are named with files."""
    shutil.rmtree(path("bad/kinds"), ignore_errors=True)
    for k, kind in enumerate(("ape", "cat")):
        store(f"kinds/{kind}/0.pgm", b"P5\n2 1\n255\n" + bytes([k, k]))
    expect(parsed("data", path("bad/kinds"), "--json")["classes"] == 2, "two classes")
    os.makedirs(path("bad/kinds/bee"), exist_ok=True)
    refused(path("bad/kinds"), "kinds/bee is empty")
    os.rmdir(path("bad/kinds/bee"))
    store("kinds/cat/1.pgm", b"P5\n2 1\n255\n" + bytes([0]))
    refused(path("bad/kinds"), "bad: ", "cat/1.pgm", "1 of 3 files are bad")
    shutil.rmtree(path("bad/rates"), ignore_errors=True)
    for k, rate in enumerate((8000, 8000, 16000)):
        sound = io.BytesIO()
        with wave.open(sound, "wb") as to:
            to.setparams((1, 2, rate, 0, "NONE", ""))
            to.writeframes(bytes(20))
        store(f"rates/{'aab'[k]}/{k}.wav", sound.getvalue())
    refused(path("bad/rates"), "b/2.wav has 16000 samples a second", "a/0.wav has 8000",
            "bad: ", "1 of 3 files are bad")


def labels():
    """Labels that the model has no outputs for: sample and file, before the first step."""
    far, negative = classes(), classes()
    far[13], negative[4] = 9, -5
    for verb in ("train", "eval"):
        told = fails(2, verb, NET, "--data", archive("far.npz", far),
                     says=["7005", "far.npz: sample 13 has the label 9", "for 3 classes"])
        expect("peak" not in told, told)
    fails(2, "train", NET, "--data", archive("negative.npz", negative),
          says=["negative.npz: sample 4 has the label -5", "cross_entropy:ignore=-5"])
    succeeds("train", NET, "--data", archive("negative.npz", negative), "--loss",
             "cross_entropy:ignore=-5", "-q")
    out = succeeds("eval", NET, "--data", archive("negative.npz", negative))
    expect("top1" in out, out)
    fails(2, "train", NET, "--data", archive("far.npz", far), "--loss", "focal",
          says=["sample 13 has the label 9"])
    for loss in ("bce_logits", "cosine", "kl_div", "cross_entropy:soft=1"):
        fails(2, "train", NET, "--data", archive("one.npz", classes()), "--loss", loss, says=[
            "one.npz: a sample has 1 label, " + loss + " compares 3 numbers", "cross_entropy"])
    succeeds("train", NET, "--data", archive("floats.npz", classes(), "<f8"), "-q")
    halves = archive("halves.npz", [i + 0.5 for i in range(ROWS)], "<f8")
    fails(2, "train", NET, "--data", halves, says=["halves.npz", "not whole numbers", "returns 3"])
    out = succeeds("train", ONE, "--data", halves)
    expect("labels are not whole numbers: the loss is mse" in out, out)
    expect("mse" in succeeds("eval", ONE, "--data", halves), "the metric of such labels")
    succeeds("eval", ONE, "--data", archive("two.npz", [i % 2 for i in range(ROWS)]))
    shutil.rmtree(path("bad/mnist"), ignore_errors=True)
    image = struct.pack(">4i", 0x803, 4, 1, 6) + bytes(24)
    store("mnist/train-images-idx3-ubyte", image)
    model = write("bad_idx.takt", "model idx(x: f32[batch, 1, 6]) seed=1 "
                  "{ return dense(flatten(x), 3) }\n")
    fails(2, "train", model, "--data", path("bad/mnist"), says=["has no labels", "hint: IDX"])
    label = gzip.compress(struct.pack(">2i", 0x801, 4) + bytes([0, 1, 3, 2]), mtime=0)
    store("mnist/train-labels-idx1-ubyte.gz", label)
    fails(2, "train", model, "--data", path("bad/mnist"),
          says=["train-labels-idx1-ubyte.gz: sample 2 has the label 3"])
    store("list/0.pgm", b"P5\n6 1\n255\n" + bytes(6))
    store("list/1.pgm", b"P5\n6 1\n255\n" + bytes(6))
    store("list/all.tsv", b"0.pgm\t0\n1.pgm\t7\n")
    picture = write("bad_pgm.takt", "model pgm(x: f32[batch, 1, 1, 6]) seed=1 "
                    "{ return dense(flatten(x), 3) }\n")
    fails(2, "train", picture, "--data", path("bad/list/all.tsv"),
          says=["1.pgm: sample 1 has the label 7"])


def not_finite():
    """The sample that a NaN comes from is named by its number in the data, not in the batch."""
    values = [float("nan") if i == 17 * WIDTH + 2 else i % 7 / 7 for i in range(ROWS * WIDTH)]
    bad = archive("nan.npz", classes(), x=npy(values, f"({ROWS}, {WIDTH})"))
    for flags in (["--no-shuffle", "--batch-size", "4"], ["--batch-size", "7", "--workers", "0"]):
        fails(1, "train", NET, "--data", bad, *flags,
              says=["7003", "of the batch is not finite", "sample 17 of ", "nan.npz",
                    "--on-nan skip"])
    log = path("bad_check.jsonl")
    run = takt("train", NET, "--data", bad, "--val-split", "0.2", "--epochs", "2", "--log", log,
               "--no-shuffle")
    expect(run.returncode == 0 and run.stderr.count("x of sample 17 of ") == 1
           and run.stdout.count("validation loss not finite, accuracy") == 2, run)
    with open(log, encoding="utf-8") as lines:
        checks = [json.loads(line) for line in lines if "validation" in line]
    expect([row["validation_loss"] for row in checks] == [None, None], checks)
    run = takt("eval", NET, "--data", bad)
    expect(run.returncode == 0 and "outputs of 1 of 20 samples are not finite" in run.stderr
           and "sample 17 of " in run.stderr, run)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def checkpoints():
    """Which checkpoint is bad and why, which one is used, and what to do if there is none."""
    data, kept, folder = archive("ok.npz", classes()), path("kept_ck"), path("ck")
    base = ["train", NET, "--data", data, "--batch-size", "4", "--epochs"]
    shutil.rmtree(kept, ignore_errors=True)
    succeeds(*base, "3", "--checkpoint", kept)
    whole = {}
    for k in (0, 1):
        with open(os.path.join(kept, f"checkpoint.{k}"), "rb") as file:
            whole[k] = file.read()
    more = [*base, "4", "--checkpoint", folder, "--resume"]

    def fresh(both=None):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept, folder)
        for k in (0, 1) if both is not None else ():
            store(os.path.join(folder, f"checkpoint.{k}"), both(whole[k]))

    for change_one, why in ((lambda b: b[:900] + bytes([b[900] ^ 4]) + b[901:], "checksum"),
                            (lambda b: b[:500], "checkpoint.0: "), (lambda b: b"", "not a checkpo"),
                            (lambda b: b"hello" * 9, "not a checkpoint")):
        fresh()
        store(os.path.join(folder, "checkpoint.0"), change_one(whole[0]))
        run = takt(*more)
        expect(run.returncode == 0 and "checkpoint.0" in run.stderr and why in run.stderr
               and "checkpoint.1 is used, of step 10" in run.stderr, (why, run.stderr))
        fresh(change_one)
        told = fails(1, *more, says=["error[TAKT7004]", "checkpoint.0", why, "earlier.1"])
        expect("expected 'model'" not in told, told)
    fresh(lambda b: b[:8] + b"\2" + b[9:60]
          + struct.pack("<I", crc32c(b[:8] + b"\2" + b[9:60])) + b[64:])
    fails(1, *more, says=["7004", "version 2", "the version of Takt that wrote it"])
    fresh()
    fails(2, *more, "--optimizer", "sgd", says=["7004", "optimizer, adamw, not sgd", "hint: "])
    with open(NET, encoding="utf-8") as text:
        wide = write("bad_wide.takt", text.read().replace("8, act", "9, act"))
    fails(2, "train", wide, *more[2:], says=["7004", "of another model", "f32[6, 8]", "hint: "])
    succeeds("compile", NET, "-o", path("plain.taktp"))
    with open(path("plain.taktp"), "rb") as file:
        plain = file.read()
    fresh(lambda b: plain)
    fails(2, *more, says=["7004", "is not a checkpoint", "hint: "])
    fresh()
    succeeds(*more)


def full():
    """A full disk: the message says where, and nothing that was there is lost."""
    if not os.path.exists("/dev/full"):
        return
    data = archive("ok.npz", classes())
    fails(1, "train", NET, "--data", data, "--log", "/dev/full",
          says=["3003", "/dev/full cannot be written", "space", "hint: "])


def flags():
    """Flags that would do nothing are refused."""
    data = ["--data", archive("ok.npz", classes())]
    for given, says in ((["--lr", "0"], "nothing is learned"),
                        (["--patience", "3"], "--val-split"),
                        (["--val-split", "0.01"], "of 20 samples leaves none"),
                        (["--checkpoint-every", "5"], "--checkpoint DIR"),
                        (["--ema", "0"], "averages nothing"), (["--ema", "1"], "begins with"),
                        (["--clip", "0"], "clips nothing"), (["--clip-value", "0.0"], "clips"),
                        (["--schedule", "one_cycle", "--warmup", "3"], "one_cycle:rise="),
                        (["--warmup", "50"], "the training has 1 step"),
                        (["--patience", "2", "--val-split", "0.2"], "--epochs 4 or more"),
                        (["--schedule", "plateau"], "--val-split 0.1"),
                        (["--schedule", "plateau:factor=0.5,patience=3", "--val-split", "0.2",
                          "--epochs", "3"], "--epochs 5 or more"),
                        (["--shards", "21"], "--shards 20 or fewer"),
                        (["--workers", "17"], "0 to 16"),
                        (["--optimizer", "sgd:nesterov=1"], "momentum="),
                        (["--group", "bias:"], "weight_decay=0"),
                        (["--label", "kind"], "--label has no column"),
                        (["--freeze", "dense_9"], "--freeze dense_9: no parameter"),
                        (["--group", "bias:lr=1e-3", "--group", "dense_9:lr=1"],
                         "--group dense_9:lr=1: no parameter")):
        fails(2, "train", NET, *data, *given, says=["1003", says, "hint: "])
    whole = write("bad_whole.takt", "model net(x: f32[8, 6]) seed=2 { return dense(x, 3) }\n")
    fails(2, "train", whole, *data, "--batch-size", "12", says=["--batch-size 16"])
    fails(2, "train", whole, *data, "--batch-size", "16", "--shards", "4",
          says=["has 2 shards, not 4", "leave --shards out"])
    succeeds("train", whole, *data, "-q", "--batch-size", "16", "--shards", "2")
    for verb in ("train", "eval"):
        told = takt(verb, NET, *data, "--limit", "21")
        expect(told.returncode == 0 and "--limit 21" in told.stderr and
               "has 20 samples, which are all taken" in told.stderr, told.stderr)
        told = takt(verb, NET, *data, "--limit", "20")
        expect(told.returncode == 0 and "--limit" not in told.stderr, told.stderr)
    table = store("flags.csv", b"1,2,3,4,5,6,0\n" * 9)
    fails(2, "eval", NET, "--data", table, "--split", "test", says=["would take all of it"])
    succeeds("train", NET, *data, "-q", "--warmup", "1", "--patience", "1", "--val-split", "0.2",
             "--epochs", "2", "--shards", "16", "--workers", "16")
    succeeds("train", NET, *data, "-q", "--freeze", "dense_0", "--group", "dense_1:lr=1e-3")
    told = fails(2, "train", NET, *data, "--lr", "abc", says=["--lr is a number"])
    expect(told.count("--lr") == 1, f"a mistake is told once: {told}")
    for verb in ("plan", "profile"):
        fails(2, verb, NET, "--optimizer", "adam", says=["--optimizer is for training", "--train"])
    fails(2, "eval", NET, *data, "--metric", "mse", says=["top1, f1, auc and ppl"])
    for more, is_lost in (([], True), (["-o", path("kept.taktp")], False)):
        run = takt("train", NET, *data, *more)
        expect(("no weights are kept: -o" in run.stderr) == is_lost, run.stderr)


compressed()
foreign()
cut()
pieces()
folders()
labels()
common_forms()
not_finite()
checkpoints()
full()
flags()
finish()
