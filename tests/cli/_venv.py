"""_venv.py - tests that need packages of PyPI run here, in build/venv, or are skipped."""
import os
import sys


def instead(packages):
    """Starts the test again with build/venv's Python; skips it if that lacks `packages` too."""
    python = os.path.join(os.environ.get("TAKT_VENV", "build/venv"), "bin", "python")
    if os.path.exists(python) and os.environ.get("TAKT_IN_VENV") is None:
        os.environ["TAKT_IN_VENV"] = "1"
        os.execv(python, [python, "-B", os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    print(f"skipped: {packages} is not installed; pip install {packages} in build/venv gets it")
    sys.exit(77)
