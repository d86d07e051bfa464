"""references.py - the functions that library code may call.

Nothing may end the process or print. Only src/os talks to the operating system; every other object
may refer to Takt itself, to the libc functions below (no I/O, no allocation, no state), and libm.
Objects follow the layers, as includes do: what is defined below is not called, by whatever header
it was declared. So libtakt, which is all layers but the last, does not need libtakt-measure.
"""
import os
import re
import subprocess

from _lint import BUILD, ROOT, complain, finish, read, skip

FORBIDDEN = re.compile(r"""^_{0,2}(abort|exit|_exit|_Exit|quick_exit|assert\w*|longjmp|siglongjmp
    |v?f?printf|v?dprintf|puts|fputs|putchar|putc|fputc|perror|stdout|stderr|raise|psignal|err|errx
    |warn|warnx|system|gets)(_chk|_fail)?$""", re.VERBOSE)
LIBC = set("""memcpy memmove memset memcmp memchr strlen strnlen strcmp strncmp strchr strrchr
    strstr strspn strcspn strcasecmp snprintf vsnprintf __errno_location""".split())
# (file, name): why it may
GRANTS = {
    ("src/kernel/isa.c", "getauxval"): "asks the kernel what the processor can run",
    ("src/kernel/isa.c", "syscall"): "asks for the use of AMX tiles",
    ("src/base/lock.c", "sched_yield"): "gives the processor to who holds the lock",
    ("src/base/crc32c.c", "getauxval"): "asks the kernel whether the processor has the instruction",
}
# What compilers refer to by themselves: stack protector, fortify, 128-bit and atomic helpers, and
# strcpy, which gcc -Os makes of snprintf with "%s".
COMPILER = re.compile(r"^(strcpy|__stack_chk_\w+|_GLOBAL_OFFSET_TABLE_|__aarch64_\w+"
                      r"|__\w+[dtsx][ifc]\d?|__tls_get_addr|__(?P<libc>\w+)_chk)$")


def is_current(path):
    """A build folder keeps objects of sources that were moved or removed."""
    target, source = path[:-2].split("_objects.dir" + os.sep)
    is_measure = source.startswith(os.path.join("src", "measure", ""))
    is_there = any(os.path.exists(os.path.join(root, source)) for root in (ROOT, BUILD))
    return is_there and is_measure == target.endswith("takt_measure")


# src/<folder>/..., and gen/kernel/... of the variants that the build writes
objects = []
for target in ("takt", "takt_measure"):
    objects_dir = os.path.join(BUILD, "CMakeFiles", target + "_objects.dir")
    objects += [os.path.join(folder, name) for part in ("src", os.path.join("gen", "kernel"))
                for folder, _, names in os.walk(os.path.join(objects_dir, part))
                for name in names if name.endswith(".o") and is_current(os.path.join(folder, name))]
if not objects:
    skip(f"no objects in {objects_dir}")


def nm(*args):
    run = subprocess.run(["nm", *args], check=True, text=True, capture_output=True)
    return run.stdout.split("\n")


def libm():
    path = subprocess.run([os.environ.get("CC", "cc"), "-print-file-name=libm.so.6"], check=True,
                          text=True, capture_output=True).stdout.strip()
    return {line.split()[-1].split("@")[0] for line in nm("-D", "--defined-only", path) if line}


def source_of(path):
    return path.split("_objects.dir" + os.sep)[1][:-2]


def folder_of(path):
    return source_of(path).split(os.sep)[1]


# The folders in their order, as layers.py holds ARCHITECTURE.md to it.
layers = re.findall(r"^\| `(\w+)/", read("ARCHITECTURE.md"), re.MULTILINE)
home = {line.split()[-1]: folder_of(line.split(":", 1)[0])
        for line in nm("-A", "--defined-only", "--extern-only", *objects) if line}
known = LIBC | libm()
for line in nm("-A", "--undefined-only", *objects):
    if not line:
        continue
    path, name = line.split(":", 1)[0], line.split()[-1]
    source = source_of(path)
    helper = COMPILER.match(name)
    if name in home and layers.index(home[name]) > layers.index(folder_of(path)):
        complain(f"{source}: refers to {name} of src/{home[name]}, which lies below it")
    if FORBIDDEN.match(name):
        complain(f"{source}: refers to {name}: library code returns errors and prints nothing")
    elif source.startswith("src/os/") or name.startswith("takt_") or name in known \
            or (source, name) in GRANTS:
        continue
    elif helper is None or (helper.group("libc") and helper.group("libc") not in known):
        complain(f"{source}: refers to {name}: only src/os may use the operating system")
finish()
