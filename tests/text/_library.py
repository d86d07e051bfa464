"""_library.py - libtakt.so and a context of it, for tests in Python; skipped without it."""
import ctypes
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build/release"))
TMP = os.environ.get("TAKT_TEST_TMP", "/tmp")
PYTHON = os.path.join(os.environ.get("TAKT_VENV", os.path.join(ROOT, "build/venv")), "bin/python")


def in_venv(packages):
    """Runs the test with build/venv's Python, if that has the packages; else it is skipped."""
    if os.path.exists(PYTHON) and sys.executable != PYTHON and subprocess.run(
            [PYTHON, "-c", f"import {packages}"], capture_output=True, check=False).returncode == 0:
        sys.exit(subprocess.run([PYTHON, "-B", *sys.argv], check=False).returncode)
    print(f"skipped: {packages} not in build/venv")
    sys.exit(77)


def load():
    path = os.path.join(BUILD, "libtakt.so")
    if not os.path.exists(path):
        print(f"skipped: {path} is not built")
        sys.exit(77)
    library = ctypes.CDLL(path)
    library.takt_last_error.restype = ctypes.c_char_p
    library.takt_generator_scores.restype = ctypes.POINTER(ctypes.c_float)
    context = ctypes.c_void_p()
    library.takt_ctx_create(None, ctypes.byref(context))
    return library, context


takt, ctx = load()


def failure():
    return ValueError(takt.takt_last_error(ctx).decode())
