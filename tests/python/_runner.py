"""_runner.py - runs tests/python/cases with one interpreter and counts them."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
CASES = os.path.join(ROOT, "tests", "python", "cases")
EXTENSION = os.path.join(BUILD, "python", "takt", "_takt.abi3.so")
TESTED = ("TAKT_TOOL", "TAKT_SAMPLES", "TAKT_FUZZ_ARGS", "TAKT_FUZZ_SEED", "TAKT_ONNX_DATA")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def has_extension():
    return os.path.exists(EXTENSION)


def environment(path=None):
    """Nothing of the caller's Python, and of Takt's flags none."""
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "TAKT_")) or key in TESTED}
    return {**kept, "TAKT_ROOT": ROOT, **({"PYTHONPATH": path} if path else {})}


def run_cases(python, label, path=None):
    """True if all passed; skipped ones are told with their reasons."""
    run = subprocess.run([python, "-X", "dev", "-W", "ignore", "-m", "unittest", "discover", "-v",
                          "-s", CASES, "-t", CASES], cwd=TMP, env=environment(path), text=True,
                         capture_output=True, check=False)
    told = run.stderr + run.stdout
    for row in re.findall(r"^.*\.\.\. skipped .*$", told, re.MULTILINE):
        print(f"{label}: {row}")
    print(f"{label}:", " ".join(told.strip().splitlines()[-3:]))
    if run.returncode != 0:
        print(told[-6000:])
    return run.returncode == 0
