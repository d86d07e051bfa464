"""_fuzz.py - gives callables random arguments, as scripts/python-fuzz asks on standard input.

A line is `NAME FIRST COUNT SECONDS`: COUNT lists of arguments, or as many as fit into the seconds,
drawn as those after the first FIRST. The answer is `NAME LISTS FINDINGS` and a line per finding. A
crash ends the process; the line that it read last says which callable it was. Its own arguments
are the processors that it may use.
"""
import contextlib
import gc
import os
import random
import sys
import tempfile
import time
import warnings

os.sched_setaffinity(0, [int(core) for core in sys.argv[1:]] or os.sched_getaffinity(0))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases"))
import test_fuzz as cases

RENEWED = 1024  # lists of arguments for one object: some of its methods end it


def get(name):
    """The callable of that name, of a new object if it is a method."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    label = name.partition(".")[0]
    return dict(cases.methods(label, cases.OBJECTS[label]()))[name]


def answer(name, first, count, seconds):
    done, found, end = 0, [], time.monotonic() + seconds
    while done < count and (done == 0 or time.monotonic() < end):
        rng = random.Random(f"{name} {first + done}")
        tried, wrong = cases.fuzz(rng, name, get(name), min(RENEWED, count - done),
                                  end - time.monotonic())
        done, found = done + tried, found + wrong[:3]
    return done, found


FUNCTIONS = dict(cases.functions())
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w", encoding="utf-8") as nowhere:
    os.chdir(folder)  # a file for arguments that are paths
    os.dup2(nowhere.fileno(), 1)
    warnings.simplefilter("ignore")
    gc.freeze()
    print(*(name for name, _ in cases.targets()), file=ANSWERS, flush=True)
    with contextlib.redirect_stdout(nowhere):
        for line in sys.stdin:
            words = line.split()
            done, found = answer(words[0], int(words[1]), int(words[2]), float(words[3]))
            print(words[0], done, len(found), file=ANSWERS)
            for text in found:
                print(text.replace("\n", " "), file=ANSWERS)
            ANSWERS.flush()
    os.chdir("/")
