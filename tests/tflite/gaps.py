"""gaps.py - large buffers stay in the file until needed: results are correct, and a table inside
such a buffer is refused."""
import os
import struct
import subprocess
import sys

from _flat import Graph, Op, Table, Tensor, file_of, root_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
PATH = os.path.join(TMP, "gaps.tflite")
SIZE = 320  # squared, more numbers than are read with the rest
NUMBERS = struct.pack(f"<{SIZE * SIZE}f", *(i % 7 - 3.0 for i in range(SIZE * SIZE)))
MARK = 0x1122334455667788  # until the offset is known
failures, count = [], 0


def root():
    tensors = [Tensor("FLOAT32", [SIZE, SIZE]), Tensor("FLOAT32", [SIZE, SIZE], NUMBERS),
               Tensor("FLOAT32", [SIZE, SIZE])]
    return root_of([Graph([Op("ADD", [0, 1], [2], (11, {}))], tensors, [0], [2])])


def run(what, data, code, *words):
    """The digest, if `code` is 0."""
    global count
    count += 1
    with open(PATH, "wb") as f:
        f.write(data)
    done = subprocess.run([TOOL, "run", PATH, "--seed", "3"], text=True, capture_output=True,
                          check=False)
    text = done.stdout if code == 0 else done.stderr
    if done.returncode != code or not all(word in text for word in words):
        failures.append(f"{what}: {done.returncode}, {(done.stdout + done.stderr).strip()[:300]}")
    return [line for line in done.stdout.splitlines() if "digest" in line]


def with_number(data, at, number):
    out = bytearray(data)
    out[at:at + 4] = struct.pack("<I", number)
    return bytes(out)


def behind(data, offset, size):
    """The numbers behind the flatbuffer, as in files beyond 2 GiB; `offset` and `size`: changes."""
    table = root()
    table[4] = ("*t", [Table(), Table({1: ("Q", MARK), 2: ("Q", len(NUMBERS) + size)})])
    out = bytearray(file_of(table))
    at = out.index(struct.pack("<Q", MARK))
    out[at:at + 8] = struct.pack("<Q", max(len(out) + offset, 0))
    return bytes(out) + data


whole = file_of(root())
first = whole.index(NUMBERS)
place = struct.unpack_from("<I", whole)[0]
layout = place - struct.unpack_from("<i", whole, place)[0]
graphs = place + struct.unpack_from("<H", whole, layout + 8)[0]
want = run("as it is", whole, 0, "digest")
if run("behind", behind(NUMBERS, 0, 0), 0, "digest") != want:
    failures.append("behind: another digest")
run("beyond the file", behind(NUMBERS, 0, 4), 1, "3501", "ends beyond the file")
run("over the rest", behind(NUMBERS, -200, 200), 1, "3501", "should have")
run("longer", with_number(whole, first - 4, len(whole) - first + 1), 1, "3501", "beyond the file")
run("shorter", with_number(whole, first - 4, len(NUMBERS) - 4), 1, "3501", "should have")
run("graphs within", with_number(whole, graphs, first + len(NUMBERS) // 2 - graphs), 1, "3501",
    "lies within a buffer")
os.remove(PATH)
print(f"{count} files", *failures, sep="\n")
sys.exit(len(failures) > 0)
