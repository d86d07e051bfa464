"""instructions.py - runs of five workloads must not need 3 % more instructions than when recorded.

Callgrind counts what a run executes, without time and its noise: a pass that stops firing or a
kernel that is no longer chosen shows at once. A build for another machine is counted by QEMU and a
plugin (plugin/count.c); on one machine both agree to 0.1 %. Counts are of a warm run (the first
one also binds symbols) and belong to an instruction set and a compiler; those without a record are
skipped. `instructions.py --record` records them again, which is right if a slower-looking count was
shown to be faster, or after a gain, to keep it. `--qemu` counts a native build by QEMU as well and
compares.
"""
import json
import os
import platform
import re
import shutil
import subprocess
import sys

from _guard import ROOT, TMP, TOOL, cache, collected, execute, only_plain_release, skip

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


def machine():
    """The architecture of the build: the host's, or that of a cross-compiler."""
    found = re.search(r"(\w+)\.cmake$", cache("CMAKE_TOOLCHAIN_FILE"))
    return found.group(1) if found else platform.machine()


def key():
    """The instruction set and the compiler that this count is for."""
    compiler = cache("CMAKE_C_COMPILER") or os.environ.get("CC", "cc")
    if machine() != platform.machine():
        compiler = f"{machine()}-linux-gnu-gcc"
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True,
                          check=False).stdout
    major = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True,
                           check=False).stdout.split(".")[0].strip()
    return f"{ISA[machine()]} {'clang' if 'clang' in text else 'gcc'}-{major}"


def line(name, repeat):
    """The command: a number of runs of a workload."""
    return [TOOL, "run", *WORKLOADS[name], "--random", "--quiet", "--threads", "1", "--isa",
            ISA[machine()], "--repeat", str(repeat)]


def warm(total):
    """One warm run, from the difference of four runs and two. Counting only within takt_session_run
    would be simpler, but callgrind misses its end after kernels that jump, and counts the digest of
    the results as well."""
    return (total(4) - total(2)) // 2


def by_callgrind(name):
    return warm(lambda runs: collected(*line(name, runs))[0])


def plugin():
    """The plugin, built for this machine; None if QEMU or a compiler is missing."""
    out = os.path.join(TMP, "count.so")
    if shutil.which(f"qemu-{machine()}") is None:
        return None
    built = subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", out,
                            os.path.join(ROOT, "tests", "guard", "plugin", "count.c")],
                           capture_output=True, check=False)
    return out if built.returncode == 0 else None


def by_qemu(name, path):
    options = [f"qemu-{machine()}", "-cpu", "max", "-plugin", path]
    if machine() != platform.machine():
        options += ["-L", f"/usr/{machine()}-linux-gnu"]
    return warm(lambda runs: int(re.search(
        r"^instructions: (\d+)$", execute(*options, *line(name, runs)), re.MULTILINE).group(1)))


def count_all():
    if machine() == platform.machine():
        if shutil.which("valgrind") is None:
            skip("valgrind is not installed")
        return {name: by_callgrind(name) for name in WORKLOADS}
    path = plugin()
    if path is None:
        skip(f"a build for {machine()} is counted by qemu-{machine()}, which is not installed")
    return {name: by_qemu(name, path) for name in WORKLOADS}


def compare_methods():
    """Callgrind and QEMU must agree: otherwise a record by one is not valid for the other."""
    worst, path = 0, plugin()
    for name in WORKLOADS if path is not None else ():
        one, other = by_callgrind(name), by_qemu(name, path)
        worst = max(worst, abs(other / one - 1))
        print(f"{name:18} {one:12} by callgrind, {other:12} by QEMU, "
              f"{100 * other / one - 100:+.3f} %")
    return 0 if path is not None and worst < 0.005 else 1


def main():
    if machine() not in ISA:
        skip(f"no instruction set is agreed for {machine()}")
    only_plain_release()
    with open(RECORD, encoding="utf-8") as file:
        records = json.load(file)
    if "--qemu" in sys.argv:
        return compare_methods()
    counts = count_all()
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
