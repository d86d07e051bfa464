/* flex.c - flexbuffers: a map whose values are numbers. Every offset is checked against the
 * bytes. */
#include "io/tflite/flex.h"

#include <stdint.h>
#include <string.h>

enum { INT = 1, UINT = 2, FLOAT = 3, MAP = 9, BOOL = 26 };

/* `width` bytes at `at` as an unsigned number. */
static bool number_at(takt_span b, size_t at, size_t width, uint64_t *value)
{
    if (width == 0 || width > 8 || at > b.length || width > b.length - at)
        return false;
    *value = 0;
    for (size_t i = 0; i < width; i++)
        *value |= (uint64_t)(uint8_t)b.at[at + i] << 8 * i;
    return true;
}

/* The position that the offset at `at` points back to. */
static bool follow(takt_span b, size_t at, size_t width, size_t *to)
{
    uint64_t back;
    if (!number_at(b, at, width, &back) || back > at)
        return false;
    *to = at - (size_t)back;
    return true;
}

static bool key_is(takt_span b, size_t at, const char *key)
{
    const size_t length = strlen(key);
    return at <= b.length && length < b.length - at && memcmp(b.at + at, key, length + 1) == 0;
}

/* The number of `width` bytes at `at`, which has this type. */
static bool value_of(takt_span b, size_t at, size_t width, unsigned type, double *value)
{
    uint64_t bits;
    if (!number_at(b, at, width, &bits))
        return false;
    if (type == FLOAT && width == 4) {
        const uint32_t narrow = (uint32_t)bits;
        float f;
        memcpy(&f, &narrow, sizeof f);
        *value = (double)f;
    } else if (type == FLOAT && width == 8) {
        memcpy(value, &bits, sizeof *value);
    } else if (type == INT) {
        const unsigned unused = 64 - 8 * (unsigned)width;
        *value = (double)((int64_t)(bits << unused) >> unused);
    } else if (type == UINT || type == BOOL) {
        *value = (double)bits;
    } else {
        return false;
    }
    return true;
}

bool takt_flex_number(takt_span b, const char *key, double *value)
{
    size_t map, keys, name;
    uint64_t root_width, root_type, key_width, count;
    if (b.length < 3 || !number_at(b, b.length - 1, 1, &root_width) || root_width > b.length - 2 ||
        !number_at(b, b.length - 2, 1, &root_type) || root_type >> 2 != MAP ||
        !follow(b, b.length - 2 - (size_t)root_width, (size_t)root_width, &map))
        return false;
    const size_t width = (size_t)1 << (root_type & 3);
    if (map < 3 * width || !follow(b, map - 3 * width, width, &keys) ||
        !number_at(b, map - 2 * width, width, &key_width) ||
        !number_at(b, map - width, width, &count) || count > b.length || key_width > 8)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t type;
        if (!follow(b, keys + i * (size_t)key_width, (size_t)key_width, &name) ||
            !number_at(b, map + (size_t)count * width + i, 1, &type))
            return false;
        if (key_is(b, name, key))
            return value_of(b, map + i * width, width, (unsigned)type >> 2, value);
    }
    return false;
}
