"""templates_slow.py - the chat templates that come with llama.cpp, out of PyPI's sources of
llama-cpp-python, against jinja2 in twelve conversations each (templates.py): at least 66 of 70 have
the same text, or are refused by both. Needs the package jinja2, and PyPI."""
import os
import re
import subprocess
import sys

from _library import in_venv
from _pypi import sources

try:
    import jinja2  # pylint: disable=unused-import
except ImportError:
    in_venv("jinja2")

LEAST = 66 / 70
folder = sources("llama-cpp-python", "vendor/llama.cpp/models/templates")
here = os.path.dirname(os.path.abspath(__file__))
said = subprocess.run([sys.executable, "-B", os.path.join(here, "templates.py")], text=True,
                      env={**os.environ, "TAKT_TEMPLATES": folder}, capture_output=True,
                      check=False).stdout
results = dict(re.findall(r"^(\S+\.jinja) (\{.*\})$", said, re.MULTILINE))
good = [name for name, counts in results.items() if "differs" not in counts]
print(said)
print(f"{len(good)} of {len(results)} as jinja2; not {sorted(set(results) - set(good))}")
sys.exit(len(results) < 70 or len(good) < LEAST * len(results))
