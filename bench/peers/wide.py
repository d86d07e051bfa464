"""wide.py - `make peers ROWS=wide`: many architectures in Takt and in ONNX Runtime, alternately.

Rows are those of wide_models.py, exported by torch with random weights into build/peers/wide, and
the trained models of installed packages (wide_files.py); or with --models the files of a folder
(.onnx, or .hollow as hollow.py writes them). Each engine has
a process of its own for a row, and they take turns. Columns: both times, the ratio with its
interval, the verdict, the time to make a session and the memory of both; for a row behind, the
kind of step that loses most. Rows within 1.3 are measured against OpenVINO, ncnn (translated by
pnnx) and torch.compile, too, where those are installed. What cannot be imported, exported or
loaded is named and counted.

    python3 bench/peers/wide.py [--quick] [--limit S] [--only NAME,..] [--group G,..]
                                [--threads N,..] [--models DIR] [--write DIR] [--list] [--out DIR]
                                [--resume] [--renew] [--others NAME,..]
"""
import argparse
import datetime
import glob
import json
import os
import subprocess
import sys
import time

import engines
import lines
import wide_files
import wide_models
from machine import cpu
from process import Failed
from wide_row import FOLDER, Mode, Wide, line
from wide_table import markdown, slug

PACKAGES = ("onnxruntime", "torch", "torchvision", "timm", "transformers", "onnx", "onnxscript")


def options():
    parse = argparse.ArgumentParser(prog="make peers ROWS=wide", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parse.add_argument("--limit", type=float, default=0,
                       help="seconds, then rows are left out; default 3600, quick 600")
    parse.add_argument("--only", default="", help="rows by name, comma-separated")
    parse.add_argument("--group", default="", help="groups of rows, comma-separated")
    parse.add_argument("--threads", default="", help="numbers of threads; default 1 and all")
    parse.add_argument("--models", help="a folder of .onnx and .hollow files instead of exports")
    parse.add_argument("--write", help="only export, hollow files into this folder")
    parse.add_argument("--resume", action="store_true",
                       help="keep the rows that a stopped run of this commit has in the table")
    parse.add_argument("--renew", action="store_true",
                       help="keep the rows of the table that this run does not measure, with "
                            "the commit they are of")
    parse.add_argument("--others", default="all",
                       help="of openvino, ncnn and torch.compile those to measure rows within 1.3 "
                            "against, or none; default: what is installed")
    parse.add_argument("--list", action="store_true", help="the rows, and stop")
    parse.add_argument("--out", help="folder of the table; default bench/results for a whole run")
    return parse.parse_args()


def provide(arguments):
    """On the first interpreter that has numpy and onnxruntime: this one, or a virtual environment.
    For exports missing packages are installed into build/peers/venv, if registries can be reached.
    """
    if not (engines.has("numpy") and engines.has("onnxruntime")) and \
            os.environ.get("PEERS_TRIED") is None:
        os.environ["PEERS_TRIED"] = "1"
        there = _venv(os.environ.get("TAKT_VENV") or os.path.join(engines.ROOT, "build", "venv"),
                      "numpy, onnxruntime" if arguments.models else "numpy, onnxruntime, torch")
        if there is None and not (arguments.models or os.environ.get("PEERS_NO_INSTALL")):
            os.makedirs(engines.OUT, exist_ok=True)
            engines.install(lambda text: print(f"wide: {text}", flush=True), PACKAGES)
        there = there or _venv(engines.VENV, "numpy, onnxruntime")
        if there:
            os.execv(there, [there, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    missing = [m for m in ("numpy", "onnxruntime") if not engines.has(m)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed, here or in build/venv")
        sys.exit(0)
    absent = [m for m in PACKAGES if not engines.has(m)]
    if absent and not arguments.models:
        print(f"wide: without {', '.join(absent)}: rows that need them are counted as failed")


def _venv(folder, modules):
    """Its interpreter, if that has the modules."""
    python = os.path.join(folder, "bin", "python")
    found = os.access(python, os.X_OK) and subprocess.run(
        [python, "-c", f"import {modules}"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0
    return python if found else None


# ---- files ----

class Row:
    def __init__(self, name, group, path=None, entry=None):
        self.name, self.group, self.path, self.entry = name, group, path, entry


def rows_of(arguments):
    only, groups = (set(filter(None, text.split(",")))
                    for text in (arguments.only, arguments.group))
    if arguments.models:
        found = []
        for path in sorted(glob.glob(os.path.join(arguments.models, "*"))):
            name, ending = os.path.splitext(os.path.basename(path))
            if ending in (".onnx", ".hollow"):
                found.append(Row(name, group_of(name), path))
        order = {e.name: k for k, e in enumerate(wide_models.ROWS)}
        found.sort(key=lambda r: (order.get(r.name, len(order)), r.name))
    else:
        found = [Row(e.name, e.group, entry=e) for e in wide_models.ROWS]
        found += [Row(name, "packages", path) for name, path in wide_files.models()[0]]
    unknown = only - {r.name for r in found} | groups - {r.group for r in found}
    if unknown:
        sys.exit(f"wide: there is no row or group {', '.join(sorted(unknown))}; --list names them")
    return [r for r in found if (not only or r.name in only)
            and (not groups or r.group in groups)]


def group_of(name):
    return next((e.group for e in wide_models.ROWS if e.name == name), "files")


def file_of(row):
    """The row's ONNX file, made if it has to be; exports stay for the next time."""
    if row.path and row.path.endswith(".onnx"):
        return row.path
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, row.name + (".filled.onnx" if row.path else ".onnx"))
    if row.path:
        import hollow
        with open(path, "wb") as file:
            file.write(hollow.read(row.path))
    elif not os.path.exists(path):
        # in a separate process: exporters do not free what they allocated
        code = ("import sys, wide_models as w; "
                "w.export(next(e for e in w.ROWS if e.name == sys.argv[1]), sys.argv[2])")
        done = subprocess.run([sys.executable, "-c", code, row.name, path + ".part"],
                              cwd=engines.HERE, capture_output=True, text=True, check=False,
                              timeout=300)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Failed(f"no export: {last[:160]}")
        os.replace(path + ".part", path)
    return path


def write_hollow(rows, folder):
    """Every export without its weights, and their size in bytes."""
    import hollow
    os.makedirs(folder, exist_ok=True)
    total = failed = 0
    for row in rows:
        try:
            name = row.name.replace("/", "+") + hollow.ENDING
            size = hollow.of_onnx(file_of(row), os.path.join(folder, name))
            total += size
            print(f"{row.name:34} {size:9}", flush=True)
        except (Failed, ImportError, ValueError, subprocess.TimeoutExpired) as problem:
            failed += 1
            print(f"{row.name:34} {problem}", flush=True)
    print(f"{len(rows) - failed} files, {total} bytes; {failed} could not be made")


def commit():
    """The commit, and whether the measured code differs from it; tables are written meanwhile."""
    git = ["git", "-C", engines.ROOT]
    named = subprocess.run([*git, "describe", "--always"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    differs = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", ".", ":!bench/results"],
                             stderr=subprocess.DEVNULL, check=False).returncode == 1
    return named.stdout.strip() + ("-dirty" if differs else "")


def base_of(arguments, threads):
    """The path of the table without its ending."""
    whole = arguments.renew or not (arguments.quick or arguments.only or arguments.group
                                    or arguments.models)
    folder = arguments.out or (os.path.join(engines.ROOT, "bench", "results") if whole
                               else engines.OUT)
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, f"wide-{slug(cpu(), max(threads))}")


def stored(base):
    """The existing table, or {}."""
    try:
        with open(base + ".json", encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def renewed(before, result):
    """The new rows, and old rows that no new one replaces, in the old order."""
    new = {(r["row"], r["threads"]): r for r in result["rows"]}
    for row in before.get("rows", []):
        row.setdefault("commit", before.get("commit"))
    old = [new.pop((r["row"], r["threads"]), r) for r in before.get("rows", [])]
    rows = old + list(new.values())
    known = {r["row"] for r in rows} | {name for name, _ in result["failed"]}
    known |= {f"{r['row']} {r['threads']}T" for r in rows}
    left = dict.fromkeys(result["left_out"] + before.get("left_out", []))
    failed = [f for f in before.get("failed", []) if f[0] not in known]
    return {**result, "rows": rows, "failed": result["failed"] + failed,
            "left_out": [n for n in left if n not in known]}


def begun(base, result):
    """Rows and versions of a run of the same commit that was stopped."""
    before = stored(base)
    same = all(before.get(key) == result[key] for key in ("commit", "cpu", "quick", "threads"))
    return (before["rows"], before.get("versions", {})) if same else ([], {})


def touch_memory():
    """Pages that a virtual machine has not had before are slow; the first engine would pay."""
    try:
        len(b"1" * (1 << 30))
    except MemoryError:
        pass


def run(arguments, rows, threads, base):
    """Measures all rows; the JSON is written after each, so that a stopped run can continue."""
    limit = arguments.limit or (600 if arguments.quick else 3600)
    wide = Wide(Mode(arguments.quick, limit / max(1, len(rows) * len(threads))), arguments.others)
    deadline = time.monotonic() + limit
    touch_memory()
    result = {"made": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "commit": commit(), "cpu": cpu(), "quick": arguments.quick, "threads": threads,
              "rows": [], "versions": {}, "left_out": [], "failed": [],
              "absent": [] if arguments.models else wide_files.models()[1]}
    if arguments.resume:
        result["rows"], result["versions"] = begun(base, result)
    done = {(r["row"], r["threads"]) for r in result["rows"]}
    try:
        for row in rows:
            missing = [count for count in threads if (row.name, count) not in done]
            if missing and time.monotonic() > deadline:
                result["left_out"].append(row.name)
                continue
            try:
                path = file_of(row) if missing else row.path
                for count in missing:
                    if time.monotonic() > deadline:
                        result["left_out"].append(f"{row.name} {count}T")
                        continue
                    result["rows"].append(wide.measure(row, path, count))
                    result["versions"].update(wide.versions())
                    print(line(result["rows"][-1]), flush=True)
                    lines.write(base + ".json", result)
                if row.path and path != row.path:
                    os.remove(path)
            except (Failed, OSError, ValueError, subprocess.TimeoutExpired) as problem:
                why = str(problem)
                if row.path:  # where packages are installed is of no interest
                    why = why.replace(os.path.join(os.path.dirname(row.path), ""), "")
                result["failed"].append([row.name, why])
                print(f"{row.name:34} {why}", flush=True)
    finally:
        wide.close()
    return result


def main():
    arguments = options()
    rows = rows_of(arguments)
    if arguments.list:
        for row in rows:
            print(f"{row.group:10} {row.name}")
        return 0
    provide(arguments)
    if arguments.write:
        write_hollow(rows, arguments.write)
        return 0
    threads = sorted({int(t) for t in arguments.threads.split(",") if t}) or \
        sorted({1, len(os.sched_getaffinity(0))})
    base = base_of(arguments, threads)
    before = stored(base) if arguments.renew else {}
    try:
        result = run(arguments, rows, threads, base if not before else base + "-new")
    except engines.Missing as problem:
        sys.exit(f"wide: {problem}")
    if before:
        result = renewed(before, result)
        if os.path.exists(base + "-new.json"):
            os.remove(base + "-new.json")
    lines.write(base + ".json", result)
    with open(base + ".md", "w", encoding="utf-8") as file:
        file.write(markdown(result))
    print(markdown(result).split("\n\n")[1])
    print(f"table: {base}.md")
    return 0 if all(r["agree"] for r in result["rows"]) else 1


if __name__ == "__main__":
    sys.exit(main())
