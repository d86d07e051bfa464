"""cases.py - the Python package in the build folder, without NumPy and with installed packages.

In a build with sanitizers the interpreter preloads their run-time library: with AddressSanitizer
all cases run once, with ThreadSanitizer those of threads.
"""
import os
import subprocess
import sys

from _runner import BUILD, EXTENSION, run_cases, sanitizer, skip

if not os.path.exists(EXTENSION):
    skip("the extension was not built: Python's headers are missing (python3-dev)")
PACKAGE = os.path.join(BUILD, "python")
# -S and an empty environment would still find packages next to the interpreter: blocks them by
# name.
BLOCKED = os.path.join(os.environ.get("TAKT_TEST_TMP", "/tmp"), "blocked")
for name in ("numpy", "onnx", "onnxruntime", "torch", "jax", "ml_dtypes"):
    os.makedirs(os.path.join(BLOCKED, name), exist_ok=True)
    with open(os.path.join(BLOCKED, name, "__init__.py"), "w", encoding="utf-8") as to:
        to.write(f"raise ImportError('{name} is kept away from this test')\n")
if sanitizer() is not None:
    files = "test_threads.py" if "tsan" in os.path.basename(sanitizer()) else "test*.py"
    sys.exit(not run_cases(sys.executable, "sanitized", BLOCKED + os.pathsep + PACKAGE, files))
good = run_cases(sys.executable, "alone", BLOCKED + os.pathsep + PACKAGE)
has_numpy = subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True,
                           check=False).returncode == 0
if has_numpy:
    good = run_cases(sys.executable, "with what is installed", PACKAGE) and good
sys.exit(not good)
