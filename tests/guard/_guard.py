"""_guard.py - shared by the guards: the build that is counted, and runs of it under callgrind."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TAKT_BUILD_DIR", os.path.join(ROOT, "build", "release"))
TOOL = os.environ.get("TAKT_TOOL", os.path.join(BUILD, "takt"))
TMP = os.environ.get("TAKT_TEST_TMP", BUILD)
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def cache(name):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(rf"^{name}:\w+=(.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else ""


def only_plain_release():
    if cache("CMAKE_BUILD_TYPE") not in ("", "Release") or cache("TAKT_SANITIZE") \
            or cache("TAKT_FLAGS") \
            or "ON" in (cache("TAKT_NATIVE"), cache("CMAKE_INTERPROCEDURAL_OPTIMIZATION")):
        skip("only the plain release build is counted")


def execute(*command):
    """Standard error of a command that must succeed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stderr


def collected(*command, options=()):
    """The counts of callgrind: instructions, and more if `options` request it."""
    said = execute("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options,
                   *command)
    return [int(word) for word in re.search(r"Collected : ([\d ]+)", said).group(1).split()]
