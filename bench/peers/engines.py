"""engines.py - the engines: where they come from, how their runners are built, what is missing."""
import glob
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(ROOT, "build", "peers")
VENV = os.path.join(OUT, "venv")
PIP = {"onnxruntime": "onnxruntime", "torch": "torch", "ncnn": "ncnn",
       "ai-edge-litert": "ai_edge_litert", "openvino": "openvino", "jax": "jax"}
APT = ["libopenblas-dev", "libblis-dev"]
if platform.machine() == "aarch64":
    APT.append("libarm-compute-dev")


class Missing(Exception):
    """Why an engine cannot take part."""


def _stripped(path):
    """Bytes without what only debuggers read."""
    with tempfile.NamedTemporaryFile() as copy:
        if shutil.which("strip") and subprocess.run(["strip", "-o", copy.name, path], check=False,
                                                    stderr=subprocess.DEVNULL).returncode == 0:
            return os.path.getsize(copy.name)
    return os.path.getsize(path)


class Engine:
    """`runner` and `library`: arguments of host.py; `size`: bytes of its code."""

    def __init__(self, name, runner, library, note, code):
        self.name, self.runner, self.library, self.note = name, runner, library, note
        self.size = sum(_stripped(path) for path in code)
        self.version = ""


# ---- what the registries have ----

def _quiet(command, seconds):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=seconds, check=False)
        return done.returncode == 0, done.stdout.strip().splitlines()[-1:] or [""]
    except (OSError, subprocess.TimeoutExpired) as problem:
        return False, [str(problem)]


def has(module):
    return importlib.util.find_spec(module) is not None


def install(say, packages=None):
    """Installs the missing packages one by one, so that one that fails does not affect the others.
    If this Python already has numpy and onnxruntime, its packages are measured. `packages`: these
    instead of the peers'."""
    if not os.path.exists(VENV) and has("numpy") and has("onnxruntime"):
        return
    if not os.path.exists(VENV):
        ok, last = _quiet([sys.executable, "-m", "venv", VENV], 120)
        if not ok:
            shutil.rmtree(VENV, ignore_errors=True)
            say(f"no virtual environment ({last[0]}): this Python's own packages are used")
    interpreter = os.path.join(VENV, "bin", "python")
    if os.path.exists(interpreter):
        for package in ["numpy", *(packages or PIP)]:
            if _quiet([interpreter, "-c", "import importlib.util as u, sys;"
                       f"sys.exit(u.find_spec('{PIP.get(package, package)}') is None)"], 60)[0]:
                continue
            say(f"pip install {package}")
            ok, last = _quiet([interpreter, "-m", "pip", "install", "--quiet", "--retries", "1",
                               package], 1800)
            if not ok:
                say(f"  {package} cannot be had: {last[0]}")
    apt = [name for name in ([] if packages else APT) if not _quiet(["dpkg", "-s", name], 10)[0]]
    if apt and shutil.which("apt-get"):
        root = [] if os.getuid() == 0 else ["sudo", "-n"]
        for name in apt:
            say(f"apt-get install {name}")
            ok, last = _quiet([*root, "apt-get", "install", "-y", "-q",
                               "--no-install-recommends", name], 300)
            if not ok:
                say(f"  {name} cannot be had: {last[0]}")


# ---- runners ----

def _package(module):
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise Missing(f"the Python package {module} is not installed")
    return list(spec.submodule_search_locations)[0]


def _one(pattern, what):
    found = sorted(glob.glob(pattern))
    if not found:
        raise Missing(f"{what}: no {os.path.basename(pattern)}")
    return found[-1]


def build(source, *flags, parts=()):
    """The shared object of a runner, rebuilt if a source file is newer or a flag has changed."""
    target = os.path.join(OUT, os.path.splitext(source)[0] + ".so")
    path = os.path.join(HERE, source)
    parts = [path, os.path.join(HERE, "runner.h"), os.path.join(HERE, "flat.h"), *parts]
    note, how = target + ".flags", " ".join(flags)
    if os.path.exists(note) and os.path.exists(target) and \
            all(os.path.getmtime(target) > os.path.getmtime(p) for p in parts):
        with open(note, encoding="utf-8") as file:
            if file.read() == how:
                return target
    compiler = ["c++"] if source.endswith("cpp") else ["cc", "-std=gnu17"]
    if shutil.which(compiler[0]) is None:
        raise Missing(f"no compiler {compiler[0]}")
    ok, last = _quiet([*compiler, "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden", path,
                       "-o", target, *flags], 600)
    if not ok:
        raise Missing(f"its runner does not compile: {last[0]}")
    with open(note, "w", encoding="utf-8") as file:
        file.write(how)
    return target


def _library(name="libtakt.a"):
    folder = os.environ.get("BUILD") or os.path.join(ROOT, "build", "release")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise Missing(f"{path} has not been built")
    return path


def takt():
    library = _library()
    runner = build("run_takt.c", "-I", os.path.join(ROOT, "include"), library, "-lm", "-lpthread",
                   parts=[library])
    tool = os.path.join(os.path.dirname(library), "takt")
    return Engine("takt", runner, "", "C interface", [tool] if os.path.exists(tool) else [runner])


def statistics():
    libraries = [_library("libtakt-measure.a"), _library()]
    parts = [os.path.join(HERE, name) for name in ("rates.c", "context.c")]
    return build("statistics.c", *parts, "-I", os.path.join(ROOT, "include"), "-I",
                 os.path.join(ROOT, "src"), *libraries, "-lm", "-lpthread",
                 parts=[*libraries, *parts])


def onnxruntime():
    folder = os.path.join(_package("onnxruntime"), "capi")
    shared = glob.glob(os.path.join(folder, "libonnxruntime.so*"))  # else all is in one object
    library = shared[0] if shared else _one(
        os.path.join(folder, "onnxruntime_pybind11_state*.so"), "onnxruntime")
    return Engine("onnxruntime", build("run_onnxruntime.c", "-ldl"), library,
                  "C interface; threads spin", [library])


def torch():
    folder = _package("torch")
    lib, include = os.path.join(folder, "lib"), os.path.join(folder, "include")
    core = _one(os.path.join(lib, "libtorch_cpu.so"), "torch")
    runner = build("run_torch.cpp", "-std=c++20", "-I", include, "-I",
                   os.path.join(include, "torch", "csrc", "api", "include"), "-L", lib,
                   f"-Wl,-rpath,{lib}", "-ltorch_cpu", "-lc10")
    return Engine("torch", runner, "", "C++ interface, eager", [core])


def _blas(name, pattern):
    for folder in (f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib"):
        found = sorted(glob.glob(os.path.join(folder, pattern)))
        if found:
            return Engine(name, build("run_blas.c", "-ldl"), found[0],
                          "C interface; packs B in every call", [os.path.realpath(found[0])])
    raise Missing(f"no {pattern} is installed")


def openblas():
    return _blas("openblas", "libopenblas.so*")


def blis():
    return _blas("blis", "libblis.so*")


def acl():
    if platform.machine() != "aarch64":
        raise Missing("it is for ARM only")
    libraries = ["-larm_compute", "-larm_compute_core"]
    return Engine("acl", build("run_acl.cpp", "-std=c++17", *libraries), "", "C++ interface",
                  [_one(f"/usr/lib/aarch64-linux-gnu/lib{name[2:]}.so", "acl")
                   for name in libraries])


def openvino():
    folder = _package("openvino")
    library = _one(os.path.join(folder, "libs", "libopenvino_c.so*"), "openvino")
    plugin = _one(os.path.join(folder, "libs", "libopenvino_*_cpu_plugin.so"), "openvino")
    core = _one(os.path.join(folder, "libs", "libopenvino.so*"), "openvino")
    runner = build("run_openvino.c", "-I", os.path.join(folder, "include"), library,
                   f"-Wl,-rpath,{os.path.dirname(library)}")
    return Engine("openvino", runner, "", "C interface", [core, plugin])


def ncnn():
    folder = _package("ncnn")
    return Engine("ncnn", os.path.join(HERE, "run_ncnn.py"), "",
                  "Python, which costs about 3 us a run", glob.glob(os.path.join(folder, "*.so")))


def litert():
    folder = _package("ai_edge_litert")
    return Engine("litert", os.path.join(HERE, "run_litert.py"), "",
                  "Python, which costs about 0.5 us a run; XNNPACK",
                  glob.glob(os.path.join(folder, "libpywrap_litert_common.so")))


PEERS = [onnxruntime, torch, openblas, blis, acl, openvino, ncnn, litert]
