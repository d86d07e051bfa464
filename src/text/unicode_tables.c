/* unicode_tables.c - the generated tables; Korean syllables are computed. */
#include "text/unicode_tables.h"

#include <stddef.h>

#include "text/unicode.h"

struct from {
    uint32_t first;
    uint8_t value;
};

struct pair {
    uint32_t key, a, b;
};

struct slice {
    uint32_t key;
    uint16_t first, count;
};

#include "text/scripts.inc"
#include "text/unicode.inc"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The value of the last range that begins at or before `c`; 0 before the first. */
static int value_at(const struct from *table, size_t count, uint32_t c)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (table[mid].first <= c)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 ? table[low - 1].value : 0;
}

/* The first row whose key is not below; `count` if there is none. */
static size_t find(const struct pair *table, size_t count, uint32_t key, uint32_t a)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (table[mid].key < key || (table[mid].key == key && table[mid].a < a))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int takt_unicode_class_at(uint32_t c)
{
    return value_at(classes, COUNT(classes), c);
}

int takt_unicode_script(uint32_t c)
{
    return value_at(scripts, COUNT(scripts), c);
}

int takt_unicode_order(uint32_t c)
{
    return c < 0x300 ? 0 : value_at(orders, COUNT(orders), c);
}

uint32_t takt_unicode_lower_of(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    const size_t i = find(lowers, COUNT(lowers), c, 0);
    return i < COUNT(lowers) && lowers[i].key == c ? lowers[i].a : c;
}

/* Syllables are leading consonant, vowel and perhaps a trailing consonant. */
enum { S = 0xAC00, L = 0x1100, V = 0x1161, T = 0x11A7, LS = 19, VS = 21, TS = 28 };

bool takt_unicode_split(uint32_t c, uint32_t parts[2])
{
    if (c >= S && c < S + LS * VS * TS) {
        const uint32_t i = c - S, t = i % TS;
        parts[0] = t != 0 ? c - t : L + i / (VS * TS);
        parts[1] = t != 0 ? T + t : V + i / TS % VS;
        return true;
    }
    const size_t i = c < 0xC0 ? COUNT(parts_of) : find(parts_of, COUNT(parts_of), c, 0);
    if (i == COUNT(parts_of) || parts_of[i].key != c)
        return false;
    parts[0] = parts_of[i].a;
    parts[1] = parts_of[i].b;
    return true;
}

size_t takt_unicode_compatible(uint32_t c, const uint32_t **parts)
{
    size_t low = 0, high = COUNT(compatible);
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (compatible[mid].key < c)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == COUNT(compatible) || compatible[low].key != c)
        return 0;
    *parts = letters + compatible[low].first;
    return compatible[low].count;
}

uint32_t takt_unicode_join(uint32_t a, uint32_t b)
{
    if (a >= L && a < L + LS && b >= V && b < V + VS)
        return S + ((a - L) * VS + (b - V)) * TS;
    if (a >= S && a < S + LS * VS * TS && (a - S) % TS == 0 && b > T && b < T + TS)
        return a + (b - T);
    const size_t i = find(wholes, COUNT(wholes), a, b);
    return i < COUNT(wholes) && wholes[i].key == a && wholes[i].a == b ? wholes[i].b : 0;
}
