"""fuzz.py - scripts/fuzz: rows, reproducible findings, and machines that were suspended."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import types

from _cli import ROOT, expect, finish, path

LOADER = importlib.machinery.SourceFileLoader("fuzz", os.path.join(ROOT, "scripts", "fuzz"))
fuzz = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz", LOADER))
LOADER.exec_module(fuzz)

GOOD = """#2\tINITED cov: 10 ft: 20 corp: 1/1b exec/s: 0 rss: 30Mb
#50\tNEW    cov: 12 ft: 24 corp: 2/2b lim: 4 exec/s: 0 rss: 30Mb
#74\tNEW    cov: 15 ft: 30 corp: 3/3b lim: 4 exec/s: 0 rss: 30Mb
#80\tREDUCE cov: 15 ft: 30 corp: 3/3b lim: 4 exec/s: 0 rss: 30Mb
#99\tNEW    cov: 17 ft: 30 corp: 3/3b lim: 4 exec/s: 0 rss: 30Mb
#100\tDONE   cov: 17 ft: 30 corp: 3/3b lim: 4 exec/s: 0 rss: 30Mb
stat::number_of_executed_units: 100
"""
PLACES = """#2\tINITED cov: 10 ft: 20 corp: 1/1b exec/s: 0 rss: 30Mb
\tNEW_PC: 0x1 in early /takt/build/../src/io/onnx/wire.c:7:9
#74\tNEW    cov: 11 ft: 24 corp: 2/2b lim: 4 exec/s: 0 rss: 30Mb
\tNEW_PC: 0x2 in takt_wire_next /takt/build/../src/io/onnx/wire.c
\tNEW_PC: 0x3 in infer /takt/build/../src/op/concat.c:12:5
#76\tNEW    cov: 13 ft: 26 corp: 3/3b lim: 4 exec/s: 0 rss: 30Mb
\tNEW_PC: 0x4 in eval /takt/build/../src/op/slice.c:12:5
#99\tREDUCE cov: 14 ft: 26 corp: 3/3b lim: 4 exec/s: 0 rss: 30Mb
\tNEW_PC: 0x5 (/takt/build/fz_some+0x77)
#100\tRELOAD cov: 15 ft: 26 corp: 3/3b lim: 4 exec/s: 0 rss: 30Mb
stat::number_of_executed_units: 100
"""
CLOCK = "==1== ERROR: libFuzzer: timeout after 60 seconds\n"
CRASH = "==1== ERROR: AddressSanitizer: SEGV\n    #0 0x1 in somewhere x.c:7\n"
BYTES = b"\0bad\xff"


def target(output, status=0, kept="", again="exit 0"):
    """A stand-in for fz_some: writes its input where libFuzzer would, and exits the same way."""
    build = path("build")
    for folder in (build, path("build/findings"), path("build/findings/some")):
        os.makedirs(folder, exist_ok=True)
    artifact = os.path.join(build, "findings", "some", kept)
    lines = ["#!/bin/sh", f'for last; do :; done; [ "$last" = "{artifact}" ] && {{ {again}; }}',
             "cat << 'END'", output.rstrip("\n")]
    if kept:
        with open(artifact, "wb") as file:
            file.write(BYTES)
        lines.append(f"artifact_prefix='x'; Test unit written to {artifact}")
    with open(os.path.join(build, "fz_some"), "w", encoding="ascii") as file:
        file.write("\n".join([*lines, "END", f"exit {status}", ""]))
    os.chmod(os.path.join(build, "fz_some"), 0o755)
    return types.SimpleNamespace(smoke=True, build=build), artifact


def run(options):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        good = fuzz.fuzz("some", options)
    return good, said.getvalue()


expect(fuzz.late_edges(GOOD, 100) == 2, "edges of the last quarter")
expect(fuzz.late_edges("", 0) == 0, "no executions")
expect([line.split()[1] for line in fuzz.late_places(PLACES, 100)] == ["0x2", "0x3", "0x4", "0x5"],
       "places of the last quarter")
expect(fuzz.in_parser("text", "in a /x/src/lang/lex.c:1") and
       not fuzz.in_parser("onnx", "in a /x/src/lang/lex.c:1"), "lang reads texts alone")

options, _ = target(GOOD)
seeds = [os.path.join(folder, name) for folder in fuzz.cases("text", options.build)
         for name in os.listdir(folder)]
models = sum(open(seed, "rb").read().startswith(b"model m(") for seed in seeds)
expect(models > 100 and fuzz.cases("json", options.build) == [], "cases of the language are seeds")
good, text = run(options)
expect(good and "100 executions" in text and "17 edges, 2 of them new" in text, text)
expect(not [f for f in os.listdir(options.build) if f.startswith("smoke_")], "files are left")

fuzz.ROOT = path("root")
os.makedirs(fuzz.ROOT, exist_ok=True)
options.smoke = False
good, text = run(options)
with open(path("root/trust/ledger.tsv"), encoding="ascii") as ledger:
    row = ledger.read().splitlines()[-1].split("\t")
expect(good and "; 0 new edges in the parser and 0 elsewhere in the last quarter" in row[2]
       and row[3:5] == ["some", "100"] and row[6:8] == ["17", "0"], str(row))
options, _ = target(PLACES)
options.smoke = False
good, text = run(options)
expect(good and "; 2 new edges in the parser and 2 elsewhere in the last quarter" in
       text.replace("15 edges, ", "; ") and "new in the last quarter: NEW_PC: 0x2" in text and
       "takt_wire_next" in text and "0x3" not in text, text)

options, artifact = target(GOOD + CRASH, 1, "crash-1")
good, text = run(options)
expect(not good and "1 findings" in text and "somewhere x.c:7" in text, text)
expect("echo AGJhZP8= | base64 -d > crash-1" in text and os.path.isfile(artifact), text)

options, artifact = target(GOOD + CLOCK, 70, "timeout-1")
good, text = run(options)
expect(good and "the machine was busy" in text and not os.path.exists(artifact), text)

options, artifact = target(GOOD + CLOCK, 70, "timeout-2", "exit 70")
good, text = run(options)
expect(not good and "base64 -d > timeout-2" in text and os.path.isfile(artifact), text)

options, _ = target(GOOD, 133)
good, text = run(options)
expect(not good and "ended with 133" in text, text)

options, _ = target("nothing")
good, text = run(options)
expect(not good and "ran nothing" in text, text)

finish()
