"""_seeds_taktp.py - the bad inputs of compiled models: each has one defect, and every checksum is
correct unless it is the defect."""
import struct

from _seeds_weights import SEEDS, want

DAMAGED, TOO_NEW, NOT_FOUND, SHAPE, SYNTAX, LIMIT = 3007, 3008, 1002, 2101, 2201, 2111
MAGIC = b"\x89TAKTP\x1a\n"
TEXT = b"""model m(x: f32[3]) -> (y: f32[3]) {
  param w: f32[3] = tensor(ref=0)
  c = constant(i32[2, 2], ref=1)
  v = add(x, w)
  y = add(v, 1)
  return y = y
}
"""


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def up(at):
    return at + 63 & ~63


def weight(dtype, dims, data, offset, length=None, name=b"", crc=None, rank=None, named=None):
    return struct.pack("<II", dtype, len(dims) if rank is None else rank) \
        + b"".join(struct.pack("<Q", dim & (1 << 64) - 1) for dim in dims) \
        + struct.pack("<QQII", offset, len(data) if length is None else length,
                      crc32c(data) if crc is None else crc,
                      len(name) if named is None else named) + name


FLOATS, WHOLE = struct.pack("<3f", 1, 2, 3), struct.pack("<4i", 1, 2, 3, 4)
FIRST, SECOND = weight(1, [3], FLOATS, 0, name=b"w"), weight(5, [2, 2], WHOLE, 64)
DATA = FLOATS + bytes(52) + WHOLE


def sections(graph=TEXT, index=FIRST + SECOND, data=DATA):
    return [[b"grph", 0, graph], [b"wght", 0, index], [b"line", 1, b"{}"], [b"data", 0, data]]


def build(parts, major=1, minor=0, numerics=1, length=None, count=None, table_crc=None,
          header_crc=None, shift=(-1, 0), longer=(-1, 0), crc=(-1, 0), tail=b""):
    """`shift`, `longer` and `crc`: the section whose offset, length or checksum is wrong."""
    at, table, body = 64 + 32 * len(parts), b"", b""
    for i, (kind, flags, content) in enumerate(parts):
        body += bytes(up(at) - at) + content
        table += kind + struct.pack(
            "<IQQII", flags, up(at) + shift[1] * (i == shift[0]),
            len(content) + longer[1] * (i == longer[0]),
            crc[1] if i == crc[0] else 0 if kind == b"data" else crc32c(content), 0)
        at = up(at) + len(content)
    body += tail
    whole = 64 + len(table) + len(body)
    head = MAGIC + struct.pack(
        "<HHIQII", major, minor, numerics, whole if length is None else length,
        len(parts) if count is None else count,
        crc32c(table) if table_crc is None else table_crc) + bytes(28)
    check = crc32c(head) if header_crc is None else header_crc
    return head + struct.pack("<I", check) + table + body


def seed(name, data, error=DAMAGED):
    SEEDS[f"taktp/{name}"] = data
    want(f"taktp/{name}", 0 if name.startswith("legal") else error, None)


def headers():
    good = build(sections())
    seed("legal", good)
    seed("legal_03_minor", build(sections(), minor=7))
    seed("legal_05_optional", build(sections() + [[b"new!", 1, b"?"]]))
    seed("legal_05_no_lineage", build([p for p in sections() if p[0] != b"line"]))
    for size in (8, 63, 64, 191, len(good) - 1):
        seed(f"01_cut_{size}", good[:size])
    seed("01_longer", good + b"\0")
    seed("02_header_checksum", build(sections(), header_crc=0))
    seed("02_header_bits", good[:40] + b"\1" + good[41:])
    seed("03_major_0", build(sections(), major=0), TOO_NEW)
    seed("03_major_2", build(sections(), major=2), TOO_NEW)
    seed("03_numerics", build(sections(), numerics=2), TOO_NEW)
    seed("04_sections_0", build([]))
    seed("04_sections_most", build(sections(), count=(1 << 32) - 1))
    seed("04_sections_65", build(sections() + [[b"new!", 1, b""]] * 61))
    seed("04_table_checksum", build(sections(), table_crc=0))
    seed("04_length", build(sections(), length=1 << 63))


def tables():
    parts = sections()
    seed("05_before", build(parts, shift=(1, -64)))
    seed("05_gap", build(parts, shift=(1, 64)))
    seed("05_offset_most", build(parts, shift=(1, (1 << 64) - 64 - up(up(192) + len(TEXT)))))
    seed("05_beyond", build(parts, longer=(3, 1)))
    seed("05_length_most", build(parts, longer=(3, (1 << 64) - 1 - len(DATA))))
    good = build(parts)
    seed("05_between", good[:up(192) + len(TEXT)] + b"\1" + good[up(192) + len(TEXT) + 1:])
    for i, kind in enumerate(("graph", "weights", "lineage")):
        seed(f"05_checksum_{kind}", build(parts, crc=(i, 1)))
    for i in (0, 1, 2, 3):
        seed(f"05_twice_{i}", build(parts[:-1] + [parts[i], parts[-1]]))
    seed("05_unknown", build(parts + [[b"new!", 0, b""]]), TOO_NEW)
    for i in (0, 1, 3):
        seed(f"05_missing_{i}", build(parts[:i] + parts[i + 1:]))
    seed("05_after_last", build(parts, tail=b"\0"))


def weights():
    def bad(name, index, data=DATA):
        seed(name, build(sections(index=index, data=data)))
    bad("06_dtype", weight(99, [3], FLOATS, 0) + SECOND)
    bad("06_rank_most", weight(1, [3], FLOATS, 0, rank=(1 << 32) - 1) + SECOND)
    bad("06_rank_17", weight(1, [1] * 17, FLOATS, 0) + SECOND)
    bad("06_dim_minus_1", weight(1, [-1], FLOATS, 0) + SECOND)
    bad("06_dim_least", weight(1, [-(1 << 63)], FLOATS, 0) + SECOND)
    bad("06_dim_largest", weight(1, [(1 << 63) - 1], FLOATS, 0) + SECOND)
    bad("06_dims_overflow", weight(1, [1 << 32, 1 << 32], FLOATS, 0) + SECOND)
    bad("06_length", weight(1, [3], FLOATS, 0, length=16) + SECOND)
    bad("06_offset", weight(1, [3], FLOATS, 64) + SECOND)
    bad("06_offset_most", weight(1, [3], FLOATS, (1 << 64) - 64) + SECOND)
    bad("06_beyond", FIRST + weight(5, [2, 2], WHOLE, 64), DATA[:-1])
    bad("06_name_most", weight(1, [3], FLOATS, 0, named=(1 << 32) - 1) + SECOND)
    for size in (3, 7, 15, 24, 31, 36):
        bad(f"06_cut_{size}", (FIRST + SECOND)[:size])
    bad("06_one_more", FIRST + SECOND + SECOND)
    bad("07_between", FIRST + SECOND, FLOATS + b"\1" + DATA[13:])
    bad("07_checksum", weight(1, [3], FLOATS, 0, crc=1) + SECOND)
    bad("07_after_last", FIRST + SECOND, DATA + b"\0")
    bad("07_none_described", b"")


def graphs():
    def bad(name, old, new, error=NOT_FOUND):
        seed(name, build(sections(TEXT.replace(old, new))), error)
    bad("08_ref_beyond", b"ref=0", b"ref=2")
    bad("08_ref_minus_1", b"ref=0", b"ref=-1")
    bad("08_ref_most", b"ref=0", b"ref=99999999999999999999")
    bad("08_ref_other_type", b"f32[3] = tensor", b"f32[4] = tensor", SHAPE)
    bad("08_constant_beyond", b"ref=1", b"ref=2")
    bad("08_constant_other_type", b"i32[2, 2], ref", b"i32[4], ref", SHAPE)
    bad("08_nul", b"y = add", b"y = \0add", SYNTAX)
    bad("08_not_a_model", TEXT, b"{}", SYNTAX)
    bad("08_empty", TEXT, b"", SYNTAX)
    # A few bytes that request gigabytes: the size of a text is bounded in an archive as well.
    bad("08_tables_of_lists", TEXT, b"model m(x: f32[4]) {\n  l = [1]\n  repeat 15 { l = l + l }\n"
        b"  repeat 100000 { k = l[1:] }\n  return x\n}\n", LIMIT)


def all_taktp():
    for part in (headers, tables, weights, graphs):
        part()
