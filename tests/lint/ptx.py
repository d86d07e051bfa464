"""ptx.py - device code keeps to the arithmetic that the bits depend on, and to its registers.

Of the PTX that nvcc made: nothing approximate, no flush to zero, no float mad, red or atom; only
div.rn and sqrt.rn. Of ptxas' report: registers, spills and static shared memory of every kernel
against ptxas.tsv, if nvcc is of the release that is named there. `--update` rewrites it. Skipped
where nothing was compiled for a device.
"""
import glob
import os
import re
import sys

from _lint import BUILD, ROOT, complain, finish, read, skip

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ptxas.tsv")
FORBIDDEN = [
    (r"\.approx\b", "approximate"),
    (r"\.ftz\b", "flushes to zero"),
    (r"\bmad\.[a-z0-9.]*f(?:16|32|64)", "a float mad"),
    (r"\b(?:red|atom)\.[a-z0-9_.:]*f(?:16|32|64)", "an atomic operation on floats"),
    (r"\bdiv\.(?!rn\.)[a-z.]*f(?:32|64)", "a division that is not div.rn"),
    (r"\bsqrt\.(?!rn\.)[a-z.]*f(?:32|64)", "a square root that is not sqrt.rn"),
    (r"\b(?:add|sub|mul|fma)\.(?:rz|rm|rp)\.[a-z0-9.]*f(?:32|64)", "another rounding"),
]


def looks_bad(text):
    """The defects of the PTX, if any."""
    return [(number, why) for number, line in enumerate(text.splitlines(), 1)
            if not line.lstrip().startswith("//") for pattern, why in FORBIDDEN
            if re.search(pattern, line)]


def reported(text):
    """Kernel -> (registers, spilled bytes, static shared bytes)."""
    rows = {}
    for part in re.split(r"Compiling entry function '", text)[1:]:
        name = part.split("'")[0]
        spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", part)
        registers = re.search(r"Used (\d+) registers", part)
        shared = re.search(r"(\d+) bytes smem", part)
        if registers is not None:
            rows[name] = (int(registers.group(1)), sum(map(int, spills)),
                          int(shared.group(1)) if shared else 0)
    return rows


for sample in ("ex2.approx.f32 %f1, %f2;", "add.ftz.f32 %f1, %f2, %f3;", "mad.rn.f32 %f1, %f2;",
               "red.global.add.f32 [%rd1], %f1;", "div.full.f32 %f1, %f2, %f3;",
               "sqrt.rz.f32 %f1, %f2;", "add.rz.f32 %f1, %f2, %f3;"):
    if not looks_bad(sample):
        complain(f"this lint does not see {sample}")
for sample in ("mad.lo.s32 %r1, %r2, %r3, %r4;", "div.rn.f32 %f1, %f2, %f3;", "atom.inc.u32 %r1;"):
    if looks_bad(sample):
        complain(f"this lint refuses {sample}")

folders = sorted(glob.glob(os.path.join(BUILD, "gen/cuda/*/")))
listings = [path for folder in folders for path in glob.glob(folder + "*.ptx")]
if not listings:
    skip("no device code was compiled")
for path in listings:
    for number, why in looks_bad(read(path)):
        complain(f"{os.path.relpath(path, BUILD)}:{number}: {why}")

found, version = {}, ""
for folder in folders:
    if os.path.exists(folder + "ptxas.txt"):
        found.update(reported(read(folder + "ptxas.txt")))
for path in listings[:1]:
    version = (re.search(r"Cuda compilation tools, (release [0-9.]+)", read(path)) or ["", "?"])[1]
if "--update" in sys.argv:
    # Builds of one release differ by a register: a bound of one above the count is accepted.
    bounds = {row.split("\t")[0]: tuple(map(int, row.split("\t")[1:]))
              for row in read(TABLE).splitlines()[1:]}
    with open(TABLE, "w", encoding="utf-8") as out:
        out.write("# at most: registers, spilled bytes, static shared bytes on sm_90a; "
                  f"nvcc {version}\n")
        for name, row in sorted(found.items()):
            was = bounds.get(name, row)
            row = was if (row[0] + 1, *row[1:]) == was else row
            out.write("\t".join([name, *map(str, row)]) + "\n")
lines = read(TABLE).splitlines()
table = {row.split("\t")[0]: tuple(map(int, row.split("\t")[1:])) for row in lines[1:]}
same = lines[0].endswith(version)
HEAD = re.compile(r"^(?:#define TILED )?(?:LATE_)?KERNEL\(([a-z0-9_]+)", re.M)
written = {name for path in glob.glob(os.path.join(ROOT, "src/kernel/*/*_cuda*.cu"))
           for name in HEAD.findall(read(path))}
for name in sorted(set(found) | set(table)):
    if name not in table:
        complain(f"{name} is not in ptxas.tsv: run tests/lint/ptx.py --update")
    elif name not in found and name not in written:
        complain(f"{name} is in ptxas.tsv, but no kernel")
    elif name not in found:
        print(f"{name} was not compiled in this folder")
    elif same and any(now > was for now, was in zip(found[name], table[name])):
        complain(f"{name}: registers, spills, shared {found[name]}; ptxas.tsv has {table[name]}")
print(f"{len(listings)} PTX files, {len(found)} kernels, nvcc {version}"
      + ("" if same else "; registers are not compared: ptxas.tsv is of another release"))
finish()
