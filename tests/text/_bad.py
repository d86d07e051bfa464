"""_bad.py - writes small invalid GGUF files, one of each kind, as fuzzing seeds; unit_gguf and
cli_text have the error of each."""
import os
import struct

from _tiny import ROOT, key, text, u32

FOLDER = os.path.join(ROOT, "tests/corpus/gguf")


def head(version=3, tensors=0, keys=0):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def one(*row):
    data = head(tensors=1) + tensor(*row)
    return data + b"\0" * (-len(data) % 32 + 64)


def part(number, count, total, *names):
    """A part of a split file; two after one another are one seed."""
    data = head(tensors=len(names), keys=4) + key("general.architecture", 8, text("llama"))
    data += u32("split.no", number) + u32("split.count", count) + u32("split.tensors.count", total)
    data += b"".join(tensor(name, [8], 0, 32 * i) for i, name in enumerate(names))
    return data + b"\0" * (-len(data) % 32 + 32 * len(names))


FILES = {
    "01_version_1": head(1), "01_version_4": head(4), "01_big_endian": head(0x03000000),
    "02_tensors_2_63": head(tensors=1 << 63), "02_keys_all": head(keys=(1 << 64) - 1),
    "03_key_long": head(keys=1) + struct.pack("<Q", (1 << 64) - 1) + b"a" * 16,
    "03_key_empty": head(keys=1) + u32("", 1),
    "03_key_nul": head(keys=1) + u32("a\0b", 1),
    "04_key_twice": head(keys=2) + u32("a", 1) + u32("a", 2),
    "05_type_13": head(keys=1) + key("a", 13, b"\0" * 8),
    "06_array_of_arrays": head(keys=1) + key("a", 9, struct.pack("<IQ", 9, 1) + b"\0" * 16),
    "07_array_2_61": head(keys=1) + key("a", 9, struct.pack("<IQ", 8, 1 << 61)),
    "08_bool_7f": head(keys=1) + key("a", 7, b"\x7f"),
    "09_alignment_0": head(keys=1) + u32("general.alignment", 0),
    "09_alignment_3": head(keys=1) + u32("general.alignment", 3),
    "10_name_empty": one("", [4], 0, 0), "10_name_64": one("n" * 64, [4], 0, 0),
    "11_rank_5": one("t", [1] * 5, 0, 0), "12_dim_0": one("t", [0], 0, 0),
    "12_dims_wrap": one("t", [(1 << 42) + 1, 1 << 22], 0, 0), "13_no_blocks": one("t", [33], 2, 0),
    "14_type_removed": one("t", [32], 4, 0), "15_unaligned": one("t", [4], 0, 1),
    "15_hole": one("t", [4], 0, 64), "15_beyond": one("t", [4096], 0, 0),
    "20_architecture_number": head(keys=1) + u32("general.architecture", 1),
    "21_no_tensors": head(keys=1) + key("general.architecture", 8, text("llama")),
    "24_split": head(keys=2) + key("general.architecture", 8, text("llama")) +
                u32("split.count", 3),
    "24_parts": part(0, 2, 3, "a", "b") + part(1, 2, 3, "c"),
    "24_parts_tensor_twice": part(0, 2, 2, "a") + part(1, 2, 2, "a"),
    "24_parts_too_few": part(0, 2, 9, "a") + part(1, 2, 9, "c"),
    "24_parts_order": part(0, 2, 2, "a") + part(0, 2, 2, "c"),
    "24_parts_count": part(0, 2, 2, "a") + part(1, 3, 2, "c"),
}

if __name__ == "__main__":
    for name, data in FILES.items():
        with open(os.path.join(FOLDER, name + ".gguf"), "wb") as file:
            file.write(data)
