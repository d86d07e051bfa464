"""_runner.py - runs tests/python/cases with one interpreter and counts them."""
import os
import re
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
CASES = os.path.join(ROOT, "tests", "python", "cases")
EXTENSION = os.path.join(BUILD, "python", "takt", "_takt.abi3.so")
# The run-time library of a build with sanitizers, which the interpreter does not have.
PRELOAD = os.path.join(BUILD, "python", "preload")
TESTED = ("TAKT_TOOL", "TAKT_SAMPLES", "TAKT_ONNX_DATA")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def has_extension():
    return os.path.exists(EXTENSION) and sanitizer() is None


def sanitizer():
    """The path of the run-time library to preload; None for an ordinary build."""
    if not os.path.exists(PRELOAD):
        return None
    with open(PRELOAD, encoding="utf-8") as about:
        return about.read().strip()


def instrumented():
    """What an interpreter needs to load a library with sanitizers.

    Python's own allocator would hide mistakes in its blocks; memory that the interpreter never
    frees is not our leak.
    """
    is_thread = "tsan" in os.path.basename(sanitizer())
    return {"LD_PRELOAD": sanitizer(), "PYTHONMALLOC": "malloc", "TAKT_SANITIZED": "1",
            # The command of a build with ThreadSanitizer has a run-time library of its own.
            "TAKT_TOOL": "" if is_thread else os.path.join(BUILD, "takt-dynamic"),
            # PyTorch is C++, and deletes objects by the size of a base class; we have no C++.
            "ASAN_OPTIONS": "detect_leaks=0:strict_string_checks=1:allocator_may_return_null=1:"
                            "max_allocation_size_mb=2048:new_delete_type_mismatch=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "TSAN_OPTIONS": "halt_on_error=1:ignore_noninstrumented_modules=1"}


def environment(path=None):
    """Nothing of the caller's Python, and of Takt's flags none."""
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "TAKT_")) or key in TESTED}
    return {**kept, "TAKT_ROOT": ROOT, **({"PYTHONPATH": path} if path else {}),
            **(instrumented() if sanitizer() is not None else {})}


def run_cases(python, label, path=None, files="test*.py"):
    """True if all passed; skipped ones are reported with their reasons."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell's background job ignores Ctrl-C, and so would the processes that cases interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run = subprocess.run([python, "-X", "dev", "-W", "ignore", "-m", "unittest", "discover", "-v",
                          "-s", CASES, "-t", CASES, "-p", files], cwd=TMP,
                         env=environment(path), text=True, capture_output=True, check=False)
    told = run.stderr + run.stdout
    for row in re.findall(r"^.*\.\.\. skipped .*$", told, re.MULTILINE):
        print(f"{label}: {row}")
    print(f"{label}:", " ".join(told.strip().splitlines()[-3:]))
    if run.returncode != 0:
        print(told[-6000:])
    return run.returncode == 0
