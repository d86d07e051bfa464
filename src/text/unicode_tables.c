/* unicode_tables.c - the generated tables; Korean syllables are computed. */
#include "text/unicode_tables.h"

#include <stddef.h>

#include "text/unicode.h"

struct from {
    uint32_t first;
    uint8_t value;
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

/* Tables of characters are stored byte by byte, the lowest bytes of a column first: they compress
 * to less than half of what rows do, and a wheel has to stay small. */
static uint32_t byte_at(const uint8_t *planes, size_t count, size_t plane, size_t i)
{
    return planes[plane * count + i];
}

/* The character of row `i` whose bytes begin at `plane`. */
static uint32_t character_at(const uint8_t *planes, size_t count, size_t plane, size_t i)
{
    return byte_at(planes, count, plane, i) | byte_at(planes, count, plane + 1, i) << 8 |
           byte_at(planes, count, plane + 2, i) << 16;
}

enum { KEY = 0, NEXT = 3, LAST = 6 }; /* the planes where columns begin */

/* The first row whose key is not below; `count` if there is none. */
static size_t find(const uint8_t *planes, size_t count, uint32_t key, uint32_t next)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const uint32_t at = character_at(planes, count, KEY, mid);
        if (at < key || (at == key && character_at(planes, count, NEXT, mid) < next))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The row of the key; `count` if there is none. */
static size_t row_of(const uint8_t *planes, size_t count, uint32_t key)
{
    const size_t i = find(planes, count, key, 0);
    return i < count && character_at(planes, count, KEY, i) == key ? i : count;
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
    const size_t count = COUNT(*lowers), i = row_of(*lowers, count, c);
    return i < count ? character_at(*lowers, count, NEXT, i) : c;
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
    const size_t count = COUNT(*parts_of), i = c < 0xC0 ? count : row_of(*parts_of, count, c);
    if (i == count)
        return false;
    parts[0] = character_at(*parts_of, count, NEXT, i);
    parts[1] = character_at(*parts_of, count, LAST, i);
    return true;
}

size_t takt_unicode_compatible(uint32_t c, const uint32_t **parts)
{
    const size_t count = COUNT(*compatible), i = row_of(*compatible, count, c);
    if (i == count)
        return 0;
    *parts = letters +
             (byte_at(*compatible, count, NEXT, i) | byte_at(*compatible, count, NEXT + 1, i) << 8);
    return byte_at(*compatible, count, NEXT + 2, i);
}

uint32_t takt_unicode_join(uint32_t a, uint32_t b)
{
    if (a >= L && a < L + LS && b >= V && b < V + VS)
        return S + ((a - L) * VS + (b - V)) * TS;
    if (a >= S && a < S + LS * VS * TS && (a - S) % TS == 0 && b > T && b < T + TS)
        return a + (b - T);
    const size_t count = COUNT(*wholes), i = find(*wholes, count, a, b);
    return i < count && character_at(*wholes, count, KEY, i) == a &&
                   character_at(*wholes, count, NEXT, i) == b
               ? character_at(*wholes, count, LAST, i)
               : 0;
}
