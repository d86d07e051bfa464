"""wheel.py - `pip install .`: a wheel, in a fresh environment alone, then with NumPy.

What pip cannot fetch is skipped and told.
"""
import glob
import os
import shutil
import subprocess
import sys
import time
import zipfile

from _runner import BUILD, ROOT, TMP, environment, has_extension, run_cases, skip

failures = []


def expect(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what)


def call(*args, **more):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False,
                          env=environment(), **more)


def make_environment(name):
    """The interpreter of a new environment; None if there can be none."""
    folder = os.path.join(TMP, name)
    shutil.rmtree(folder, ignore_errors=True)
    made = call(sys.executable, "-m", "venv", folder)
    return os.path.join(folder, "bin", "python") if made.returncode == 0 else None


def install(python, *names):
    return call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                "--retries", "1", "--timeout", "10", *names, timeout=300).returncode == 0


def device_bytes():
    """Of kernels for GPUs, which are there where nvcc is, and are compressed already."""
    images = glob.glob(os.path.join(BUILD, "gen", "cuda", "*.fatbin"))
    return sum(os.path.getsize(image) for image in images)


def check_contents(wheel):
    expect("cp311-abi3" in wheel, f"{wheel} is not for the stable ABI")
    size, device = os.path.getsize(wheel), device_bytes()
    expect(size < (4 << 20) + device, f"the wheel has {size} bytes, {device} of them for GPUs")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        expect(sum(info.file_size for info in archive.infolist()) < 16 << 20, "installed size")
        points = [archive.read(n).decode() for n in names if n.endswith("entry_points.txt")]
        expect("[torch_dynamo_backends]\ntakt" in "".join(points), "torch finds no backend")
    for part in ("takt/__init__.py", "takt/_takt.abi3.so", "takt/bin/takt", "takt/ops.py",
                 "takt/ops.pyi", "takt/_takt.pyi", "takt/py.typed"):
        expect(part in names, f"{part} is not in the wheel")
    expect(any(name.startswith("takt/libtakt.so") for name in names), "the library is not there")
    print(f"wheel: {os.path.basename(wheel)}, {os.path.getsize(wheel)} bytes")


if not has_extension():
    skip("the extension was not built: Python's headers are missing (python3-dev)")
builder = make_environment("builder")
if builder is None:
    skip("no virtual environment can be made: python3-venv is missing")
if not install(builder, "scikit-build-core"):
    skip("pip cannot fetch scikit-build-core")
shutil.rmtree(os.path.join(TMP, "wheel-build"), ignore_errors=True)
for old in glob.glob(os.path.join(TMP, "takt_engine-*.whl")):
    os.remove(old)
start = time.monotonic()
built = call(builder, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps",
             "--wheel-dir", TMP, "--config-settings", f"cmake.define.TAKT_PREBUILT={BUILD}",
             "--config-settings", f"build-dir={TMP}/wheel-build", ROOT, timeout=300)
wheels = sorted(glob.glob(os.path.join(TMP, "takt_engine-*.whl")), key=os.path.getmtime)
if built.returncode != 0 or not wheels:
    print(built.stdout[-2000:], built.stderr[-4000:])
    sys.exit(1)
print(f"wheel: built in {time.monotonic() - start:.1f} s beside a built library")
check_contents(wheels[-1])
user = make_environment("user")
expect(install(user, "--no-index", "--no-deps", wheels[-1]), "the wheel cannot be installed")
command = call(os.path.join(os.path.dirname(user), "takt"), "version")
expect(command.returncode == 0 and "takt" in command.stdout, f"the command: {command.stderr}")
expect(run_cases(user, "wheel alone"), "cases with the wheel alone")
if install(user, "numpy"):
    expect(run_cases(user, "wheel and NumPy"), "cases with NumPy")
else:
    print("wheel and NumPy: skipped: pip cannot fetch NumPy")
sys.exit(bool(failures))
