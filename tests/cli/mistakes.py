"""mistakes.py - common typing mistakes are answered with the intended command."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile

from _cli import (CLEAN, CNN, MLP, ROOT, STREAM, TOOL, expect, fails, finish, npy, path, succeeds,
                  takt, write)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
import _pb  # noqa: E402

# Misspelt verbs, flags, ops, passes, backends, inputs, outputs, dimensions.
fails(2, "rnu", MLP, says=["did you mean `takt run`?"])
fails(2, "sumary", MLP, says=["did you mean `takt summary`?"])
fails(2, "benchmrk", "run", MLP, says=["did you mean `takt benchmark`?"])
fails(2, "plan", "--graph", "x.svg", MLP, says=["take the argument x.svg", "> cnn.svg`"])
fails(2, "chat", MLP, says=["did you mean `takt generate --chat`?"])
fails(2, "run", MLP, "--thread", "2",
      says=["takt run has no flag --thread", "did you mean --threads?"])
fails(2, "run", MLP, "--memory_limit=1M", says=["did you mean --memory-limit?"])
fails(2, "run", MLP, "-Z", says=["takt run has no flag -Z", "takt run --help"])
fails(2, "summary", MLP, "--threads", "2", says=["takt summary has no flag --threads"])
fails(2, "ops", "sofmax", says=["error[TAKT2107]", "did you mean softmax?"])
fails(2, "opt", "--pass=-fold-wieghts", CNN, says=["did you mean fold-weights?"])
fails(2, "run", MLP, "--pass=+nothing-like-it", says=["there is no pass called nothing-like-it"])
fails(2, "run", MLP, "--backend", "gpu",
      says=["there is no backend called gpu", "backends are cpu"])
fails(2, "run", MLP, "--isa", "mmx", says=["there is no instruction set called mmx"])
fails(2, "run", MLP, "-D", "bacth=3", says=["no dimension called bacth", "did you mean batch?"])
fails(2, "run", MLP, "-i", "X=x.npy", says=["the model has no input called X", "hint: "])
fails(2, "run", STREAM, "-o", "z=z.npy", says=["the model has no output called z"])
fails(2, "run", MLP, "--shape", "y:2x784", says=["the model has no input called y", "first one"])
fails(2, "run", MLP, "--shape", "X:2x784", says=["no input called X", "did you mean x?"])
for misspelt, meant in (("-fuze", "fuse"), ("+licenced", "licensed"), ("-al", "all")):
    fails(2, "run", MLP, "--pass", misspelt, says=[f"did you mean {meant}?"])
expect(succeeds("ops", "Relu") == succeeds("ops", "relu"), "ONNX's name of an operation")
fails(2, "ops", "Gemm", says=["no operation called Gemm", "ONNX's Gemm is read"])
fails(2, "explain", "nonsense", says=["nonsense is neither a file nor the number of an error"])
fails(2, "explain", "1999", says=["there is no error 1999"])
for flag in (["--missed"], ["--fusions"], ["--node", "x"], ["--list"], ["--fact", "p(a)"]):
    fails(2, "explain", "2103", *flag, says=[f"{flag[0]} and 2103, the number of an error"])
fails(2, "explain", "99999", says=["there is no error 99999", "takt explain --list"])
fails(2, "help", "rum", says=["there is no verb rum", "did you mean `takt run`?"])
fails(2, "convert", MLP, "m.onnx", says=["not take the argument m.onnx", "-o model.takt`"])
fails(2, "completion", "tcsh", says=["bash, zsh and fish"])
fails(2, "explain", says=["needs MODEL or the number of an error"])
fails(2, "opt", says=["takt opt needs MODEL", "takt opt --list"])
fails(2, "explain", "--node", "nobody", MLP, says=["no step computes a node called nobody"])

# Nothing is suggested where nothing is near.
for words in (("xyz", MLP), ("run", MLP, "--zzzzz", "1"), ("frobnicate", MLP),
              ("opt", MLP, "--pass=nope")):
    expect("did you mean" not in fails(2, *words), f"{words}: something far is suggested")

# Names from other tools, and verbs of two words of which only one was given.
for said, meant in (("info", "inspect"), ("predict", "run"), ("compare", "benchmark compare"),
                    ("trends", "benchmark trends"), ("optimize", "opt"), ("layers", "summary")):
    fails(2, said, MLP, says=[f"there is no verb {said}", f"did you mean `takt {meant}`?"])

# Flags of other tools: accepted with a note if they mean the same, otherwise answered with a hint.
for flag in ("--batch", "-b"):
    fails(2, "run", MLP, flag, "4", says=[f"takt run has no flag {flag}", "-D batch=N"])
for verb in ("profile", "compile"):
    fails(2, verb, MLP, "--batch-size", "4", says=[f"takt {verb} has no flag", "-D batch=N"])
expect("here --device is called --backend" in takt("run", MLP, "--device", "cpu").stderr,
       "--device is not taken for --backend")

# A default that other frameworks have differently is reported, once, for a model that is good.
POOL = write("pool.takt", "model m(x: f32[1, 1, 8]) { return max_pool(x, 2) }\n")
told = takt("run", POOL).stderr
expect(told.count("pool.takt:1:35: stride is 1 unless given") == 1, told)
expect("stride" not in takt("run", POOL, "-q").stderr, "quiet")
POOL = write("pool.takt", "model m(x: f32[1, 1, 8]) { return max_pool(x, 2, stride=2) }\n")
expect("stride" not in takt("run", POOL).stderr, "a stride was given")

# Layers are shown by `takt ops`, and words of other frameworks are answered there too.
expect("layer dense(x, units: int" in succeeds("ops", "dense"), "takt ops dense")
expect(json.loads(succeeds("ops", "--json", "dense"))["layers"][0]["name"] == "dense",
       "takt ops --json dense")
fails(2, "ops", "Dense", says=["no operation called Dense", "did you mean dense?"])
fails(2, "ops", "Linear", says=["no operation called Linear", "dense(x, units)"])

# Folders: misspelt, missing, in place of a file, and as the destination of results.
fails(1, "run", "exampels/mlp.takt", says=["hint: did you mean examples/mlp.takt?"])
fails(1, "run", "exampels/nothing.takt", says=["hint: there is no folder exampels/"])
fails(1, "run", "examples/nowhere/deep/mlp.takt", says=["no folder examples/nowhere/\n"])
fails(1, "run", "examples", says=["hint: name a file in it, such as examples/"])
fails(1, "run", MLP, "-o", path("nowhere/y.npy"), "--repeat", "1000000000", "--threads", "1",
      says=["y.npy: there is no folder", "nowhere/"])

# A text that is not a model is one mistake, and names never command the terminal.
prose = write("prose.md", "# Prose\n\nTakt is the beat of a conductor.\nThe time is known.\n")
told = fails(1, "run", prose, says=["prose.md:3:1", "expected 'model', 'layer' or 'import'"])
expect(told.count("error 2201") == 1, told)
write("red\x1b[31m.takt", "model m(x: f32[2]) { return x }")
told = fails(1, "run", path("red[31m.takt"), says=["did you mean", "red?[31m.takt?"])
expect("\x1b" not in told, repr(told))

# A file that cannot be written is unchanged, and no temporary file is left: files of 4096 bytes.
small = path("small")
os.makedirs(small, exist_ok=True)
page = os.path.join(small, "page.html")
with open(page, "w", encoding="utf-8") as file:
    file.write("as it was")


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for words in (["profile", MLP, "--duration", "50ms", "-o", page], ["compile", MLP, "-o", "m.taktp"],
              ["benchmark", "run", MLP, "--iterations", "500", "--format", "json", "-o", page]):
    words = [os.path.join(small, word) if word == "m.taktp" else word for word in words]
    fails(1, *words, says=["error[TAKT3003]", "File too large"], preexec_fn=limit_files,
          restore_signals=False)
    expect(os.listdir(small) == ["page.html"], f"{words}: {os.listdir(small)}")
    with open(page, encoding="utf-8") as file:
        expect(file.read() == "as it was", f"{words}: the old file is gone")
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

# Measurements are shown even if the disk is full.
full = takt("profile", MLP, "--duration", "50ms", "--trace", "/dev/full")
expect(full.returncode == 1 and "/dev/full" in full.stderr and " a run " in full.stdout, full)
FULL = "error[TAKT3003]: cannot write standard output: No space left on device\n"
with open("/dev/full", "w", encoding="utf-8") as nowhere:
    run = subprocess.run([TOOL, "convert", MLP, "-o", "-"], cwd=ROOT, env=CLEAN, stdout=nowhere,
                         stderr=subprocess.PIPE, text=True, check=False)
expect(run.returncode == 1 and run.stderr == FULL, run)
with open("/dev/full", "w", encoding="utf-8") as nowhere:
    run = subprocess.run([TOOL, "ops"], cwd=ROOT, env=CLEAN, stdout=nowhere,
                         stderr=subprocess.PIPE, text=True, check=False)
expect(run.returncode == 1 and run.stderr == FULL, run)

# Files of results that cannot be, labels that are missing, flags without effect.
fails(2, "run", MLP, "-o", "out=", says=["-o out= has no file"])
fails(2, "run", MLP, "-o", "=y.npy", says=["-o =y.npy has no name"])
fails(2, "run", MLP, "-o", "-", "--json", says=["both write to standard output"])
fails(1, "run", MLP, "--labels", "examples/digit.txt",
      says=["TAKT3001", "cannot open examples/digit.txt: No such file", "examples/digits.txt"])
fails(2, "run", MLP, "--image", "imagenet", says=["no input is one"])
fails(2, "query", "examples/family.takt", "nonsense(x)", says=["`takt query MODEL` lists them"])
fails(1, "convert", MLP, "-o", os.path.join(small, "m.gguf"), says=["only language models"])

# A model that cannot be read is reported before the ceilings of the machine are measured.
unknown = path("ceilings")
shutil.rmtree(unknown, ignore_errors=True)
for words in (["nosuch.takt"], []):
    begun = time.monotonic()
    takt("benchmark", "run", *words, env={"XDG_CACHE_HOME": unknown})
    expect(not os.path.exists(unknown) or os.listdir(os.path.join(unknown, "takt")) == [], words)
    expect(time.monotonic() - begun < 5, f"{words}: the ceilings were measured first")

# Verbs of two words.
for words in (("benchmark",), ("bench",)):
    run = takt(*words)
    expect(run.returncode == 2 and "benchmark compare" in run.stdout, f"{words}: {run.stdout}")
for words in (("help", "benchmark"), ("benchmark", "--help"), ("benchmark", "help")):
    text = succeeds(*words)
    expect("benchmark run" in text and "benchmark compare" in text, f"{words}: {text}")
expect("takt benchmark run" in succeeds("help", "benchmark", "run"), "help of two words")
fails(2, "benchmark", "prepare", says=["takt benchmark prepare needs MODEL"])
fails(2, "benchmark", "run", "--walk", says=["takt benchmark run has no flag --walk"])
fails(2, "benchmark", "walk", says=["there is no verb benchmark walk", "takt benchmark --help"])
fails(2, "benchmark", "rnu", says=["did you mean `takt benchmark run`?"])
fails(2, "help", "benchmark", "walk", says=["there is no verb benchmark walk"])
expect("3 slower" in succeeds("help") and "5 too noisy" in succeeds("help"), "exit codes")

# Files of the wrong kind are named, with a hint.
write("cut.onnx", b"\x08\x07\x3a\xd2\x01\x0a\x05")
said = fails(1, "inspect", path("cut.onnx"), says=["cut.onnx", "cut off", "hint: "])
expect(said.count("at byte") == 1, f"where it is cut off is not said once: {said}")
succeeds("compile", MLP, "-o", path("whole.taktp"))
with open(path("whole.taktp"), "rb") as whole:
    write("cut.taktp", whole.read()[:-1])
fails(1, "inspect", path("cut.taktp"), says=["its header says", "hint: ", "compile it again"])
write("bad.json", b'{"threads": 2,, }')
fails(2, "run", MLP, "--config", path("bad.json"), says=["bad.json", "line 1", "--dump-config"])
fails(2, "run", MLP, "--shape", "x:2x3", says=["dimension 1", "x is f32[batch, 784]"])
fails(2, "run", MLP, "--shape", "x:2x3x4", says=["2 dimensions", "x is f32[batch, 784]"])
fails(2, "run", MLP, "-D", "batch=99999999999999999999", says=["the size is too large"])
fails(4, "run", MLP, "--deadline", "1ns", says=["step 1 of", "takt profile", "node: "])
fails(2, "compile", MLP, "-o", "-", says=["goes to a file", "-o m.taktp"])

# Missing files, and files that are not models.
fails(1, "run", "examples/mlp", says=["did you mean examples/mlp.takt?"])
fails(1, "run", "examples/mpl.takt", says=["did you mean examples/mlp.takt?"])
write("near.npy", npy((1, 784), [0.5] * 784))
fails(1, "run", MLP, "-i", "x=" + path("naer.npy"), says=["did you mean " + path("near.npy")])
for far in ("relu.takt", "zzz.takt", "cat.takt"):
    expect("did you mean" not in fails(1, "run", "examples/" + far), far)
fails(1, "run", "examples/mlp.tkat", says=["did you mean examples/mlp.takt?"])
expect("hint" not in fails(1, "run", "nothing-like-it"), "something far is suggested for a file")
fails(1, "ops", "nothing.onnx", says=["error[TAKT3001]", "cannot open nothing.onnx"])
succeeds("convert", MLP, "-o", path("alone.safetensors"))
for name, content, says in (("array.takt", npy((1,), [1.0]), "it holds an array"),
                            ("alone.npz", b"PK\3\4" + bytes(60), "NumPy's .npz"),
                            ("packed.takt", b"\x1f\x8b" + bytes(60), "unpack it first"),
                            ("noise.onnx", b"\xff\xfe\0\1" * 9, "its name says ONNX, but"),
                            ("noise", b"\xff\xfe\0\1" * 9, "ONNX (.onnx)")):
    fails(1, "summary", write(name, content), says=["error[TAKT3006]", says])
fails(1, "summary", write("lite.tflite", b"\x1c\0\0\0TFL3" + bytes(60)), says=["error[TAKT3501]"])
fails(1, "summary", path("alone.safetensors"), says=["error[TAKT3006]", "it holds weights alone"])

# A model is never overwritten by a result, and results have the endings of arrays.
with open(os.path.join(ROOT, MLP), encoding="utf-8") as text:
    source = text.read()
kept = write("kept.takt", source)
for words in (("extract", kept, "-o", kept), ("convert", kept, "-o", kept),
              ("compile", kept, "-o", kept), ("compile", kept, "--emit", kept),
              ("run", kept, "-o", kept), ("run", kept, "-o", "out=" + kept)):
    fails(2, *words, says=["is the model itself", "another file"])
with open(kept, encoding="utf-8") as text:
    expect(text.read() == source, "a model was written over")
for ending in (".csv", ".data", ".bin", ".npyy", ".NPY", ".1"):
    for before in ("", "out="):
        fails(2, "run", MLP, "-o", before + path("y" + ending),
              says=["y" + ending + " ends with neither", "F.npz, an existing folder", "or - for"])
    expect(not os.path.exists(path("y" + ending)), ending)
succeeds("run", MLP, "-o", path("endless"))
expect("written to " + path("w.npy") in succeeds("run", MLP, "-o", path("w.npy")), "where it went")
both = succeeds("compile", MLP, "-o", path("b.taktp"), "--emit", path("b.onnx"))
expect(path("b.taktp") in both and path("b.onnx") + ": mlp, optimised" in both, both)

# Weights for a model that has no parameters, and files that hold none.
write("constant.onnx", _pb.model(_pb.Graph([_pb.node("Relu", ["x"], ["y"])], [_pb.value("x", [2])],
                                           [_pb.value("y", [2])])))
for words in (("run", path("constant.onnx"), "--weights", path("alone.safetensors")),
              ("convert", path("constant.onnx"), "-o", path("none.safetensors"))):
    fails(1, *words, says=["error[TAKT3402]", "has no parameters, its weights are constants",
                           "constants are saved with the model, as .onnx", "only parameters that"])
fails(1, "run", MLP, "--weights", MLP, says=["error[TAKT3401]", "takt convert MODEL -o w.npz"])
fails(2, "help", "run", "plan", says=["plan is not part of takt run", "one at a time"])

# Flags in the wrong place, without effect, or with unexpected words.
fails(2, "--threads", "2", "run", MLP,
      says=["--threads is not a verb: flags come after one", "write takt run --threads 2 ..."])
fails(2, "--json", "benchmark", "run", MLP, says=["write takt benchmark run --json ..."])
fails(2, "--threads", "2", says=["flags come after one", "takt help"])
expect(succeeds("-V") == succeeds("--version"), "-V")
fails(2, "run", MLP, "--rtol", "1", says=["--rtol is that of --test", "--test DIR"])
fails(2, "run", MLP, "--monitor-report", "m.pdf", says=["m.pdf names no format", "F.html"])
fails(2, "plan", MLP, "--svg", "--json", says=["--svg is not JSON"])
fails(2, "profile", MLP, "--flame", "f.png", says=["a picture in SVG", "flame.svg"])
fails(1, "profile", MLP, "--trace", "/nowhere/t.json", says=["/nowhere/t.json"])
fails(2, "profile", MLP, "--impact", "--trace", "t.json", says=["which --trace asks for"])
fails(2, "batch", STREAM, "8", says=["8 is not a name of a dimension", "-D NAME=8"])
fails(1, "batch", MLP, says=["a dimension called batch already", "another name"])
fails(2, "benchmark", "run", MLP, "--ci-width", "5", says=["--ci-width 5 is not a fraction", "1%"])
fails(2, "benchmark", "trends", says=["there are no results", "results_*.json"])
fails(2, "benchmark", "compare", MLP, "--bin-a", "/nowhere/takt", "--bin-b", "/nowhere/takt",
      says=["/nowhere/takt cannot be run: No such file"])
succeeds("run", MLP, "--memory-limit", "64mb")
fails(4, "run", MLP, "--memory-limit", "1kb", says=["the limit is 1000"])
succeeds("profile", MLP, "--memory=" + path("live.json"), "--duration", "5ms")
with open(path("live.json"), encoding="utf-8") as live:
    expect("timeline" in json.load(live), "--memory=F.json writes no file")

# Environment variables: a misspelt one is reported, one of another program is not.
run = takt("version", env={"TAKT_THREAD": "2"})
expect("TAKT_THREAD mirrors no flag; did you mean TAKT_THREADS?" in run.stderr, run.stderr)
expect(run.returncode == 0 and run.stdout.startswith("takt "), "a note is not a failure")
run = takt("version", env={"TAKT_DATA": "x", "TAKT_VENV": "x", "TAKT_THREADS": "2"})
expect(run.stderr == "", f"variables that Takt does not read: {run.stderr}")

# Names of values, nodes and errors.
for words in (("extract", MLP, "--to", "dense_7"), ("run", MLP, "--outputs", "dens_0")):
    fails(2, *words, says=["did you mean dense_0?", "takt extract MODEL"])
fails(2, "explain", MLP, "--node", "dense_0.x", says=["did you mean dense_0"])
fails(2, "run", MLP, "--donate", "z", says=["no input called z", "takt inspect MODEL"])
for spelled in ("TAKT2103", "takt2103", "error[TAKT2103]", "error[TAKT2103]:"):
    expect(succeeds("explain", spelled).startswith("TAKT2103: "), spelled)

# Values of the wrong form.
for flag, value, needs in (("--threads", "0", "a number from 1"),
                           ("--threads", "-1", "a number from 1"),
                           ("--threads", "99999999999", "a number from 1"),
                           ("--seed", "1.5", "a number from 0"),
                           ("--deadline", "5", "with its unit"),
                           ("--deadline", "0ms", "with its unit"),
                           ("--memory-limit", "64Q", "a size"),
                           ("--memory-limit", "0", "a size"), ("--opt-level", "4", "0 to 3"),
                           ("--repeat", "", "a number from 1"), ("--backend", "", "a text")):
    fails(2, "run", MLP, f"{flag}={value}", says=[f"{flag} needs", needs, f'not "{value}"'])
fails(2, "run", MLP, "--threads", says=["--threads needs a value: --threads N"])
fails(2, "run", MLP, "-D", "batch", says=["-D batch is not of the form NAME=SIZE"])
fails(2, "run", MLP, "-D", "batch=-1", says=["is not of the form NAME=SIZE"])
fails(2, "run", MLP, "--shape", "x:2xx784", says=["is not a shape"])
fails(2, "run", MLP, "--shape", "x", says=["names no input", "--shape x:32x784"])
fails(2, "run", MLP, "--shape", "x:2x783", says=["dimension 1 of input x is 784", "it is 783"])
fails(2, "run", MLP, "--shape", "x:2", says=["input x has 2 dimensions", "has 1"])
fails(2, "run", MLP, "--shape", "x:2x784", "-D", "batch=3",
      says=["batch is 2", "3 by an earlier"])

# Files of the wrong form.
fails(1, "run", MLP, "-i", "x=missing.npy", says=["error[TAKT3001]", "missing.npy"])
fails(1, "run", MLP, "-i", "x=" + MLP, says=["error[TAKT3201]", "not a .npy file"])
double = write("double.npy", npy((1, 784), [0.0] * 784, "<f8", "d"))
fails(2, "run", MLP, "-i", "x=" + double,
      says=["error[TAKT1003]", "input x is f32, in " + double + " it is f64", "hint: Takt never",
            "x.astype('float32')"])
single = write("single.npy", npy((784,), [0.5] * 784))
fails(2, "run", MLP, "-i", single, says=["input x has 2 dimensions", "x[None] makes"])
with zipfile.ZipFile(path("nameless.npz"), "w") as archive:
    archive.writestr("arr_0.npy", npy((1, 784), [0.5] * 784))
    archive.writestr("other.npy", npy((1, 784), [0.5] * 784))
fails(2, "run", MLP, "-i", "x=" + path("nameless.npz"),
      says=["has no array called x", "it holds arr_0, other;", "numpy.savez"])
fails(1, "run", MLP, "-i", write("table.csv", "1,2,3\n"), says=["numpy.save(file, x)"])
good = write("x.npy", npy((1, 784), [0.5] * 784))
fails(2, "plan", MLP, "-i", good, "-i", "x=" + good, says=["input x is given twice"])
fails(2, "run", MLP, "-i", good, "-D", "batch=2", says=["batch is 1 by " + good])
fails(2, "run", STREAM, "-o", path("out.npy"), says=["the model has 2 outputs"])
fails(1, "run", MLP, "-o", path("no/such/folder/y.npy"), says=["error[TAKT3003]"])
fails(1, "opt", CNN, "--emit-each-pass", path("no/such/folder"), says=["error[TAKT3003]"])

# Models of the wrong form.
several = write("several.takt", "model a(x: f32[2]) -> f32[2] { return x }\n"
                                "model b(x: f32[2]) -> f32[2] { return -x }\n")
fails(2, "run", several, "--select", "c", says=["there is no model called c", "it has a, b"])
error = fails(1, "run", write("shapes.takt", "model m(x: f32[2, 3]) -> f32[2] {\n"
                                             "  y = x @ x\n  return z\n}\n"),
              says=["shapes.takt:2", "^"])
expect("[2, 3]" in error, "the shapes are not named: " + error)
fails(1, "run", write("deep.takt", "model m(x: f32[1]) -> f32[1] { return " + "(" * 10**6 + "x"
                                   + ")" * 10**6 + " }\n"), says=["2204"])
fails(1, "run", write("huge.takt", "model m(x: f32[1000000, 1000000, 1000000]) -> f32[1] "
                                   "{ return reduce_sum(x, axes=[0, 1]) [0:1] }\n"), says=["error"])
fails(1, "run", write("bytes.takt", b"\x00\x01\x02"), says=["error[TAKT3006]"])

# Every unsupported node of an ONNX model, with its error number and a hint.
lacking = write("lacking.onnx", _pb.model(_pb.Graph(
    [_pb.node("Foo", ["x"], ["a"], name="first"), _pb.node("Bar", ["x"], ["b"], name="second")],
    [_pb.value("x", [2])], [_pb.value("a", [2]), _pb.value("b", [2])])))
for verb in ("run", "summary", "plan"):
    fails(1, verb, lacking,
          says=[lacking + ": error[TAKT3302]: first (Foo, opset 21): Takt has no such operator\n",
                ": error[TAKT3302]: second (Bar, opset 21): Takt", "hint: `takt ops " + lacking])
nameless = write("nameless.onnx", _pb.model(_pb.Graph(
    [_pb.node("Foo", ["x"], [""], name=""), _pb.node("", ["x"], ["y"], name="n")],
    [_pb.value("x", [2])], [_pb.value("y", [2])])))
fails(1, "run", nameless, says=["]: a node without a name (Foo, opset 21): Takt has",
                                "]: n (no operator, opset 21): the node names no operator\n"])
listed = takt("ops", nameless).stdout
expect("  a node without a name: Foo, opset 21\n" in listed and
       "  n: no operator, opset 21\n    reason: the node names no operator\n" in listed, listed)
words = _pb.Graph([_pb.node("Identity", ["x"], ["y"])], [_pb.value("x", [2], 8)],
                  [_pb.value("y", [2], 8)])
fails(1, "run", write("words.onnx", _pb.model(words)),
      says=["error[TAKT3302]", "input x has element type 8 (strings)"])

# The same in JSON, whatever bytes a name has.
run = takt("run", "--json", MLP, b"--outputs=a\xfc\xe2\x82\xac\xed\xa0\x80", text=False)
answer = json.loads(run.stderr)  # fails if it is not UTF-8
expect(answer["error"]["message"].endswith(" a\ufffd\u20ac\ufffd\ufffd\ufffd"), answer)
answer = json.loads(fails(1, "run", "--json", write("bad.takt", "model m(x: f32[2]) -> f32[2] "
                                                                "{ return y }\n")))
expect(answer["error"]["id"] == 2202 and "^" in answer["error"]["complaints"], answer)
answer = json.loads(fails(2, "run", "--json", MLP, "-D", "bacth=3"))
expect(answer["error"]["status"] == "TAKT_ERR_NOT_FOUND" and answer["error"]["hint"], answer)
finish()
