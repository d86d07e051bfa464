"""fuzz_many.py - scripts/fuzz-many: distinguishes clean runs from findings, and keeps the inputs.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import struct
import tarfile
import types

from _cli import ROOT, expect, finish, path

LOADER = importlib.machinery.SourceFileLoader("fuzz_many",
                                               os.path.join(ROOT, "scripts", "fuzz-many"))
many = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz_many", LOADER))
LOADER.exec_module(many)

STATS = (r"#2\tINITED cov: 10 ft: 20\n#100\tDONE   cov: 17 ft: 30\n"
         r"stat::number_of_executed_units: 100\n")
many.ASK, many.GRACE, many.LEAST, many.MOST_FINDINGS = 0.1, 0.4, 0.1, 1


def campaign(body, seconds=0.3, again="exit 0"):
    """The row and the findings of one target, whose program is a stand-in for libFuzzer."""
    folder, out = path("programs"), path(f"out{campaign.count}")
    campaign.count += 1
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "fz_some"), "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\n[ $# = 1 ] && {{ {again}; }}\nout={out}\n'
                   f'printf "{STATS}"\n{body}\n')
    os.chmod(os.path.join(folder, "fz_some"), 0o755)
    options = types.SimpleNamespace(binaries=folder, out=out, seconds=seconds, processes=1,
                                    commit="c", seed=7)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        rows = many.work([many.Target("some=100", 0)], options)
    row = rows[0].split("\t")
    found = os.path.join(out, "findings", "some")
    return row, {name: os.path.join(found, name) for name in os.listdir(found)}, said.getvalue()


campaign.count = 0
row, found, _ = campaign("exit 0")
expect(row[3:5] == ["some", "100"] and row[6:8] == ["17", "0"] and not found, str(row))
expect("1 slice of 1 process; at most 7 new edges in" in row[2], row[2])

# The end of the campaign: a process that is interrupted was clean so far, one that must be killed
# is not counted.
row, found, _ = campaign("trap 'exit 72' INT; while :; do sleep 0.05; done")
expect(row[4] == "100" and row[7] == "0" and not found, str(row))
row, found, said = campaign("trap '' INT; while :; do sleep 0.05; done")
expect(row[4] == "0" and row[7] == "0" and not found, f"{row} {said}")
expect("100 executions of slices that were cut off are not counted" in row[2], row[2])

# A process that dies without writing its input: the file of kept_inputs.c has it, among others.
with open(path("ring"), "wb") as ring:
    ring.write(b"".join(struct.pack("II8184s", number, size, data) for number, size, data in
                        ((4, 3, b"newest"), (0, 0, b""), (2, 1, b"a"), (3, 9000, b"b" * 8184))))
row, found, _ = campaign(f'cp {path("ring")} "$TAKT_FUZZ_KEPT"; kill -SEGV $$')
seed = row[8].split("-")[0]
expect(int(row[7]) >= 1 and row[4] == "0", str(row))
expect(open(found[f"last-{seed}"], "rb").read() == b"new", "the last input")
with tarfile.open(found[f"before-{seed}.tar.xz"]) as before:
    sizes = {about.name: about.size for about in before.getmembers()}
expect(sizes == {f"{seed}-2": 1, f"{seed}-3": 8184}, str(sizes))

# An input that exceeded the time limit because the machine was busy is not a finding; a slow one
# is.
CLOCK = ('mkdir -p $out/findings/some; f=$out/findings/some/timeout-1; echo x > $f; '
         'echo "Test unit written to $f"; exit 70')
row, found, _ = campaign(CLOCK)
expect(row[7] == "0" and not found and "cut off" in row[2], str(row))
row, found, _ = campaign(CLOCK, again="kill -XCPU $$")
expect(int(row[7]) >= 1 and "timeout-1" in found, str(row))

finish()
