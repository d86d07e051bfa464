"""headers.py - each public header compiles alone, as C17 and as C++17; takt.h includes them all."""
import os
import shutil
import subprocess

from _lint import ROOT, complain, files, finish, read

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
modes = [[os.environ.get("CC", "cc"), "-std=c17", "-xc", "-Wstrict-prototypes"]]
if shutil.which("c++"):
    modes.append(["c++", "-std=c++17", "-xc++"])

headers = [os.path.relpath(path, "include") for path in files(".h", under="include")]
for header in headers:
    for mode in modes:
        run = subprocess.run([*mode, *WARNINGS, "-fsyntax-only", "-Iinclude", "-"], cwd=ROOT,
                             input=f"#include <{header}>\n", text=True, capture_output=True,
                             check=False)
        if run.returncode != 0:
            complain(f"{header} does not compile alone with {mode[0]} {mode[1]}:\n{run.stderr}")
if "takt/takt.h" not in headers:
    complain("include/takt/takt.h, which includes all the others, is missing")
else:
    for header in headers:
        if header != "takt/takt.h" and f"#include <{header}>" not in read("include/takt/takt.h"):
            complain(f"takt.h does not include {header}")
finish()
