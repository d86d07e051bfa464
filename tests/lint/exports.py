"""exports.py - libtakt.so exports exactly what the public headers declare with TAKT_API."""
import os
import re
import subprocess

from _lint import BUILD, complain, files, finish, read, skip

library = os.path.join(BUILD, "libtakt.so")
if not os.path.exists(library):
    skip(f"{library} is not built")

declared = set()
for header in files(".h", under="include"):
    text = re.sub(r"/\*.*?\*/", " ", read(header), flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)
    for statement in re.findall(r"\bTAKT_API\b([^;{]*)", text):
        name = re.search(r"\b(takt_\w+)\s*\(", statement) or re.search(r"\b(takt_\w+)\s*(?:\[|$)",
                                                                        statement.strip())
        if name is None:
            complain(f"{header}: cannot find the name in TAKT_API{statement}")
        else:
            declared.add(name.group(1))

listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                         capture_output=True).stdout
exported = {line.split()[-1].split("@")[0] for line in listing.splitlines()}
for name in sorted(exported - declared):
    complain(f"{name} is exported but no public header declares it with TAKT_API")
for name in sorted(declared - exported):
    complain(f"{name} is declared with TAKT_API but not exported: it is not defined")
finish()
