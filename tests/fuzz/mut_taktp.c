/* mut_taktp.c - changes a compiled model section by section, so that the others are still where the
 * table says; the target corrects the checksums. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "io/takt/taktp.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

enum { ROOM = 1 << 16, SECTIONS = 8 };

typedef struct part {
    size_t offset, length;
} part;

static uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | from[i];
    return value;
}

static void put64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* The number of sections; 0 if the table is invalid. */
static size_t parts_of(const uint8_t *data, size_t size, part parts[SECTIONS])
{
    if (size < TAKTP_HEADER || size > ROOM)
        return 0;
    const size_t count = (size_t)get(data + 24, 4);
    if (count > SECTIONS || TAKTP_HEADER + count * TAKTP_ENTRY > size)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *entry = data + TAKTP_HEADER + i * TAKTP_ENTRY;
        const uint64_t offset = get(entry + 8, 8), length = get(entry + 16, 8);
        if (offset > size || length > size - offset)
            return 0;
        parts[i] = (part){(size_t)offset, (size_t)length};
    }
    return count;
}

/* Copies header and table, then the sections, each to its new offset. */
static size_t assemble(uint8_t *to, const uint8_t *head, const uint8_t *const *from,
                       const part *parts, size_t count)
{
    size_t at = TAKTP_HEADER + count * TAKTP_ENTRY;
    memcpy(to, head, at);
    for (size_t i = 0; i < count; i++) {
        uint8_t *entry = to + TAKTP_HEADER + i * TAKTP_ENTRY;
        const size_t offset = (at + TAKTP_ALIGN - 1) & ~(size_t)(TAKTP_ALIGN - 1);
        if (offset + parts[i].length > 2 * ROOM)
            return 0;
        memset(to + at, 0, offset - at);
        memcpy(to + offset, from[i], parts[i].length);
        put64(entry + 8, offset);
        put64(entry + 16, parts[i].length);
        at = offset + parts[i].length;
    }
    put64(to + 16, at);
    return at;
}

/* The size of the file after the change of `section`; 0 if it is too long. */
static size_t change(uint8_t *data, size_t max_size, part *parts, size_t count, size_t section)
{
    static uint8_t changed[ROOM], whole[2 * ROOM];
    const uint8_t *from[SECTIONS];
    for (size_t i = 0; i < count; i++)
        from[i] = data + parts[i].offset;
    memcpy(changed, from[section], parts[section].length);
    from[section] = changed;
    const size_t most = parts[section].length + 64;
    parts[section].length =
        LLVMFuzzerMutate(changed, parts[section].length, most < ROOM ? most : ROOM);
    const size_t size = assemble(whole, data, from, parts, count);
    if (size == 0 || size > max_size)
        return 0;
    memcpy(data, whole, size);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    part parts[SECTIONS];
    const size_t count = parts_of(data, size, parts);
    const size_t pick = seed % 8; /* one in four changes bytes; half of all the first section */
    if (count > 0 && pick >= 2) {
        const size_t section = pick >= 4 ? 0 : seed / 8 % count;
        const size_t changed = change(data, max_size, parts, count, section);
        if (changed > 0)
            return changed;
    }
    return LLVMFuzzerMutate(data, size, max_size);
}
