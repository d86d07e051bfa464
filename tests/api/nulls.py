"""nulls.py - every public function with NULL for each pointer and numbers out of range for each
number: an error or nothing, never a crash.

The functions and their parameters are read from include/takt/*.h, so a new one is tried as soon as
it is declared. Each call is made in a child of its own, through the shared library."""
import ctypes
import glob
import os
import re
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release"))
LIBRARY = os.path.join(BUILD, "libtakt-measure.so")  # and, with it, libtakt.so

# Numbers that say how much memory is behind a pointer: the library cannot check them.
SIZES_OF_MEMORY = {"length", "count", "bytes", "size", "capacity", "most", "arena_bytes"}
# They measure, train or wait for a given time, whatever else they are given.
SLOW = re.compile(r"takt_(bench|load|compare|machine|ceil|environment|seeds|peak|measure|time|train"
                  r"|topology|counter|count_|cpu_confine|cpu_mask|set_affinity)")
# Not yet covered, like the header text.h that they came with.
LATER = re.compile(r"takt_(generat|embed|token|detoken|model_sized)")
# Objects that a caller must have: without one, a function with a status fails.
NEEDED = {"takt_ctx", "takt_model", "takt_plan", "takt_session"}
# Functions that document NULL as valid for one of them.
TAKES_NULL = {("takt_session_random", "view"), ("takt_resource_usage", "ctx"),
              ("takt_npz_save", "names"), ("takt_session_reshape", "model"),
              ("takt_session_fit", "model")}


def declarations():
    """(result, name, [(type, name, is_pointer)]) of every public function."""
    for path in sorted(glob.glob(os.path.join(ROOT, "include", "takt", "*.h"))):
        text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
        text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M | re.S)
        for found in re.finditer(r"TAKT_API\s+([^;{}()]*?)\b(takt_\w+)\s*\(([^;{}]*?)\)\s*;", text):
            result, name, inside = (" ".join(part.split()) for part in found.groups())
            result = re.sub(r"TAKT_\w+(\([^)]*\))?", "", result).strip()
            yield result, name, [parameter(one) for one in split(inside)]


def split(inside):
    parts, depth, start = [], 0, 0
    for at, char in enumerate(inside):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(inside[start:at])
            start = at + 1
    parts.append(inside[start:])
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def parameter(text):
    is_pointer = "*" in text or "[" in text or "(" in text
    name = re.search(r"(\w+)\s*(\[[^\]]*\])*$", text)
    return text, name.group(1) if name else text, is_pointer


class World:
    """A context, a model, its plan and a session; and memory for everything else."""

    def __init__(self, lib):
        self.kept = []
        self.objects = {}
        text = b"model m(x: f32[2]) { return y = relu(x) }\n"
        ctx, model, plan, session = (ctypes.c_void_p() for _ in range(4))
        assert lib.takt_ctx_create(None, ctypes.byref(ctx)) == 0
        assert lib.takt_model_load_memory(ctx, b"m", text, ctypes.c_size_t(len(text)), None,
                                          ctypes.byref(model)) == 0
        assert lib.takt_plan_create(model, None, ctypes.byref(plan)) == 0
        assert lib.takt_session_create(plan, None, ctypes.byref(session)) == 0
        self.objects = {"takt_ctx": ctx, "takt_model": model, "takt_plan": plan,
                        "takt_session": session}
        self.callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: 1)

    def value(self, text, name, is_pointer):
        if not is_pointer:
            return number(text, 0)
        if "_fn *" in text or "(*" in text:
            return ctypes.cast(self.callback, ctypes.c_void_p)
        base = re.sub(r"\bconst\b|\bstruct\b", "", text).split()[0].rstrip("*")
        if text.count("*") == 1 and base in self.objects:
            return self.objects[base]
        if text.count("*") == 1 and base == "char" and "const" in text:
            return ctypes.c_char_p(b"x")
        room = ctypes.create_string_buffer(1 << 16)
        self.kept.append(room)
        return ctypes.cast(room, ctypes.c_void_p)


def number(text, value):
    if "double" in text or "float" in text:
        return ctypes.c_double(value)
    return ctypes.c_uint64(value & (1 << 64) - 1)


def call(lib, world, result, name, args):
    """The status, or None, of one call in a child; a negative number: the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            sys.stdout.flush()
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            signal.alarm(20)
            function = getattr(lib, name)
            function.restype = (ctypes.c_int if result == "takt_status" else
                                ctypes.c_double if result == "double" else ctypes.c_void_p)
            status = function(*args)
            code = (1 if status != 0 else 0) if result == "takt_status" else 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def opaque_without_object(params, world):
    """An object that takes many calls to make: the pointer passed in its place is invalid."""
    for text, _, is_pointer in params:
        base = re.sub(r"\bconst\b|\bstruct\b", "", text).split()[0].rstrip("*")
        if is_pointer and text.count("*") == 1 and base in OPAQUE and base not in world.objects:
            return text
    return None


OPAQUE, STRUCTS = set(), set()


def main():
    if not os.path.exists(LIBRARY):
        print("no", LIBRARY)
        return 77
    lib = ctypes.CDLL(os.path.abspath(LIBRARY))
    os.chdir(os.environ.get("TAKT_TEST_TMP", "/tmp"))  # some calls write a file called x
    for path in glob.glob(os.path.join(ROOT, "include", "takt", "*.h")):
        text = open(path, encoding="utf-8").read()
        OPAQUE.update(re.findall(r"typedef struct (takt_\w+) \1;", text))
        STRUCTS.update(re.findall(r"typedef struct (takt_\w+) \{", text))
    world = World(lib)
    functions, calls, failures = 0, 0, []
    for result, name, params in declarations():
        if SLOW.match(name) or LATER.match(name) or not hasattr(lib, name):
            continue
        if any(not is_pointer and text.split()[0] in STRUCTS for text, _, is_pointer in params):
            continue  # a struct by value cannot be constructed here
        functions += 1
        needs = opaque_without_object(params, world)
        for i, (text, called, is_pointer) in enumerate(params):
            base = re.sub(r"\bconst\b|\bstruct\b", "", text).split()[0].rstrip("*")
            if needs is not None and text != needs:
                continue
            if is_pointer:
                tries = [None]
            elif called in SIZES_OF_MEMORY or name.endswith("_size"):
                continue
            else:
                tries = [number(text, value) for value in (-1, 2**31 - 1, -2**63, 2**63 - 1)]
            for value in tries:
                args = [world.value(*one) for one in params]
                args[i] = value
                got = call(lib, world, result, name, args)
                calls += 1
                if got < 0 or got == 99:
                    failures.append(f"{name}: {called} = {value}: signal {-got}")
                elif (value is None and result == "takt_status" and got == 0 and
                      (base in NEEDED or text.count("*") == 2) and
                      (name, called) not in TAKES_NULL and "destroy" not in name):
                    failures.append(f"{name}: {called} = NULL is taken")
    for failure in failures:
        print("FAILED:", failure)
    print(f"{functions} functions, {calls} calls, {len(failures)} failures")
    if functions < 80:
        print("FAILED: only", functions, "functions were found in the headers")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
