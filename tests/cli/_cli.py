"""_cli.py - shared by the tests of the command: calling it, and counting failures."""
import json
import os
import struct
import subprocess
import sys

import _ceilings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(ROOT, "build", "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
MLP, CNN, STREAM = "examples/mlp.takt", "examples/cnn.takt", "examples/stream.takt"
# The mirrors of flags in the environment must not leak in from outside.
CLEAN = {key: value for key, value in os.environ.items()
         if not key.startswith("TAKT_") or key in ("TAKT_TOOL", "TAKT_TEST_TMP", "TAKT_BUILD_DIR")}
CLEAN["XDG_CACHE_HOME"] = os.path.join(TMP, "kept")
_ceilings.keep(TOOL, CLEAN["XDG_CACHE_HOME"])
_failures = []


def takt(*args, env=None, text=True, timeout=120, **more):
    """Runs the command in the root of the repository."""
    return subprocess.run([TOOL, *args], cwd=ROOT, env={**CLEAN, **(env or {})}, text=text,
                          capture_output=True, timeout=timeout, check=False, **more)


def expect(good, what):
    if not good:
        _failures.append(what)
        print("FAILED:", what)
    return good


def succeeds(*args, **more):
    run = takt(*args, **more)
    expect(run.returncode == 0, f"takt {' '.join(args)} exits with {run.returncode}: {run.stderr}")
    return run.stdout


def fails(code, *args, says=(), **more):
    """The exit code, nothing on standard output, and all of `says` on standard error."""
    run = takt(*args, **more)
    call = "takt " + " ".join(args)
    expect(run.returncode == code, f"{call}: exit {run.returncode}, expected {code}: {run.stderr}")
    for words in says:
        expect(words in run.stderr, f"{call}: `{words}` is not in: {run.stderr}")
    return run.stderr


def parsed(*args, **more):
    """The JSON that a call prints."""
    text = succeeds(*args, **more)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        expect(False, f"takt {' '.join(args)}: {error}: {text[:200]}")
        return {}


def path(name):
    return os.path.join(TMP, name)


def write(name, content):
    with open(path(name), "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)
    return path(name)


def is_written(file):
    """Whether a result has been written. Takt first tests whether it can write the file: for a
    moment the file exists and is empty, and then is gone again."""
    try:
        return os.stat(file).st_size > 0
    except FileNotFoundError:
        return False


def npy(shape, values, descr="<f4", letter="f"):
    """The bytes of an .npy file."""
    sizes = ", ".join(str(size) for size in shape) + ("," if len(shape) == 1 else "")
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}"
    head = head.ljust(117) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
            + struct.pack(f"<{len(values)}{letter}", *values))


def read_npy(content, letter="f"):
    """Header text and values."""
    size = struct.unpack("<H", content[8:10])[0]
    data = content[10 + size:]
    return (content[10:10 + size].decode(),
            list(struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)))


def finish(code=0):
    sys.exit(1 if _failures else code)
