"""_wheel.py - builds the wheel as `pip install .` does, and environments to install it into."""
import glob
import os
import shutil
import subprocess
import sys

from _runner import BUILD, ROOT, TMP, environment


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


def build(builder):
    """The path of a new wheel next to the built library; None, and why on stdout."""
    shutil.rmtree(os.path.join(TMP, "wheel-build"), ignore_errors=True)
    for old in glob.glob(os.path.join(TMP, "takt_engine-*.whl")):
        os.remove(old)
    built = call(builder, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps",
                 "--wheel-dir", TMP, "--config-settings", f"cmake.define.TAKT_PREBUILT={BUILD}",
                 "--config-settings", f"build-dir={TMP}/wheel-build", ROOT, timeout=300)
    wheels = glob.glob(os.path.join(TMP, "takt_engine-*.whl"))
    if built.returncode != 0 or not wheels:
        print(built.stdout[-2000:], built.stderr[-4000:])
        return None
    return wheels[0]


def packed(builder, wheel):
    """The wheel as `make wheel` publishes it; None where pip cannot fetch zopfli."""
    if not install(builder, "zopfli"):
        return None
    to = os.path.join(TMP, "wheel-packed")
    told = subprocess.run([builder, os.path.join(ROOT, "scripts", "wheel"), "--from", wheel,
                           "--out", to], env={**environment(), "TAKT_IN_VENV": "1"},
                          capture_output=True, text=True, check=False)
    path = os.path.join(to, os.path.basename(wheel))
    if told.returncode != 0 or "as pip compresses it" not in told.stdout:
        print(told.stdout, told.stderr)
        return None
    return path


def device_bytes():
    """GPU kernels, which are present if nvcc is, and already compressed."""
    images = glob.glob(os.path.join(BUILD, "gen", "cuda", "*.fatbin"))
    return sum(os.path.getsize(image) for image in images)
