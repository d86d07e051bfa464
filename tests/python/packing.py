"""packing.py - the archive written by scripts/wheel: same names, contents, dates, modes."""
import os
import subprocess
import sys
import zipfile

from _runner import ROOT, TMP, environment

failures = []


def expect(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what)


def listed(path):
    with zipfile.ZipFile(path) as archive:
        expect(archive.testzip() is None, f"{path} is damaged")
        return [(info.filename, info.date_time, info.external_attr, archive.read(info))
                for info in archive.infolist()]


def pack(name, **more):
    told = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "wheel"), "--from", made,
                           "--out", os.path.join(folder, name)], capture_output=True, text=True,
                          env={**environment(), "TAKT_IN_VENV": "1", **more}, check=False)
    expect(told.returncode == 0, told.stderr)
    return os.path.join(folder, name, "a-1-py3-none-any.whl"), told.stdout


folder = os.path.join(TMP, "packing")
# A stand-in: the test is about the archive, and zopfli need not be installed.
os.makedirs(os.path.join(folder, "zopfli"), exist_ok=True)
with open(os.path.join(folder, "zopfli", "zlib.py"), "w", encoding="utf-8") as to:
    to.write("import zlib\n\n\ndef compress(data, numiterations):\n"
             "    return zlib.compress(data, 9)\n")
os.makedirs(os.path.join(folder, "none", "zopfli"), exist_ok=True)
with open(os.path.join(folder, "none", "zopfli", "zlib.py"), "w", encoding="utf-8") as to:
    to.write("raise ImportError('not here')\n")
made = os.path.join(folder, "a-1-py3-none-any.whl")
with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
    for path, data, mode in (("a/__init__.py", b"x = 1\n" * 5000, 0o644), ("a/é.txt", b"", 0o644),
                             ("a/bin/a", bytes(range(256)), 0o755)):
        info = zipfile.ZipInfo(path, (2026, 11, 18, 9, 44, 58))
        info.external_attr = (0o100000 | mode) << 16
        archive.writestr(info, data, zipfile.ZIP_DEFLATED)
packed, said = pack("packed", PYTHONPATH=folder)
expect("as pip compresses it" in said and os.path.getsize(packed) < os.path.getsize(made), said)
expect(listed(packed) == listed(made), f"{listed(packed)} instead of {listed(made)}")
copied, said = pack("copied", PYTHONPATH=os.path.join(folder, "none"))
expect("pip install zopfli" in said and listed(copied) == listed(made), said)
in_place, said = pack(".", PYTHONPATH=folder)
expect(os.path.samefile(in_place, made) and listed(made) == listed(copied), said)
sys.exit(bool(failures))
