"""instructions.py - runs of five workloads must not need 3 % more instructions than when recorded.

Callgrind counts what a run executes, without time and its noise: a pass that stops firing or a
kernel that is no longer chosen shows at once. The counts belong to an instruction set and a
compiler; those without a record are skipped. `instructions.py --record` records them anew, which
is right if a slower-looking count was shown to be faster, or after a gain, to keep it.
"""
import json
import os
import platform
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release"))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(BUILD, "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", BUILD)
RECORD = os.path.join(ROOT, "tests", "guard", "instructions.json")
ISA = {"aarch64": "neon", "x86_64": "avx2"}  # what valgrind understands everywhere
ALLOWED = 1.03
WORKLOADS = {
    "mlp_b1": ["examples/mlp.takt"],
    "mlp_b32": ["examples/mlp.takt", "-D", "batch=32"],
    "encoder_s32": ["examples/encoder.takt", "-D", "seq=32"],
    "resnet18_block": ["bench/models/resnet18_block.takt"],
    "mobilenet_v1_025": ["bench/models/mobilenet_v1_025.takt"],
}
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def cache(name):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(rf"^{name}:\w+=(.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else ""


def key():
    """The instruction set and the compiler, whose count this is."""
    compiler = os.environ.get("CC", "cc")
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True,
                          check=False).stdout
    major = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True,
                           check=False).stdout.split(".")[0].strip()
    return f"{ISA[platform.machine()]} {'clang' if 'clang' in text else 'gcc'}-{major}"


def count(name):
    """Instructions of two runs, nothing before or after them."""
    out = os.path.join(TMP, f"{name}.callgrind")
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
         "--toggle-collect=takt_session_run", TOOL, "run", *WORKLOADS[name], "--random", "--quiet",
         "--threads", "1", "--isa", ISA[platform.machine()], "--repeat", "2"],
        cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name}: failed under valgrind:\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    with open(out, encoding="utf-8") as file:
        return int(re.search(r"^totals: (\d+)$", file.read(), re.MULTILINE).group(1))


def main():
    if shutil.which("valgrind") is None:
        skip("valgrind is not installed")
    if platform.machine() not in ISA:
        skip(f"no instruction set is agreed for {platform.machine()}")
    if cache("CMAKE_BUILD_TYPE") not in ("", "Release") or cache("TAKT_SANITIZE") \
            or cache("TAKT_FLAGS") \
            or "ON" in (cache("TAKT_NATIVE"), cache("CMAKE_INTERPROCEDURAL_OPTIMIZATION")):
        skip("only the plain release build is counted")
    with open(RECORD, encoding="utf-8") as file:
        records = json.load(file)
    counts = {name: count(name) for name in WORKLOADS}
    if "--record" in sys.argv:
        records[key()] = counts
        with open(RECORD, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1, sort_keys=True)
            file.write("\n")
    if key() not in records:
        skip(f"nothing is recorded for {key()}: instructions.py --record does")
    worse = 0
    for name, now in counts.items():
        before = records[key()][name]
        bad = now > ALLOWED * before
        worse += bad
        print(f"{name:18} {now:12} instructions, recorded {before:12}, "
              f"{100 * now / before - 100:+.2f} %{'  TOO MANY' if bad else ''}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
