"""hostile_files.py - files next to a model: links, pipes and devices in place of its data (ONNX,
class 8), and shards that contradict their index (safetensors, class 22)."""
import json
import os
import struct
import subprocess
import sys

from _pb import Graph, field, floats, many, model, node, tensor, value

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.path.join(os.environ.get("TAKT_TEST_TMP", "/tmp"), "files")
failures = []
count = 0


def fresh(name):
    """An empty folder."""
    folder = os.path.join(TMP, name)
    subprocess.run(["rm", "-rf", folder], check=True)
    os.makedirs(folder)
    return folder


def write(path, body):
    with open(path, "wb") as file:
        file.write(body)
    return path


def run(*args):
    """Opening a pipe would wait for ever; two minutes are more than a busy machine needs."""
    done = subprocess.run([TOOL, *args], text=True, capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


def check(name, args, error, words):
    """`error`: the id, or None if it must work."""
    global count
    count += 1
    try:
        code, text = run(*args)
    except subprocess.TimeoutExpired:
        code, text = -1, "it hangs"
    good = code == 0 if error is None else code not in (0, -1) and f"TAKT{error}" in text
    if not good or any(word not in text for word in words):
        failures.append(name)
        print(f"FAILED: {name}: {code} {text.strip()[:400]}")


def model_in(folder, location="w.bin", **more):
    entries = {"location": location, **more}
    weight = tensor("w", [3], 1, None, many(13, [field(1, key) + field(2, text)
                                                 for key, text in entries.items()]) + field(14, 1))
    graph = Graph([node("Add", ["x", "w"], ["y"])], [value("x", [3])], [value("y", [3])], [weight])
    return write(os.path.join(folder, "m.onnx"), model(graph))


def external_data():
    good = floats(1, 2, 3)
    outside = write(os.path.join(fresh("outside"), "secret"), good)

    def case(name, make, location="w.bin", error=3304, words=(), flags=()):
        folder = fresh("model")
        make(os.path.join(folder, "w.bin"), folder)
        check(name, ["inspect", model_in(folder, location), *flags], error, words)

    case("a file", lambda to, _: write(to, good), error=None)
    case("a link to a file outside", lambda to, _: os.symlink(outside, to), words=["--allow-links"])
    case("a link to a file next to it", lambda to, folder: (
        write(os.path.join(folder, "other"), good), os.symlink("other", to)))
    case("a link that is allowed", lambda to, folder: (
        write(os.path.join(folder, "other"), good), os.symlink("other", to)), error=None,
        flags=["--allow-links"])
    case("a link to itself", lambda to, _: os.symlink("w.bin", to))
    case("a link to itself, allowed", lambda to, _: os.symlink("w.bin", to),
         flags=["--allow-links"])
    case("a link to nothing, allowed", lambda to, _: os.symlink("nobody", to),
         flags=["--allow-links"])
    case("a folder that is a link", lambda to, folder: os.symlink(
        os.path.dirname(outside), os.path.join(folder, "sub")), "sub/secret")
    case("a hard link", lambda to, _: os.link(outside, to), words=["--allow-links"])
    case("a pipe", lambda to, _: os.mkfifo(to))
    case("a pipe, links allowed", lambda to, _: os.mkfifo(to), flags=["--allow-links"])
    case("a folder", lambda to, _: os.mkdir(to))
    case("a link to a device", lambda to, _: os.symlink("/dev/zero", to))
    case("a link to a device, allowed", lambda to, _: os.symlink("/dev/zero", to),
         flags=["--allow-links"])
    case("a link to a process's memory", lambda to, _: os.symlink("/proc/self/mem", to),
         flags=["--allow-links"])
    case("nothing", lambda to, _: None)
    case("a short file", lambda to, _: write(to, good[:-1]))
    places(good)
    case("a file outside", lambda to, _: None, "../outside/secret")
    case("a path from the root", lambda to, _: None, outside)


def places(good):
    """Parts of a file of 5 GiB that has data only at its ends, one at an offset where a float would
    be unaligned."""
    folder = fresh("model")
    with open(os.path.join(folder, "w.bin"), "wb") as file:
        file.write(b"\0" + good)
        file.truncate(5 << 30)
        file.seek(-12, os.SEEK_END)
        file.write(good)
    end = (5 << 30) - 12
    x = write(os.path.join(folder, "x.pb"), tensor("x", [3], 1, floats(10, 20, 30)))
    for name, error, more in (
            ("at the end of 5 GiB", None, {"offset": str(end), "length": "12"}),
            ("between floats", None, {"offset": "1"}),
            ("beyond the end", 3304, {"offset": str(end + 1)}),
            ("begins beyond the end", 3304, {"offset": str(6 << 30)}),
            ("longer than the weight", 3304, {"offset": "0", "length": str(5 << 30)}),
            ("a length that wraps", 3304, {"offset": str(end), "length": str((1 << 63) - 1)}),
            ("a length of 2^64", 3304, {"length": str(1 << 64)})):
        words = ["11, 22, 33"] if error is None else []
        check(f"data {name}", ["run", model_in(folder, **more), "-i", f"x={x}"], error, words)


def safetensors(entries, data):
    header = json.dumps(entries).encode()
    return struct.pack("<Q", len(header)) + header + data


def entry(begin=0):
    return {"dtype": "F32", "shape": [1], "data_offsets": [begin, begin + 4]}


def shards():
    one = safetensors({"a": entry()}, floats(1))
    two = safetensors({"b": entry()}, floats(2))
    outside = write(os.path.join(fresh("outside"), "two.safetensors"), two)

    def case(name, weight_map, words, make=None, error=None):
        folder = fresh("shards")
        write(os.path.join(folder, "one.safetensors"), one)
        write(os.path.join(folder, "two.safetensors"), two)
        if make is not None:
            make(folder)
        index = os.path.join(folder, "model.safetensors.index.json")
        write(index, json.dumps({"metadata": {}, "weight_map": weight_map}).encode())
        check(name, ["convert", index, "-o", os.path.join(folder, "all.npz")], error, words)

    both = {"a": "one.safetensors", "b": "two.safetensors"}
    case("two shards", both, [])
    case("a shard is missing", {**both, "b": "three.safetensors"}, ["three.safetensors"],
         error=OPEN)
    case("a shard outside", {**both, "b": "../outside/two.safetensors"}, [], error=OPEN)
    case("a shard from the root", {**both, "b": outside}, [], error=OPEN)
    case("a tensor that its shard has not", {**both, "c": "one.safetensors"}, ["c"], error=SHARD)
    case("a tensor in two shards", both, ["a"], lambda folder: write(
        os.path.join(folder, "two.safetensors"),
        safetensors({"a": entry(), "b": entry(4)}, floats(1, 2))), error=SHARD)
    case("a tensor that the index does not list", {"a": "one.safetensors"}, ["b"],
         lambda folder: write(os.path.join(folder, "one.safetensors"),
                              safetensors({"a": entry(), "b": entry(4)}, floats(1, 2))),
         error=SHARD)
    for value in (5, None, True, {"x": 1}):
        case(f"a shard that is {value}", {"a": "one.safetensors", "b": value}, ["b"],
             lambda folder: write(os.path.join(folder, "one.safetensors"),
                                  safetensors({"a": entry(), "b": entry(4)}, floats(1, 2))),
             error=SHARD)
    case("a shard that is the index", {**both, "b": "model.safetensors.index.json"}, [],
         error=SHARD)
    case("a shard that is a link", both, [], lambda folder: (
        os.remove(os.path.join(folder, "two.safetensors")),
        os.symlink(outside, os.path.join(folder, "two.safetensors"))), error=OPEN)
    case("a shard that is a pipe", both, [], lambda folder: (
        os.remove(os.path.join(folder, "two.safetensors")),
        os.mkfifo(os.path.join(folder, "two.safetensors"))), error=OPEN)
    case("a shard that is not text", {**both, "b": 7}, [], error=SHARD)
    case("a shard of no name", {**both, "b": ""}, [], error=SHARD)


SHARD, OPEN = 3401, 3001

if __name__ == "__main__":
    external_data()
    shards()
    print(f"{count} cases, {len(failures)} failed")
    sys.exit(1 if failures or count < 38 else 0)
