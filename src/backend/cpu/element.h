/* element.h - moves elements of any width, also narrower than a byte. */
#ifndef TAKT_BACKEND_CPU_ELEMENT_H
#define TAKT_BACKEND_CPU_ELEMENT_H

#include <string.h>

#include "ir/dtype.h"

/* The same for elements below a byte; element 0 lies in the low bits. */
void takt_copy_packed(int bits, void *to, size_t i, const void *from, size_t j, size_t n);

/* to[i .. i + n) = from[j .. j + n), `bits` wide each; no overlap. */
static inline void takt_copy_elements(int bits, void *to, size_t i, const void *from, size_t j,
                                      size_t n)
{
    const size_t bytes = (size_t)bits / 8;
    if (bits >= 8)
        memcpy((char *)to + i * bytes, (const char *)from + j * bytes, n * bytes);
    else
        takt_copy_packed(bits, to, i, from, j, n);
}

/* Bytes of `n` elements. */
static inline size_t takt_element_bytes(int bits, size_t n)
{
    return bits >= 8 ? n * ((size_t)bits / 8) : (n * (size_t)bits + 7) / 8;
}

/* Unused bits behind the last of `n` elements become 0, as readers of packed values expect. */
void takt_clear_tail(int bits, void *data, size_t n);

static inline unsigned takt_packed_get(int bits, const void *data, size_t i)
{
    const size_t at = i * (size_t)bits;
    return (unsigned)((const unsigned char *)data)[at / 8] >> at % 8 & ((1U << bits) - 1);
}

static inline void takt_packed_put(int bits, void *data, size_t i, unsigned value)
{
    const size_t at = i * (size_t)bits;
    unsigned char *byte = (unsigned char *)data + at / 8;
    const unsigned mask = ((1U << bits) - 1) << at % 8;
    *byte = (unsigned char)((*byte & ~mask) | value << at % 8);
}

#endif
