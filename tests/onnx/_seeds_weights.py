"""_seeds_weights.py - the bad inputs of safetensors and npy."""
import struct

SEEDS = {}


def safetensors(name, header, data=b"", size=None):
    header = header.encode() if isinstance(header, str) else header
    size = len(header) if size is None else size
    SEEDS[f"safetensors/{name}"] = struct.pack("<Q", size & (1 << 64) - 1) + header + data


def entry(dtype='"F32"', shape="[2]", offsets="[0,8]"):
    return f'{{"a":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}}}'


def all_safetensors():
    eight = b"\0" * 8
    safetensors("legal_one", entry(), eight)
    safetensors("legal_18_scalar", entry(shape="[]", offsets="[0,4]"), eight[:4])
    safetensors("legal_18_zero", entry(shape="[0,7]", offsets="[0,0]"))
    safetensors("legal_20_unaligned", '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                '"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}', b"\0" * 5)
    SEEDS["safetensors/01_short"] = b"\0\0\0"
    SEEDS["safetensors/01_empty"] = b""
    for name, size in (("0", 0), ("2_63", 1 << 63), ("most", -1), ("beyond", 100),
                       ("100_mb", 100000001)):
        safetensors(f"02_header_{name}", "{}", b"", size)
    safetensors("03_leading_space", " {}")
    safetensors("03_array", "[]")
    safetensors("03_trailing_nul", b"{}\0\0")
    safetensors("04_utf8", b'{"\xff":1}')
    safetensors("04_overlong", b'{"\xc0\x80":1}')
    safetensors("04_surrogate", '{"\\ud800":1}')
    safetensors("04_bom", b"\xef\xbb\xbf{}")
    safetensors("05_deep", '{"a":' * 60 + "1" + "}" * 60)
    zero = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    safetensors("06_name_twice", f'{{"a":{zero},"a":{zero}}}')
    safetensors("06_key_twice",
                '{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}')
    safetensors("06_metadata_twice", '{"__metadata__":{},"__metadata__":{}}')
    safetensors("07_metadata_number", '{"__metadata__":{"a":1}}')
    safetensors("08_no_offsets", '{"a":{"dtype":"F32","shape":[2]}}', eight)
    safetensors("08_no_dtype", '{"a":{"shape":[2],"data_offsets":[0,8]}}', eight)
    safetensors("08_no_shape", '{"a":{"dtype":"F32","data_offsets":[0,8]}}', eight)
    safetensors("08_extra_key",
                '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}}', eight)
    safetensors("09_dtype_unknown", entry('"F99"'), eight)
    safetensors("09_dtype_case", entry('"f32"'), eight)
    for name, number in (("negative", "-2"), ("float", "2.0"), ("exponent", "1e3"),
                         ("2_64", "18446744073709551616"), ("text", '"3"'), ("null", "null")):
        safetensors(f"10_shape_{name}", entry(shape=f"[{number}]"), eight)
    safetensors("11_product", entry(shape="[4611686018427387904,4]"), eight)
    safetensors("11_product_zero", entry(shape="[4611686018427387904,4,0]", offsets="[0,0]"))
    safetensors("12_backwards", entry(offsets="[8,0]"), eight)
    safetensors("13_size", entry(offsets="[0,4]"), eight[:4])
    pair = ('{{"a":{{"dtype":"U8","shape":[2],"data_offsets":[0,2]}},'
            '"b":{{"dtype":"U8","shape":[2],"data_offsets":[{0},{1}]}}}}')
    safetensors("14_overlap", pair.format(1, 3), b"\0" * 3)
    safetensors("15_hole", pair.format(3, 5), b"\0" * 5)
    safetensors("16_bytes_after", entry(), eight + b"\0")
    safetensors("17_beyond", entry(), eight[:4])
    safetensors("17_wraps", entry(offsets="[0,18446744073709551615]"), eight)
    safetensors("19_sub_byte", entry('"F4"', "[3]", "[0,2]"), b"\0\0")


# ---- npy ----

def npy(name, text, data=b"", version=b"\1\0", length=None):
    text = text.encode() if isinstance(text, str) else text
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text) if length is None else length)
    SEEDS[f"npy/{name}"] = b"\x93NUMPY" + version + size + text + data


def header(descr="'<f4'", order="False", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def all_npy():
    eight = b"\0" * 8
    npy("legal_two", header(), eight)
    for number in (0, 4, 255):
        npy(f"01_version_{number}", header(), eight, bytes([number, 0]))
    npy("02_header_beyond", header(), b"", b"\1\0", 60000)
    npy("02_header_64_kib", header(), b"", b"\2\0", 65537)
    npy("03_no_dict", "(1, 2)\n")
    npy("03_nested", "{'shape': " + "(" * 500 + ")" * 500 + "}\n")
    npy("03_code", "{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,), }\n", eight)
    npy("04_order", header(order="Maybe"), eight)
    npy("05_object", header("'|O'"), eight)
    npy("05_structure", header("[('a', '<f4')]"), eight)
    npy("05_big_endian", header("'>f4'"), eight)
    npy("05_f3", header("'<f3'"), eight)
    npy("06_negative", header(shape="(-2,)"), eight)
    npy("06_2_64", header(shape="(18446744073709551616,)"), eight)
    npy("06_product", header(shape="(4611686018427387904, 4)"), eight)
    npy("07_short", header(), eight[:7])
    npy("07_long", header(), eight + b"\0")
    npy("08_no_newline", header().rstrip(), eight)
    SEEDS["npy/02_cut_in_magic"] = b"\x93NUM"
