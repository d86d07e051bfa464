"""rows.py - executes every row of docs/from-the-guides.md; every block of the guides is there.

Set TAKT_GUIDES to the folder of the guides to count their blocks again as well.
"""
import collections
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

from _count import listing

sys.path.append("tests/cli")
import _ceilings  # noqa: E402

TOOL, TMP = os.environ["TAKT_TOOL"], pathlib.Path(os.environ["TAKT_TEST_TMP"])
BUILD, ROOT = os.environ["TAKT_BUILD_DIR"], pathlib.Path.cwd()
HERE = ROOT / "tests/guides"
# Features that Takt does not have yet, and machines that we do not have.
LATER = {"16 bits on CUDA", "tensor cores", "WebAssembly", "several devices"}
HARDWARE = {"Metal", "macOS", "TPU"}
# A program, a library or an instruction set that this machine lacks, by its message.
LACKS = {"TAKT8004": "counters", "not permitted": "perf", "No permission": "perf",
         "perf_event_paranoid": "perf", "libjemalloc.so.2' from LD_PRELOAD": "jemalloc",
         "TAKT4004": "a BLAS library", "No module named 'takt": "the Python package",
         "this machine cannot run": "an instruction set"}


def rows():
    """(block, command, text) of every row of the tables."""
    for line in (ROOT / "docs/from-the-guides.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.match(r"\d{3}\.", cells[0]):
            if len(cells) != 4:
                sys.exit(f"FAIL a row of {len(cells)} cells: {line}")
            yield cells[0], cells[2].strip("`"), line.rsplit("|", 2)[1].strip().strip("`")


def npy(name, dims, fortran):
    values = [float(i % 11) / 11 for i in range(dims[0] * dims[1])]
    head = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': ({dims[0]}, {dims[1]}), }}"
    head = head.ljust(117) + "\n"
    (TMP / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                             + struct.pack(f"<{len(values)}f", *values))


def prepare():
    """The folder that the document describes."""
    shutil.rmtree(TMP, ignore_errors=True)
    shutil.copytree(HERE / "models", TMP)
    for name, source in (("model", "mlp"), ("model_v2", "mlp"), ("cnn", "cnn")):
        shutil.copy(ROOT / f"examples/{source}.takt", TMP / f"{name}.takt")
    npy("x.npy", (100, 784), False)
    npy("fortran.npy", (100, 784), True)
    npy("one.npy", (1, 784), False)
    (TMP / "benchmark_config.json").write_text('{"threads": 1, "seed": 3}')
    (TMP / "comparison_config.json").write_text('{"duration": "0.3", "threads": 1}')
    (TMP / "targets.json").write_text(
        '{"model": "model.takt", "latency": "1s", "memory": "64M"}')
    (TMP / "bin").mkdir()
    (TMP / "bin/takt").symlink_to(TOOL)
    # Mirrors of flags must not leak in; the programs look for examples/ from the root.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("TAKT_")}
    _ceilings.keep(TOOL, TMP / "cache")
    return dict(clean, XDG_CACHE_HOME=str(TMP / "cache"), TAKT_ROOT=str(ROOT),
                PYTHONPATH=f"{BUILD}/python",
                PATH=f"{TMP / 'bin'}:{os.environ['PATH']}")


def execute(command, environment):
    """Status and output of a row."""
    program = re.fullmatch(r"(\d{3})\.c (\w+)", command)
    words = [f"{BUILD}/guides_{program[1]}", program[2]] if program else ["bash", "-c", command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=TMP, env=environment,
                          timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def missing(command, code, output):
    """The reason why a row could not run on this machine; None: there is none."""
    first = next(word for word in command.split() if "=" not in word)
    if shutil.which(first) is None and first in ("perf", "valgrind", "ms_print", "python3", "make"):
        return first
    for words, what in LACKS.items():
        if words in output and (code != 0 or what == "jemalloc"):
            return what
    return None


def check_blocks(seen):
    """Every block has its row, and every row its block; how many are wrong."""
    wrong = 0
    known = [line.split("\t")[0] for line in (HERE / "blocks.txt").read_text().splitlines()]
    for block in sorted(set(known) ^ {name for name in seen if not name.endswith(".words")}):
        print(f"FAIL {block}: " + ("has no row" if block in known else "is not a block"))
        wrong += 1
    folder = os.environ.get("TAKT_GUIDES")
    if folder and list(listing(folder)) != (HERE / "blocks.txt").read_text().splitlines():
        print("FAIL blocks.txt is not what _count.py says of", folder)
        wrong += 1
    return wrong, len(known)


def main():
    environment = prepare()
    failures, executed, skipped, results, seen = 0, 0, collections.Counter(), {}, set()
    for block, command, text in rows():
        seen.add(block)
        kind, _, what = command.partition(": ")
        if kind in ("later", "hardware"):
            if what not in (LATER if kind == "later" else HARDWARE):
                print(f"FAIL {block}: {command} is not a known reason")
                failures += 1
            skipped[command] += 1
            continue
        if command not in results: # several rows may show parts of one output
            results[command] = execute(command, environment)
        code, output = results[command]
        good = (0, 5) if "benchmark compare" in command else (0,)
        if code in good and text in output and "from LD_PRELOAD" not in output:
            executed += 1
        elif missing(command, code, output):
            skipped["here: " + missing(command, code, output)] += 1
        else:
            failures += 1
            print(f"FAIL {block}: {command}: status {code}, no {text!r}\n{output}")
    wrong, blocks = check_blocks(seen)
    print(f"{blocks} blocks and commands, {executed + sum(skipped.values()) + failures} rows: "
          f"{executed} executed, {failures} failed, {sum(skipped.values())} skipped")
    for reason, count in sorted(skipped.items()):
        print(f"  {count} {reason}")
    sys.exit(failures + wrong > 0)


main()
