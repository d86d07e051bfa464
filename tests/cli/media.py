"""media.py - images and recordings as inputs: decoded, resized, laid out, normalised, and named."""
import os
import struct
import zlib

from _cli import expect, fails, finish, parsed, path, succeeds, takt, write

PIXELS = {1: [[10, 20, 30, 40], [50, 60, 70, 80]],
          3: [[[r, r + 50, r + 100] for r in row]
              for row in ([0, 20, 40, 60], [80, 100, 120, 140])]}


def pnm(name, rows):
    is_colour = isinstance(rows[0][0], list)
    flat = [v for row in rows for pixel in row for v in (pixel if is_colour else [pixel])]
    kind = b"P6" if is_colour else b"P5"
    return write(name, kind + b" %d %d 255\n" % (len(rows[0]), len(rows)) + bytes(flat))


def png(name, rows):
    def chunk(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return write(name, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) +
                 chunk(b"IEND", b""))


def wav(name, samples, rate=8000):
    body = b"".join(struct.pack("<h", s) for s in samples)
    return write(name, b"RIFF" + struct.pack("<I", 36 + len(body)) + b"WAVEfmt " + struct.pack(
        "<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16) + b"data" + struct.pack("<I", len(body)) +
                 body)


def model(shape, kind="f32"):
    return write("m.takt", f"model m(x: {kind}[{shape}]) {{ return y = max(x, x) }}")


def values(shape, file, *flags, kind="f32"):
    y = parsed("run", "--json", model(shape, kind), "-i", f"x={file}", *flags)["outputs"]["y"]
    return y["shape"], y["values"]


def near(got, want):
    return len(got) == len(want) and all(abs(a - b) < 1e-5 for a, b in zip(got, want))


GREY, COLOUR = pnm("g.pgm", PIXELS[1]), pnm("c.ppm", PIXELS[3])
flat = [v for row in PIXELS[1] for v in row]

# Layouts: channels first, last, none, a row of pixels; sizes that are open are the image's.
expect(values("1, 1, 2, 4", GREY) == ([1, 1, 2, 4], values("1, 2, 4, 1", GREY)[1]), "grey layouts")
expect(near(values("n, 1, h, w", GREY)[1], [v / 255 for v in flat]), "open sizes")
expect(values("2, 4", GREY, kind="u8") == ([2, 4], flat), "bytes stay bytes")
planes = [pixel[c] / 255 for c in range(3) for row in PIXELS[3] for pixel in row]
expect(near(values("1, 3, 2, 4", COLOUR)[1], planes), "channels first")
last = [v / 255 for row in PIXELS[3] for p in row for v in p]
expect(near(values("1, 2, 4, 3", COLOUR)[1], last), "channels last")
turned = planes[16:] + planes[8:16] + planes[:8]
expect(near(values("3, 2, 4", COLOUR, "--image", "bgr")[1], turned), "bgr")
grey = [(0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]) / 255 for row in PIXELS[3] for p in row]
expect(near(values("1, 1, 2, 4", COLOUR)[1], grey), "colours as grey")
expect(near(values("1, 3, 2, 4", GREY)[1], [v / 255 for v in flat] * 3), "grey as colours")
square = pnm("s.pgm", [row[:2] for row in PIXELS[1]])
expect(near(values("n, 4", square)[1], [10 / 255, 20 / 255, 50 / 255, 60 / 255]), "a row of pixels")

# Sizes: a triangle as wide as the step. 4 to 2 has weights 3, 3, 1 over 7 at the edge.
left, right = [(3 * a + 3 * b + c) / 7 for a, b, c in ((10, 20, 30), (40, 30, 20))]
small = values("1, 1, 2, 2", GREY, "--image", "scale=1")[1]
expect(near(small, [left, right, left + 40, right + 40]), small)
wide = values("1, 1, 2, 8", GREY, "--image", "scale=1")[1][:8]
expect(near(wide, [10, 12.5, 17.5, 22.5, 27.5, 32.5, 37.5, 40]), wide)
expect(near(values("1, 1, 2, 2", GREY, "--image", "fit=crop,scale=1")[1], [20, 30, 60, 70]), "crop")
padded = values("1, 1, 4, 4", GREY, "--image", "fit=pad,scale=1")[1]
expect(near(padded, [0] * 4 + flat + [0] * 4), padded)
expect(values("n, 1, h, w", GREY, "--image", "size=3x5")[0] == [1, 1, 5, 3], "size=WxH")

# Numbers.
said = values("1, 1, 2, 4", GREY, "--image", "mean=0.5,std=0.25,invert")[1]
expect(near(said, [((255 - v) / 255 - 0.5) / 0.25 for v in flat]), "mean, std, invert")
torch = values("1, 3, 2, 4", COLOUR, "--image", "imagenet")[1]
expect(near(torch[:8], [(v - 0.485) / 0.229 for v in planes[:8]]), "imagenet")
expect(near(values("1, 3, 2, 4", COLOUR, "--image", "mean=0:0:0.5,std=1:1:2")[1][16:],
            [(v - 0.5) / 2 for v in planes[16:]]), "per channel")
expect("x: 4 x 2 grey, stretched to 2 x 2, levels over 255" in
       succeeds("run", model("1, 1, 2, 2"), "-i", GREY), "what was done is said")

# Recordings: f32 from -1 to 1; cut or filled up where the input has a length.
sound = wav("a.wav", [0, 16384, -32768])
expect(values("1, n", sound) == ([1, 3], [0, 0.5, -1]), "a recording")
expect(values("5", sound) == ([5], [0, 0.5, -1, 0, 0]), "zeros behind")
expect(values("1, 1, 2", sound) == ([1, 1, 2], [0, 0.5]), "cut")

# A recording chunk by chunk: state carries over, results are stacked, the tail is zeros.
SUMS = write("sums.takt", """model m(x: f32[1, n]) -> (y: f32[1, n], total: f32[1]) {
  state sum: f32[1] = 0
  t = sum + reduce_sum(x, axes=[1])
  next sum = t
  return y = x * 2.0, total = t
}""")
eleven = wav("eleven.wav", [2048 * (i - 5) for i in range(11)])
heard = [(i - 5) / 16 for i in range(11)]
told = parsed("run", "--json", SUMS, "--stream", eleven, "-D", "n=4")
expect(told["stream"] == {"samples": 11, "chunk": 4, "chunks": 3} and told["runs"] == 3, told)
expect(told["outputs"]["y"]["shape"] == [3, 1, 4], told)
expect(told["outputs"]["y"]["values"] == [2 * v for v in heard] + [0], told)
expect(told["outputs"]["total"]["values"] == [sum(heard[:k]) for k in (4, 8, 11)], told)
text = succeeds("run", SUMS, "--stream", "x=" + eleven, "-D", "n=4", "-o", path("c.npz"))
expect("x: 11 samples at 8000 Hz, from -1 to 1 in 3 chunks of 4, the last filled up with "
       "1 zero\n" in text, text)
expect("3 chunks took" in text and "total: f32[3, 1]" in text, text)
whole = parsed("run", "--json", SUMS, "--stream", eleven, "-D", "n=11")
expect(whole["stream"]["chunks"] == 1 and whole["outputs"]["total"]["values"] == [0], whole)

# Two recordings in sequence are the same as one long recording.
first = wav("first.wav", [2048 * (i - 5) for i in range(8)])
rest = wav("rest.wav", [6144, 8192, 10240])
kept = path("kept.npz")
a = parsed("run", "--json", SUMS, "--stream", first, "-D", "n=4", "--state-out", kept)
b = parsed("run", "--json", SUMS, "--stream", rest, "-D", "n=4", "--state-in", kept)
for name in ("y", "total"):
    both = a["outputs"][name]["values"] + b["outputs"][name]["values"]
    expect(both == told["outputs"][name]["values"], (name, both))

# A fixed length is the chunk size; without state chunks are independent, and the command says so.
FIXED = write("fixed.takt", "model m(x: f32[3]) { return y = max(x, x) }")
result = takt("run", FIXED, "--stream", sound)
expect(result.returncode == 0 and "no state" in result.stderr, result.stderr)
expect("3 samples at 8000 Hz, from -1 to 1 in 1 chunk of 3\n" in result.stdout, result.stdout)
expect("no state" not in takt("run", "-q", FIXED, "--stream", sound).stderr, "quiet")
TWO = write("two.takt", "model m(x: f32[3], g: f32[1]) { return y = x * g }")
fails(2, "run", TWO, "--stream", sound, says=["which one takes", "--stream NAME=FILE"])
fails(2, "run", TWO, "--stream", "z=" + sound, says=["no input called z"])
fails(2, "run", TWO, "--stream", "x=" + sound, "-i", "x=" + sound, says=["-i and --stream"])
succeeds("run", TWO, "--stream", "x=" + sound, "--random")
fails(2, "run", SUMS, "--stream", eleven, says=["length of input x open", "-D n=160"])
fails(2, "run", SUMS, "--stream", GREY, "-D", "n=4", says=["not a recording"])
fails(1, "run", SUMS, "--stream", wav("none.wav", []), "-D", "n=4", says=["no elements"])
fails(2, "run", model("2, 8"), "--stream", sound, says=["time as last dimension"])
fails(2, "run", model("1, 8"), "--stream", write("p.wav", b"P5 1 1 255\n?"), says=["its name says"])
fails(1, "run", SUMS, "--stream", path("nowhere.wav"), "-D", "n=4", says=["nowhere.wav"])
for flag in (["--repeat", "2"], ["--batch-size", "2"], ["--test", "."], ["--donate", "x"]):
    fails(2, "run", SUMS, "--stream", eleven, "-D", "n=4", *flag,
          says=["--stream and " + flag[0] + " do not go together"])

# The rate of a model with mel bands: a recording at another one is refused, not misheard.
fast, unsaid = wav("fast.wav", [0] * 5600, 16000), wav("unsaid.wav", [0] * 5600, 0)
slow = wav("slow.wav", [0] * 5000)
expect("5000 samples at 8000 Hz, from -1 to 1, then zeros to the input's length" in
       succeeds("run", "zoo:keyword_spot", "-i", slow), "a recording at the model's rate")
expect("5600 samples from -1 to 1\n" in succeeds("run", "zoo:keyword_spot", "-i", unsaid),
       "a file without a rate")
CEPSTRUM = write("cepstrum.takt", """model m(x: f32[b, n]) {
  return y = mfcc(x, 2, rate=11025, window=7, hop=4, fft=9, bands=3, stream=true)
}""")
compiled = path("cepstrum.taktp")
succeeds("compile", CEPSTRUM, "-o", compiled)
right = wav("right.wav", range(8), 11025)
for own, hertz in ((CEPSTRUM, "11025"), (compiled, "11025"), ("zoo:keyword_spot", "8000")):
    fails(2, "run", own, "-i", fast, says=["fast.wav was recorded at 16000 Hz", "expects " + hertz,
                                           "-ar " + hertz])
for digit in ("0", "1"):
    os.makedirs(path("digits/" + digit), exist_ok=True)
    wav("digits/" + digit + "/a.wav", [0] * 5600, 16000)
fails(2, "eval", "zoo:keyword_spot", "--data", path("digits"),
      says=["digits was recorded at 16000 Hz", "expects 8000 Hz"])
for own in (CEPSTRUM, compiled):
    fails(2, "run", own, "--stream", fast, "-D", "n=4", says=["expects 11025 Hz"])
    succeeds("run", own, "--stream", right, "-D", "n=4")

# Names of classes.
names = write("names.txt", "red\r\ngreen\nblue \xe9\n".encode())
three = write("three.takt", "model m(x: f32[n, 3]) { return y = max(x, x) }")
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + b"\n"
npy = write("x.npy", b"\x93NUMPY\x01\x00\x76\x00" + head +
            struct.pack("<6f", 1, 3, 2, 0.5, 0.25, 0.5))
text = succeeds("run", three, "-i", npy, "--labels", names)
expect("best of y: green 3, blue \xe9 2, red 1\n" in text, text)
expect("best of y: red 0.5, blue \xe9 0.5, green 0.25\n" in text, text)
rows = parsed("run", "--json", three, "-i", npy, "--labels", names)["labels"]
expect([row[0]["label"] for row in rows] == ["green", "red"] and rows[0][0]["class"] == 1, rows)
fails(2, "run", model("1, 2"), "-i", sound, "--labels", names, says=["as many classes", "3"])
fails(1, "run", three, "-i", npy, "--labels", "/nowhere", says=["cannot open /nowhere: No such"])

# The digit of the demo.
expect("best of sign: three 0.99" in succeeds("run", "zoo:gesture", "-i", "examples/three.pgm",
                                              "--labels", "examples/digits.txt"), "the digit")

# PNG where libpng is installed.
shot = png("g.png", PIXELS[1])
result = takt("run", model("1, 1, 2, 4"), "-i", shot)
expect(result.returncode == 0 or "libpng16 is not installed" in result.stderr, result.stderr)
if result.returncode == 0:
    expect(values("1, 1, 2, 4", shot) == values("1, 1, 2, 4", GREY), "PNG and PGM")

# A batch of several is not a single image; a batch that is open, or 1, is.
for shape in ("2, 1, 2, 4", "2, 2, 4, 1", "5, 2, 4"):
    fails(2, "run", model(shape), "-i", GREY, says=["a batch of several"])

# From one row to one column, and a size that exceeds memory: refused before any work.
tall, wide = pnm("tall.pgm", [[v % 251] for v in range(65536)]), pnm("wide.pgm", [[7] * 65536])
for fit in ("stretch", "crop", "pad"):
    code = succeeds("run", "-q", model("1, 1, 1, 65536", "u8"), "-i", tall, "--image", "fit=" + fit)
    expect("digest" in code, code)
    succeeds("run", "-q", model("1, 1, 65536, 1", "u8"), "-i", wide, "--image", "fit=" + fit)
expect(values("1, 4", pnm("t.pgm", [[10], [20], [30], [40]]), kind="u8")[1] == [17, 17, 33, 33],
       "columns first")
fails(1, "run", model("1, 1, h, w"), "-i", GREY, "--image", "size=65536", "--max-ram", "100M",
      says=["out of memory", "--max-ram"])

# Scores that are not numbers come last, and are null in JSON.
npy = write("nan.npy", b"\x93NUMPY\x01\x00\x76\x00" + head +
            struct.pack("<6f", float("nan"), 3, float("inf"), 1, float("nan"), 2))
text = succeeds("run", three, "-i", npy, "--labels", names)
expect("best of y: blue \xe9 inf, green 3, red nan\n" in text, text)
rows = parsed("run", "--json", three, "-i", npy, "--labels", names)["labels"]
expect([[s["class"] for s in row] for row in rows] == [[2, 1, 0], [2, 0, 1]], rows)
expect([s["score"] for s in rows[0]] == [None, 3, None], rows)

# What cannot be done.
fails(2, "run", model("2, 4", "u8"), "-i", GREY, "--image", "imagenet", says=["no mean"])
fails(2, "run", three, "--image", "mena=1", says=["--image does not take mena=1"])
for words in (["-i", sound], ["--stream", sound], ["-i", "-"]):
    fails(2, "run", model("1, n"), *words, "--image", "imagenet",
          says=["--image is for pictures, and no input is one"])
fails(2, "run", model("1, 5, 2, 4"), "-i", GREY, says=["cannot be input x", "f32[1, 5, 2, 4]"])
fails(2, "run", model("1, 1, 2, 4", "i32"), "-i", GREY, says=["f32 or u8"])
fails(2, "run", model("1, 1, 2, 4"), "-i", sound, says=["time as last dimension"])
fails(2, "run", model("1, n"), "-i", write("b.wav", b"P5 1 1 255\n?"),
      says=["not what its name says"])
fails(1, "run", model("1, 1, 2, 4"), "-i", write("cut.ppm", b"P6 9 9 255\nabc"),
      says=["too few bytes"])
for bad in ("mena=1", "std=0", "mean=1:2", "scale=x", "size=0x4", "fit=round", "bgr=1",
            "size=70000"):
    fails(2, "run", model("1, 1, 2, 4"), "-i", GREY, "--image", bad,
          says=["--image does not take " + bad])
fails(2, "run", model("1, 1, 2, 4"), "-i", GREY, "--image", "mena=1", says=["did you mean mean?"])
finish()
