"""unapply.py FILE... - zeros the pointers of a library or program that its loader writes.

GNU ld for x86-64 writes each relative pointer twice: as the addend of its relocation, which is what
counts, and where it belongs. On ARM --no-apply-dynamic-relocs leaves the second out; here it is
done to the finished file. 12,000 pointers that compress badly become zeros: 35 KB of a wheel.
"""
import struct
import sys

X86_64, RELATIVE, LOAD, RELA = 62, 8, 1, 4


def headers(image, at, count, size, layout):
    return [struct.unpack_from(layout, image, at + i * size) for i in range(count)]


def unapply(image):
    """How many pointers of `image`, a bytearray, were zeroed; 0 if it is for another processor."""
    if image[:6] != b"\x7fELF\2\1" or struct.unpack_from("<H", image, 18)[0] != X86_64:
        return 0
    segments_at, sections_at = struct.unpack_from("<QQ", image, 32)
    segment_size, segments, section_size, sections = struct.unpack_from("<HHHH", image, 54)
    # of a segment: type, flags, offset, address, physical address, bytes in the file
    loaded = [s for s in headers(image, segments_at, segments, segment_size, "<IIQQQQ")
              if s[0] == LOAD]
    count = 0
    # of a section: name, type, flags, address, offset, size
    for section in headers(image, sections_at, sections, section_size, "<IIQQQQ"):
        if section[1] != RELA or section[3] == 0:
            continue
        for at in range(section[4], section[4] + section[5], 24):
            place, info, addend = struct.unpack_from("<QQq", image, at)
            found = [place - s[3] + s[2] for s in loaded if s[3] <= place < s[3] + s[5]]
            if info != RELATIVE or not found:
                continue
            if struct.unpack_from("<q", image, found[0])[0] == addend:
                struct.pack_into("<q", image, found[0], 0)
                count += 1
    return count


def main():
    for path in sys.argv[1:]:
        with open(path, "r+b") as file:
            image = bytearray(file.read())
            if unapply(image):
                file.seek(0)
                file.write(image)


if __name__ == "__main__":
    main()
