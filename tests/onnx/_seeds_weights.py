"""_seeds_weights.py - the bad inputs of safetensors and npy."""
import struct

SEEDS, WANTS = {}, {}  # name to bytes; name to (error id, offset)


def want(name, error, at):
    """`at`: the position of the defect, as bytes (in a tuple: the last of them) or as an offset;
    nothing if the seed loads."""
    data = SEEDS[name]
    place = -1 if at is None else at if isinstance(at, int) else \
        data.rindex(at[0]) if isinstance(at, tuple) else data.index(at)
    WANTS[name] = (error, place)


HEADER, JSON, DEPTH, NPY = 3401, 3101, 2204, 3201


def safetensors(name, header, data=b"", size=None, error=HEADER, at=0):
    """`at` as in want(); text is looked for after the length."""
    header = header.encode() if isinstance(header, str) else header
    size = len(header) if size is None else size
    SEEDS[f"safetensors/{name}"] = struct.pack("<Q", size & (1 << 64) - 1) + header + data
    if name.startswith("legal"):
        error, at = 0, None
    at = at.encode() if isinstance(at, str) else \
        (at[0].encode(),) if isinstance(at, tuple) else at
    want(f"safetensors/{name}", error, at)


def entry(dtype='"F32"', shape="[2]", offsets="[0,8]"):
    return f'{{"a":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}}}'


def all_safetensors():
    eight = b"\0" * 8
    safetensors("legal_one", entry(), eight)
    safetensors("legal_18_scalar", entry(shape="[]", offsets="[0,4]"), eight[:4])
    safetensors("legal_18_zero", entry(shape="[0,7]", offsets="[0,0]"))
    safetensors("legal_20_unaligned", '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                '"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}', b"\0" * 5)
    for name, content in (("short", b"\0\0\0"), ("empty", b"")):
        SEEDS[f"safetensors/01_{name}"] = content
        want(f"safetensors/01_{name}", HEADER, len(content))
    for name, size in (("0", 0), ("2_63", 1 << 63), ("most", -1), ("beyond", 100),
                       ("100_mb", 100000001)):
        safetensors(f"02_header_{name}", "{}", b"", size)
    safetensors("02_header_whole", entry(), eight, 8 + len(entry()) + 8)  # of the file itself
    safetensors("03_leading_space", " {}", at=8)
    safetensors("03_array", "[]", at=8)
    safetensors("03_trailing_nul", b"{}\0\0", error=JSON, at=10)
    safetensors("04_utf8", b'{"\xff":1}', error=JSON, at=b"\xff")
    safetensors("04_overlong", b'{"\xc0\x80":1}', error=JSON, at=b"\xc0")
    safetensors("04_surrogate", '{"\\ud800":1}', error=JSON, at="\\u")
    safetensors("04_bom", b"\xef\xbb\xbf{}", at=8)
    safetensors("05_deep", '{"a":' * 60 + "1" + "}" * 60, error=DEPTH, at=8 + 32 * 5)
    zero = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    safetensors("06_name_twice", f'{{"a":{zero},"a":{zero}}}', error=JSON, at=('"a"',))
    safetensors("06_key_twice",
                '{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}', error=JSON,
                at=('"dtype"',))
    safetensors("06_metadata_twice", '{"__metadata__":{},"__metadata__":{}}', error=JSON,
                at=('"__metadata__"',))
    safetensors("07_metadata_number", '{"__metadata__":{"a":1}}', at="1}")
    safetensors("08_no_offsets", '{"a":{"dtype":"F32","shape":[2]}}', eight, at='{"d')
    safetensors("08_no_dtype", '{"a":{"shape":[2],"data_offsets":[0,8]}}', eight, at='{"s')
    safetensors("08_no_shape", '{"a":{"dtype":"F32","data_offsets":[0,8]}}', eight, at='{"d')
    safetensors("08_extra_key",
                '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}}', eight, at='{"d')
    safetensors("09_dtype_unknown", entry('"F99"'), eight, at='"F99"')
    safetensors("09_dtype_case", entry('"f32"'), eight, at='"f32"')
    for name, number in (("negative", "-2"), ("float", "2.0"), ("exponent", "1e3"),
                         ("2_64", "18446744073709551616"), ("text", '"3"'), ("null", "null")):
        safetensors(f"10_shape_{name}", entry(shape=f"[{number}]"), eight, at=f"{number}]")
    safetensors("11_product", entry(shape="[4611686018427387904,4]"), eight, at="4]")
    safetensors("11_product_zero", entry(shape="[4611686018427387904,4,0]", offsets="[0,0]"),
                at="4,0]")
    safetensors("11_product_2_63", entry(shape="[9223372036854775808,4,0]", offsets="[0,0]"),
                at="9223")
    safetensors("12_backwards", entry(offsets="[8,0]"), eight, at="[8,0]")
    safetensors("13_size", entry(offsets="[0,4]"), eight[:4], at="[0,4]")
    pair = ('{{"a":{{"dtype":"U8","shape":[2],"data_offsets":[0,2]}},'
            '"b":{{"dtype":"U8","shape":[2],"data_offsets":[{0},{1}]}}}}')
    safetensors("14_overlap", pair.format(1, 3), b"\0" * 3, at="[1,3]")
    safetensors("15_hole", pair.format(3, 5), b"\0" * 5, at="[3,5]")
    safetensors("16_bytes_after", entry(), eight + b"\0", at=8 + len(entry()) + 8)
    safetensors("17_beyond", entry(), eight[:4], at="[0,8]")
    safetensors("17_wraps", entry(offsets="[0,18446744073709551615]"), eight, at="18446")
    safetensors("19_sub_byte", entry('"F4"', "[3]", "[0,2]"), b"\0\0", at="[3]")


# ---- npy ----

def npy(name, text, data=b"", version=b"\1\0", length=None, at=None):
    text = text.encode() if isinstance(text, str) else text
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text) if length is None else length)
    SEEDS[f"npy/{name}"] = b"\x93NUMPY" + version + size + text + data
    if at == "data":
        at = 10 + len(text)
    want(f"npy/{name}", 0 if at is None else NPY, at.encode() if isinstance(at, str) else at)


def header(descr="'<f4'", order="False", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def all_npy():
    eight = b"\0" * 8
    npy("legal_two", header(), eight)
    for number in (0, 4, 255):
        npy(f"01_version_{number}", header(), eight, bytes([number, 0]), at=6)
    npy("02_header_beyond", header(), b"", b"\1\0", 60000, at="data")  # the file's end
    npy("02_header_64_kib", header(), b"", b"\2\0", 65537, at=8)
    npy("03_no_dict", "(1, 2)\n", at="(1")
    npy("03_nested", "{'shape': " + "(" * 500 + ")" * 500 + "}\n", at=10 + 11)
    npy("03_code", "{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,), }\n", eight,
        at="__import__")
    whole = header()[:-len("}\n")]
    for key in ("descr", "fortran_order", "shape"):
        npy(f"03_twice_{key}", f"{whole}'{key}': 0, }}\n", eight, at=10 + len(f"{whole}'{key}':"))
    npy("04_order", header(order="Maybe"), eight, at="Maybe")
    npy("05_object", header("'|O'"), eight, at="'|O'")
    npy("05_structure", header("[('a', '<f4')]"), eight, at="[('a'")
    npy("05_big_endian", header("'>f4'"), eight, at="'>f4'")
    npy("05_f3", header("'<f3'"), eight, at="'<f3'")
    npy("06_negative", header(shape="(-2,)"), eight, at="-2")
    npy("06_2_64", header(shape="(18446744073709551616,)"), eight, at="18446")
    npy("06_product", header(shape="(4611686018427387904, 4)"), eight, at="(4611")
    npy("07_short", header(), eight[:7], at="data")
    npy("07_long", header(), eight + b"\0", at="data")
    npy("08_no_newline", header().rstrip(), eight, at="data")
    SEEDS["npy/02_cut_in_magic"] = b"\x93NUM"
    want("npy/02_cut_in_magic", NPY, 0)
