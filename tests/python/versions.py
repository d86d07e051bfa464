"""versions.py - the wheel made with this Python, under newer ones: `make python-versions`.

Packages of Debian's newer releases are fetched by apt into build/python-versions, without root and
without touching what is installed; each interpreter runs by the loader and libraries it came with.
The result is a row of trust/ledger.tsv.
"""
import glob
import os
import platform
import subprocess
import sys
import time
import zipfile

from _debian import unpack
from _runner import ROOT, has_extension, run_cases, skip
from _wheel import build, install, make_environment

VERSIONS = {"3.13": "trixie", "3.14": "sid", "3.15": "sid"}
TRIPLE = platform.machine() + "-linux-gnu"
# What an interpreter loads; of what Debian calls its dependencies the rest serves installing it.
PACKAGES = """python{v} python{v}-minimal libpython{v}-minimal libpython{v}-stdlib libc6 libexpat1
    libssl3t64 zlib1g libbz2-1.0 liblzma5 libffi8 libsqlite3-0 libuuid1 libzstd1 libgcc-s1
    libreadline8t64 libtinfo6 libncursesw6 media-types tzdata"""


def interpreter(version, root):
    """A script that starts it; it names itself, so that what the cases start is the same one."""
    path = os.path.join(root, "python")
    libraries = ":".join(os.path.join(root, folder, TRIPLE) for folder in ("lib", "usr/lib"))
    loader = [found for pattern in ("lib/ld-linux*", "lib64/ld-linux*", "usr/lib/ld-linux*",
                                    f"usr/lib/{TRIPLE}/ld-linux*")
              for found in glob.glob(os.path.join(root, pattern))
              if os.path.exists(os.path.realpath(found))]
    with open(path, "w", encoding="utf-8") as to:
        to.write(f"#!/bin/sh\nPYTHONHOME={root}/usr exec {loader[0]} --argv0 {path} --library-path "
                 f"{libraries} {root}/usr/bin/python{version} \"$@\"\n")
    os.chmod(path, 0o755)
    return path


def numpy(version, root, builder):
    """A folder with NumPy for that version; None if PyPI has none."""
    folder = os.path.join(root, "numpy")
    return folder if install(builder, "--target", folder, "--python-version", version,
                             "--only-binary=:all:", "numpy") else None


def check(version, suite, wheel, builder):
    """passed, failed or absent."""
    root = unpack(version, suite, PACKAGES.format(v=version).split())
    if root is None:
        return "absent"
    python = interpreter(version, root)
    package = os.path.join(root, "package")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)
    os.chmod(os.path.join(package, "takt", "bin", "takt"), 0o755)
    full = subprocess.run([python, "-VV"], capture_output=True, text=True, check=False).stdout
    print(version, "is", full.strip() or "not to be started", flush=True)
    good = run_cases(python, f"{version} alone", package)
    beside = numpy(version, root, builder)
    if beside is None:
        print(f"{version} with NumPy: skipped: PyPI has no wheel for it")
    else:
        good = run_cases(python, f"{version} with NumPy", package + os.pathsep + beside) and good
    return "passed" if good else "failed"


def record(results, seconds):
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                            capture_output=True, check=False).stdout.strip()
    told = ", ".join(f"{version} {result}" for version, result in results.items())
    failed = sum(result == "failed" for result in results.values())
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with open(os.path.join(ROOT, "trust", "ledger.tsv"), "a", encoding="utf-8") as to:
        to.write(f"{now}\t{commit}\tone wheel under newer Pythons, {platform.machine()}: {told}; "
                 "free-threaded: not run by us\t"
                 f"python-versions\t{len(results)}\t{seconds:.0f}\t-\t{failed}\t-\n")


def main():
    start = time.monotonic()
    if not has_extension():
        skip("the extension was not built: Python's headers are missing (python3-dev)")
    builder = make_environment("builder")
    if builder is None or not install(builder, "scikit-build-core"):
        skip("no virtual environment with scikit-build-core can be made")
    wheel = build(builder)
    if wheel is None:
        return 1
    results = {version: check(version, suite, wheel, builder)
               for version, suite in VERSIONS.items()}
    record(results, time.monotonic() - start)
    for version, result in results.items():
        print(f"{version}: {result}")
    return "failed" in results.values()


if __name__ == "__main__":
    sys.exit(main())
