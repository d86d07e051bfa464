"""references_slow.py - no case keeps a reference: each runs four times under a debug interpreter.

The extension is compiled against the headers of Debian's debug interpreter, so that its
references are counted, and `sys.gettotalrefcount` must be the same after the last two runs.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

from _debian import unpack
from _runner import BUILD, CASES, ROOT, environment, has_extension, skip

PACKAGES = ["python3.11-dbg", "libpython3.11-dbg", "python3.11", "python3.11-minimal",
            "libpython3.11-minimal", "libpython3.11-stdlib", "libpython3.11-dev"]
COUNT = """
import gc, io, sys, unittest

def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        elif type(test).__name__ != "ModuleSkipped":
            yield test.id()

def once(name):
    result = unittest.TextTestRunner(stream=io.StringIO()).run(
        unittest.defaultTestLoader.loadTestsFromName(name))
    for _, text in result.failures + result.errors:
        print("failed:", name, text)
    del result
    for _ in range(3):
        gc.collect()
    return sys.gettotalrefcount()

if __name__ == "__main__":
    cases = sys.argv[1]
    names = list(flat(unittest.defaultTestLoader.discover(cases, top_level_dir=cases)))
    for name in names:
        if not name.endswith("test_start_methods"):  # it needs a main module of its own
            counts = [once(name) for _ in range(4)]
            if counts[3] - counts[2] > 5 and counts[2] - counts[1] > 5:
                print("failed:", name, "keeps", counts[3] - counts[2], "references")
    print(len(names), "cases, four times each")
"""


def compile_extension(root, package):
    """Next to a copy of the package, against the headers of the debug build."""
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(os.path.join(BUILD, "python", "takt"), os.path.join(package, "takt"),
                    ignore=shutil.ignore_patterns("*.so"))
    sources = glob.glob(os.path.join(ROOT, "bind", "python", "src", "*.c"))
    include = os.path.join(root, "usr", "include")
    subprocess.run(["gcc", "-std=c11", "-O1", "-fPIC", "-shared", f"-I{include}/python3.11d",
                    f"-I{include}", f"-I{ROOT}/include", f"-I{ROOT}/bind/python/src", *sources,
                    "-o", os.path.join(package, "takt", "_takt.so"), f"-L{BUILD}",
                    "-l:libtakt-measure.so", "-l:libtakt.so", f"-Wl,-rpath,{BUILD}"], check=True)


def main():
    if not has_extension():
        skip("the extension was not built: Python's headers are missing (python3-dev)")
    root = unpack("references", "bookworm", PACKAGES)
    if root is None:
        skip("Debian's debug interpreter cannot be fetched")
    package = os.path.join(root, "package")
    compile_extension(root, package)
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "count.py")
        with open(script, "w", encoding="utf-8") as to:
            to.write(COUNT)
        told = subprocess.run([os.path.join(root, "usr", "bin", "python3.11-dbg"), script, CASES],
                              env={**environment(package), "PYTHONHOME": os.path.join(root, "usr")},
                              cwd=folder, capture_output=True, text=True, check=False)
    print(told.stdout[-4000:] + told.stderr[-4000:], end="")
    return told.returncode != 0 or "failed:" in told.stdout


if __name__ == "__main__":
    sys.exit(main())
