"""train_files.py - data sets of one file a sample: folders of pictures, lists, sounds."""
import base64
import os
import random
import shutil
import struct
import zipfile
import zlib

from _cli import TMP, expect, fails, finish, parsed, path, succeeds, takt, write

SOURCE = random.Random(1)


def store(name, data):
    file = path(name)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "wb") as out:
        out.write(data)
    return file


def png(width, height, channels, pixels):
    rows = b"".join(b"\0" + bytes(pixels[y * width * channels:(y + 1) * width * channels])
                    for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I",
                                                                       zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def ppm(width, height, channels, pixels):
    kind = b"P6" if channels == 3 else b"P5"
    return kind + f"\n# a comment\n{width} {height}\n255\n".encode() + bytes(pixels)


def wav(values, bits=16, channels=1, kind=1):
    sizes = {8: "B", 16: "h", 32: "i" if kind == 1 else "f"}
    data = b"".join(struct.pack("<i", v)[:3] if bits == 24 else struct.pack("<" + sizes[bits], v)
                    for v in values)
    head = struct.pack("<HHIIHH", kind, channels, 8000, 8000 * bits // 8, bits // 8, bits)
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + head
            + b"data" + struct.pack("<I", len(data)) + data)


def has_png():
    """Whether this machine has libpng."""
    return "libpng16 is not installed" not in takt("data", store("one.png", png(
        1, 1, 1, [7]))).stderr


def pictures():
    """Folders of classes; the class is how bright it is. PNG and PPM are the same pictures."""
    kinds = [("ppm", ppm)] + ([("png", png)] if has_png() else [])
    drawn = [(part, name, i, [base + SOURCE.randrange(-20, 20) for _ in range(60)])
             for part, count in (("train", 20), ("test", 6)) for name, base in
             (("cat", 60), ("dog", 190)) for i in range(count)]
    seen = []
    for ending, encode in kinds:
        for part, name, i, pixels in drawn:
            store(f"{ending}s/{part}/{name}/{i:02}.{ending}", encode(4, 5, 3, pixels))
        facts = parsed("data", path(ending + "s"), "--json")
        expect(facts["samples"] == 40 and facts["classes"] == 2, facts)
        expect(facts["fields"][0]["shape"] == [3, 5, 4], facts)
        means = [value for part, _, _, pixels in drawn if part == "train" for value in pixels]
        expect(abs(facts["fields"][0]["mean"] - sum(means) / len(means)) < 1e-3, facts)
        seen.append(facts["fields"])
        expect(parsed("data", path(ending + "s"), "--split", "test", "--json")["samples"] == 12, "")
    expect(all(fields == seen[0] for fields in seen), "PNG and PPM differ")
    net = write("bright.takt", "model bright(x: f32[batch, 3, 5, 4]) seed=1 {\n"
                "  return dense(flatten(x), 2)\n}\n")
    folder = path(kinds[-1][0] + "s")
    succeeds("train", net, "--data", folder, "--epochs", "40", "--lr", "0.1", "-q", "-o",
             path("bright.taktp"))
    score = parsed("eval", path("bright.taktp"), "--data", folder, "--split", "test", "--json")
    expect(score["metrics"][0]["value"] == 1, score)
    store("ppms/train/cat/99.ppm", ppm(5, 4, 3, [1] * 60))
    fails(1, "data", path("ppms"), says=["99.ppm", "another size"])
    os.remove(path("ppms/train/cat/99.ppm"))
    store("ppms/train/cat/99.ppm", b"P6\n4 5\n255\n123")
    fails(1, "data", path("ppms"), says=["99.ppm"])
    store("ppms/train/cat/00.ppm", b"P6\n4 5\n255\n1")
    store("ppms/train/dog/98.ppm", ppm(5, 4, 3, [1] * 60))
    lines = fails(1, "data", path("ppms"), says=["3 of 54 files are bad"]).splitlines()
    told = [line for line in lines if line.startswith("bad: ")]
    expect(len(told) == 3 and all(name in line for name, line in zip(
        ("cat/00.ppm", "cat/99.ppm", "dog/98.ppm"), told)), lines)
    fails(1, "train", net, "--data", path("ppms"), "-o", path("bright.taktp"), says=["00.ppm"])
    os.remove(path("ppms/train/cat/99.ppm"))
    os.remove(path("ppms/train/dog/98.ppm"))
    if has_png():
        store("broken.png", png(4, 5, 3, [9] * 60)[:40])
        fails(1, "data", path("broken.png"), says=["broken.png", "libpng"])


# 8 by 8 pixels: RGB (200, 100, 40), grey 90, and CMYK.
RGB = ("/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNy"
       "wtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09P"
       "T09PT09PT09PT09PT09PT09PT09PT0//wAARCAAIAAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/xA"
       "AUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAABf/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAM"
       "AwEAAhEDEQA/AIACH3//2Q==")
GREY = ("/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGN"
        "ywtQFdBRkxOUlNSMj5aYVpQYEpRUk//wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAABf/EABQQAQAAAA"
        "AAAAAAAAAAAAAAAAD/2gAIAQEAAD8AIf/Z")
CMYK = ("/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsL"
        "UBXQUZMTlJTUjI+WmFaUGBKUVJP/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAcFBv"
        "/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAOBEMATQBZAEsAAD8ASGpVyE//2Q==")


def jpegs():
    """Endings count in any case, as ImageNet has them; CMYK is refused by that name."""
    store("photos/a/0.JPEG", base64.b64decode(RGB))
    store("photos/b/1.Jpg", base64.b64decode(RGB))
    told = takt("data", path("photos"), "--json")
    if "libturbojpeg" in told.stderr:
        expect(told.returncode == 1 and "libturbojpeg0" in told.stderr, told)
        print("skipped: libturbojpeg is not installed")
        return
    facts = parsed("data", path("photos"), "--json")
    expect(facts["samples"] == 2 and facts["fields"][0]["shape"] == [3, 8, 8]
           and abs(facts["fields"][0]["mean"] - 340 / 3) < 3, facts)
    store("greys/a/0.jpg", base64.b64decode(GREY))
    field = parsed("data", path("greys"), "--json")["fields"][0]
    expect(field["shape"] == [1, 8, 8] and abs(field["mean"] - 90) < 3, field)
    store("photos/b/2.jpg", base64.b64decode(CMYK))
    fails(1, "data", path("photos"), says=["b/2.jpg", "CMYK", "1 of 3 files are bad"])
    os.remove(path("photos/b/2.jpg"))


def others():
    """Files in the folders of classes that are not samples are told, but for those of systems."""
    shutil.rmtree(path("mixture"), ignore_errors=True)
    for name in ("a/0", "a/1", "b/0"):
        store(f"mixture/{name}.ppm", ppm(2, 1, 1, [7, 9]))
    for name in ("a/.DS_Store", "b/Thumbs.db", "b/desktop.ini"):
        store("mixture/" + name, b"x")
    store("mixture/papers/plan.txt", b"x")
    expect("left out" not in succeeds("data", path("mixture")), "")
    store("mixture/b/more/1.ppm", ppm(2, 1, 1, [7, 9]))
    told = succeeds("data", path("mixture"))
    expect("b/more/  left out: a folder in that of a class\n" in told, told)
    store("mixture/a/2.webp", b"RIFF")
    told = succeeds("data", path("mixture"))
    expect("a/2.webp left out: not a PNG, JPEG, PGM, PPM or WAV file\n  1 more left out\n" in told,
           told)
    facts = parsed("data", path("mixture"), "--json")
    expect(facts["left_out"] == ["a/2.webp"] and facts["left_out_count"] == 2, facts)


def of_all_sizes():
    """Pictures of other sizes and colours than the model takes are resized, as `takt run` does."""
    for i in range(24):
        width, height, channels = 5 + i % 4 * 9, 7 + i % 5 * 4, 1 + i % 2 * 2
        for name, level in (("dark", 50), ("light", 200)):
            store(f"sizes/{name}/{i}.ppm",
                  ppm(width, height, channels, [level] * (width * height * channels)))
    fails(1, "data", path("sizes"), says=["another size or kind"])
    net = write("sizes.takt", "model sizes(x: f32[batch, 3, 8, 12]) seed=1 {\n"
                "  return dense(flatten(x), 2)\n}\n")
    run = takt("train", net, "--data", path("sizes"), "--epochs", "30", "--lr", "0.1", "--augment",
               "flip=0.5", "-o", path("sizes.taktp"))
    expect(run.returncode == 0
           and "48 pictures were resized to [3, 8, 12], which the model takes" in run.stderr, run)
    score = parsed("eval", path("sizes.taktp"), "--data", path("sizes"), "--json")
    expect(score["metrics"][0]["value"] == 1, score)
    pixels = [SOURCE.randrange(256) for _ in range(30 * 20 * 3)]
    store("shrunk/a/0.ppm", ppm(30, 20, 3, pixels))
    store("shrunk/b/0.ppm", ppm(30, 20, 1, pixels[:600]))
    # --image: the numbers that `takt run` makes of the file, but for their rounding to bytes.
    for how in ("imagenet", "tf", "mean=0.2:0.4:0.6,std=2,fit=crop", "fit=crop"):
        same = write("same.takt", "model same(x: f32[batch, 3, 8, 12]) {\n"
                     "  return reshape(x, [batch, 288])\n}\n")
        succeeds("run", same, "-i", "x=" + path("shrunk/a/0.ppm"), "--image", how, "-o",
                 path("same.npy"))
        with open(path("same.npy"), "rb") as file:
            want = struct.unpack("<288f", file.read()[-1152:])
        one = write("one.takt", "model one(x: f32[batch, 3, 8, 12]) seed=1 {\n"
                    "  param w: f32[288, 1] = constant(0)\n"
                    "  return reshape(x, [batch, 288]) @ w\n}\n")
        store("only/a/0.ppm", ppm(12, 8, 3, [0] * 288))
        store("only/b/0.ppm", ppm(30, 20, 3, pixels))
        succeeds("train", one, "--data", path("only"), "--image", how, "--loss", "mae", "-q",
                 "--optimizer", "sgd", "--lr", "2", "-o", path("one.taktp"))
        succeeds("convert", path("one.taktp"), "-o", path("one.safetensors"))
        with open(path("one.safetensors"), "rb") as file:  # of label 1: its gradient is -x / 2
            got = struct.unpack("<288f", file.read()[-1152:])
        expect(all(abs(a - b) < 0.02 for a, b in zip(got, want)),
               f"{how}: {got[:4]}, not {want[:4]}")
    fails(2, "train", net, "--data", path("shrunk"), "--image", "fit=pad", says=["fit=crop"])
    free = write("free.takt", "model free(x: f32[batch, 3, h, w]) seed=1 {\n"
                 "  return dense(reduce_mean(x, axes=[2, 3]), 2)\n}\n")
    run = takt("train", free, "--data", path("sizes"), "--image", "imagenet,size=12x8")
    expect(run.returncode == 0 and "48 pictures were resized to [3, 8, 12]" in run.stderr, run)
    succeeds("train", net, "--data", path("shrunk"), "--image", "size=12x8", "-q")
    fails(2, "train", net, "--data", path("shrunk"), "--image", "size=9", says=["model's input"])
    six = write("six.takt", "model six(x: f32[batch, 6]) seed=1 { return dense(x, 2) }\n")
    fails(2, "train", six, "--data", write("six.csv", "1,2,3,4,5,6,0\n" * 4), "--image", "imagenet",
          says=["--image is for pictures"])
    gray = write("grey_sizes.takt", "model grey(x: f32[batch, 1, 4, 4]) seed=1 {\n"
                 "  return dense(flatten(x), 2)\n}\n")
    succeeds("train", gray, "--data", path("shrunk"), "-q")
    last = write("last.takt", "model last(x: f32[batch, 8, 12, 3]) seed=1 {\n"
                 "  return dense(flatten(x), 2)\n}\n")
    store("exact/a/0.ppm", ppm(12, 8, 3, pixels[:288]))
    store("exact/b/0.ppm", ppm(12, 8, 3, pixels[288:576]))
    fails(2, "train", last, "--data", path("exact"), says=["[3, 8, 12]", "[8, 12, 3]", "channels"])


def in_arrays():
    """--image of arrays of bytes: in any order, with and without an axis of channels."""
    values = [0, 51, 102, 255]

    def array(kind, shape, data):
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117)
        return b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + head.encode() + b"\n" + data

    for shape, means in (((4, 2, 3), [0.5]), ((4, 1, 2, 3), [0.5]), ((4, 3, 2, 1), [0.5, 0, 1])):
        # The sum of a sample, whose channels have each the value v / 255 less their mean.
        sums = [6 * (v / 255 - sum(means) / len(means)) / 0.25 for v in values]
        pixels = bytes(v for v in values for _ in range(6))
        with zipfile.ZipFile(path("arrays.npz"), "w") as to:
            to.writestr("y.npy", array("<f4", (4, 1), struct.pack("<4f", *sums)))
            to.writestr("x.npy", array("|u1", shape, pixels))
        net = write("arrays.takt", f"model a(x: f32[batch, {', '.join(map(str, shape[1:]))}]) {{\n"
                    "  return reshape(reduce_sum(reshape(x, [batch, 6]), axes=[1]), [batch, 1])"
                    "\n}\n")
        how = "std=0.25,mean=" + ":".join(map(str, means))
        told = parsed("eval", net, "--data", path("arrays.npz"), "--image", how, "--metric", "mae",
                      "--json")
        expect(told["metrics"][0]["value"] < 1e-5, (shape, told))
    free = write("free.takt", "model free(x: f32[batch, 3, h, w]) seed=1 {\n"
                 "  return dense(reduce_mean(x, axes=[2, 3]), 1)\n}\n")
    run = ["eval", free, "--data", path("arrays.npz"), "--image"]  # [3, 2, 1]
    succeeds(*run, "size=1x2", "--metric", "mae")
    fails(2, *run, "size=8", says=["arrays.npz has arrays of 1 x 2", "become 8 x 8"])
    flat = path("flat.npz")
    with zipfile.ZipFile(flat, "w") as to:
        to.writestr("x.npy", array("|u1", (4, 6), bytes(24)))
        to.writestr("y.npy", array("|u1", (4, 2, 1), bytes(8)))
    six = write("flat.takt", "model flat(x: f32[batch, 6]) seed=1 { return dense(x, 2) }\n")
    fails(2, "eval", six, "--data", flat, "--image", "imagenet", says=["flat.npz has none"])


def grey():
    """Channels are stored one after another, and a list may have numbers or words as labels."""
    store("list/a.pgm", ppm(2, 1, 1, [10, 20]))
    store("list/deep/b.pgm", ppm(2, 1, 1, [30, 40]))
    with open(path("list/all.tsv"), "w") as out:
        out.write("a.pgm\t3\r\n\ndeep/b.pgm\t0\n")
    facts = parsed("data", path("list/all.tsv"), "--json")
    expect(facts["samples"] == 2 and facts["classes"] == 4, facts)
    shutil.copy(path("list/all.tsv"), path("list/L.TSV"))
    expect(parsed("data", path("list/L.TSV"), "--json") == facts, "L.TSV is not read as a list")
    expect(facts["fields"][0]["mean"] == 25 and facts["fields"][0]["shape"] == [1, 1, 2], facts)
    with open(path("list/words.tsv"), "w") as out:
        out.write("a.pgm\tzebra\ndeep/b.pgm\tape\na.pgm\tape\n")
    facts = parsed("data", path("list/words.tsv"), "--json")
    expect(facts["classes"] == 2 and abs(facts["fields"][1]["mean"] - 1 / 3) < 1e-6, facts)
    for line, says in (("a.pgm\t1\n../x.pgm\t2\n", "beneath"), ("a.pgm\t1\nb.pgm\n", "line 2"),
                       ("a.pgm\t1\nnone.pgm\t1\n", "none.pgm"), ("a.pgm\t0\nall.tsv\t1\n", "WAV")):
        with open(path("list/bad.tsv"), "w") as out:
            out.write(line)
        fails(1, "data", path("list/bad.tsv"), says=[says])
    with open(path("list/bad.tsv"), "w") as out:
        out.write("gone.pgm\t1\na.pgm\t0\nlost.pgm\t1\n")
    shutil.copy(path("list/bad.tsv"), path("list/BAD.TSV"))
    for name in ("bad.tsv", "BAD.TSV"):
        fails(1, "data", path("list/" + name),
              says=["bad: ", "gone.pgm", "lost.pgm", "2 of 3 files"])


def sounds():
    """All widths of numbers, several channels, and lengths that differ."""
    for name, data in (("8", wav([128, 192, 64], 8)), ("16", wav([0, 16384, -16384])),
                       ("24", wav([0, 1 << 22, -(1 << 22)], 24)),
                       ("32", wav([0, 1 << 30, -(1 << 30)], 32)),
                       ("float", wav([0.0, 0.5, -0.5], 32, 1, 3)),
                       ("two", wav([0, 0, 16384, 16384, -32768, 0], 16, 2))):
        facts = parsed("data", store(f"sounds/{name}.wav", data), "--json")
        field = facts["fields"][0]
        expect(field["shape"] == [3] and abs(field["mean"]) < 1e-6, (name, field))
        expect(abs(field["deviation"] - (1 / 6) ** 0.5) < 1e-6, (name, field))
    store("words/no/1.wav", wav([8192] * 10))
    store("words/yes/1.wav", wav([-8192] * 20))
    facts = parsed("data", path("words"), "--json")
    fields = {field["name"]: field for field in facts["fields"]}
    expect(fields["x"]["shape"] == [20] and fields["length"]["mean"] == 15, facts)
    expect(abs(fields["x"]["mean"] - (-0.25 * 10 / 40)) < 1e-6, facts)
    fails(1, "data", store("bad.wav", wav([1, 2], 16, 1, 7)), says=["format 7"])
    fails(1, "data", store("cut.wav", wav([1, 2])[:30]), says=["no format"])
    os.makedirs(os.path.join(TMP, "empty"), exist_ok=True)
    fails(1, "data", os.path.join(TMP, "empty"), says=["empty"])


def cached():
    """Decoded data is kept in a file, and decoded again when a picture has changed."""
    for i, level in enumerate((10, 30)):
        store(f"kept/{'ab'[i]}/0.pgm", ppm(2, 1, 1, [level, level]))
    plain = parsed("data", path("kept"), "--json")
    for _ in range(2):
        expect(parsed("data", path("kept"), "--cache", "disk", "--json") == plain, plain)
    expect(parsed("data", path("kept"), "--cache", "ram", "--json") == plain, plain)
    store("kept/a/1.pgm", ppm(2, 1, 1, [110, 110]))
    for _ in range(2):
        facts = parsed("data", path("kept"), "--cache", "disk", "--json")
        expect(facts["samples"] == 3 and facts["fields"][0]["mean"] == 50, facts)
    net = write("kept.takt", "model kept(x: f32[batch, 1, 1, 2]) seed=1 {\n"
                "  return dense(flatten(x), 2)\n}\n")
    succeeds("train", net, "--data", path("kept"), "--cache", "disk", "-q", "-o",
             path("kept.taktp"))
    succeeds("eval", path("kept.taktp"), "--data", path("kept"), "--cache", "disk")
    fails(2, "data", path("kept"), "--cache", "tape", says=["ram or disk"])
    fails(2, "data", path("kept"), "--cache", "disk",
          env={**os.environ, "XDG_CACHE_HOME": store("no_folder", b"")},
          says=["cannot write to", "XDG_CACHE_HOME names another", "--cache ram"])


def samples(mean, *data):
    """The result of --cache disk, decoded or cached."""
    for _ in range(2):
        facts = parsed("data", *data, "--cache", "disk", "--json")
        expect(facts["fields"][0]["mean"] == mean, f"{data}: {facts}, not {mean}")


def swap_unseen(file, data):
    """Changed contents that size, time and inode of the file do not show."""
    facts = os.stat(file)
    with open(file, "r+b") as out:
        out.write(data)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def kept_or_not():
    """Folders are read from the cache; the targets of links and lists are checked."""
    one = store("hold/a/0.pgm", ppm(2, 1, 1, [10, 10]))
    store("hold/b/0.pgm", ppm(2, 1, 1, [30, 30]))
    samples(20, path("hold"))
    swap_unseen(one, ppm(2, 1, 1, [50, 50]))
    samples(20, path("hold"))
    store("hold/a/0.pgm", ppm(2, 1, 1, [70, 70]))
    samples(50, path("hold"))
    os.makedirs(path("linked/a"), exist_ok=True)
    for name, target in (("linked/a/0.pgm", "hold/a/0.pgm"), ("linked/b", "hold/b"),
                         ("linked/loop", "linked")):
        if not os.path.lexists(path(name)):
            os.symlink(path(target), path(name))
    samples(50, path("linked"))
    store("hold/a/0.pgm", ppm(2, 1, 1, [90, 90]))
    samples(60, path("linked"))
    store("hold/b/0.pgm", ppm(2, 1, 1, [110, 110]))
    samples(100, path("linked"))
    for name in ("hold/ALL.TSV", "hold/all.tsv"):
        with open(path(name), "w") as out:
            out.write("a/0.pgm\t0\r\nb/0.pgm\t1\n")
        samples(100, path(name))
    store("hold/b/0.pgm", ppm(2, 1, 1, [10, 10]))
    samples(50, path("hold/ALL.TSV"))
    samples(50, path("hold/all.tsv"))
    swap_unseen(path("hold/b/0.pgm"), ppm(2, 1, 1, [30, 30]))
    samples(50, path("hold/all.tsv"))


pictures()
jpegs()
others()
of_all_sizes()
in_arrays()
grey()
sounds()
cached()
kept_or_not()
finish()
