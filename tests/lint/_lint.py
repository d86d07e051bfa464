"""_lint.py - shared by the lints: locations of files, and counting of complaints."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release"))
_complaints = []


def files(*endings, under=""):
    """Paths, relative to the root, of files that are or could be committed."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", under or "."],
                            cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        paths = listed.stdout.splitlines()
    else:
        paths = [os.path.relpath(os.path.join(folder, name), ROOT)
                 for folder, _, names in os.walk(os.path.join(ROOT, under)) for name in names]
    return sorted(path for path in set(paths) if path.endswith(endings)
                  and not path.startswith("build/") and os.path.isfile(os.path.join(ROOT, path)))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def is_table(path):
    """Row files, as opposed to code in .inc: parts of a file, and templates."""
    function = r"^static [^=;]*\)\n\{"
    return path.endswith(".inc") and not re.search(function, read(path), re.MULTILINE)


def complain(text):
    _complaints.append(text)
    print(text)


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def finish():
    """Exit with 1 if there were complaints."""
    sys.exit(1 if _complaints else 0)
