"""wheel.py - `pip install .`: a wheel, in a new environment without and then with NumPy. What pip
cannot download is skipped and reported.
"""
import os
import platform
import re
import sys
import time
import zipfile

from _runner import has_extension, run_cases, skip
from _wheel import build, call, device_bytes, install, make_environment

# Bytes without code for GPUs, by pip; `make wheel` takes 4 % off, and is what the limit of 4 MB is
# for (docs/decisions/0043-published-wheels.md). x86-64 has longer instructions:
# bench/notes/python.md.
MOST = 4_100_000 if platform.machine() == "aarch64" else 4_300_000
failures = []


def expect(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what)


def check_glibc(archive):
    """manylinux_2_34, where it is built with Debian 12's headers; newer ones ask for more."""
    library, version = platform.libc_ver()
    if library != "glibc" or int(version.split(".")[1]) > 36:
        print(f"wheel: versions of glibc are not checked, {library} {version} is not Debian 12's")
        return
    for name in (n for n in archive.namelist() if ".so" in n or n == "takt/bin/takt"):
        newest = max(map(int, re.findall(rb"GLIBC_2\.(\d+)", archive.read(name))), default=0)
        expect(newest <= 34, f"{name} needs glibc 2.{newest}: it is not manylinux_2_34")


def check_contents(wheel):
    expect("cp311-abi3" in wheel, f"{wheel} is not for the stable ABI")
    size, device = os.path.getsize(wheel), device_bytes()
    expect(size <= MOST + device, f"the wheel has {size} bytes, {device} of them for GPUs")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        expect(sum(info.file_size for info in archive.infolist()) < 16 << 20, "installed size")
        points = [archive.read(n).decode() for n in names if n.endswith("entry_points.txt")]
        check_glibc(archive)
        expect("[torch_dynamo_backends]\ntakt" in "".join(points), "torch finds no backend")
    for part in ("takt/__init__.py", "takt/_takt.abi3.so", "takt/bin/takt", "takt/ops.py",
                 "takt/ops.pyi", "takt/_takt.pyi", "takt/py.typed"):
        expect(part in names, f"{part} is not in the wheel")
    for library in ("libtakt.so", "libtakt-measure.so"):
        expect(any(name.startswith(f"takt/{library}") for name in names), f"{library} is missing")
    print(f"wheel: {os.path.basename(wheel)}, {os.path.getsize(wheel)} bytes")


if not has_extension():
    skip("the extension was not built: Python's headers are missing (python3-dev)")
builder = make_environment("builder")
if builder is None:
    skip("no virtual environment can be made: python3-venv is missing")
if not install(builder, "scikit-build-core"):
    skip("pip cannot fetch scikit-build-core")
start = time.monotonic()
wheel_path = build(builder)
if wheel_path is None:
    sys.exit(1)
print(f"wheel: built in {time.monotonic() - start:.1f} s next to a built library")
check_contents(wheel_path)
user = make_environment("user")
expect(install(user, "--no-index", "--no-deps", wheel_path), "the wheel cannot be installed")
command = call(os.path.join(os.path.dirname(user), "takt"), "version")
expect(command.returncode == 0 and "takt" in command.stdout, f"the command: {command.stderr}")
expect(run_cases(user, "wheel alone"), "cases with the wheel alone")
if install(user, "numpy"):
    expect(run_cases(user, "wheel and NumPy"), "cases with NumPy")
else:
    print("wheel and NumPy: skipped: pip cannot fetch NumPy")
sys.exit(bool(failures))
