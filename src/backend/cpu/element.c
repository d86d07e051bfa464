/* element.c - moves elements narrower than a byte. */
#include "backend/cpu/element.h"

void takt_copy_packed(int bits, void *to, size_t i, const void *from, size_t j, size_t n)
{
    const size_t each = 8 / (size_t)bits; /* elements of a byte */
    if (i % each == 0 && j % each == 0) {
        memcpy((char *)to + i / each, (const char *)from + j / each, n / each);
        i += n - n % each;
        j += n - n % each;
        n %= each;
    }
    for (size_t k = 0; k < n; k++)
        takt_packed_put(bits, to, i + k, takt_packed_get(bits, from, j + k));
}

void takt_clear_tail(int bits, void *data, size_t n)
{
    if (bits >= 8 || n * (size_t)bits % 8 == 0)
        return;
    const size_t at = n * (size_t)bits;
    ((unsigned char *)data)[at / 8] &= (unsigned char)((1U << at % 8) - 1);
}
