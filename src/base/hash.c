/* hash.c - 64-bit hash of bytes: the same on every machine, and keyed by its seed. */
#include "base/hash.h"

/* Both halves of the full product: every input bit reaches every output bit. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load(const unsigned char *at, size_t count)
{
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

uint64_t takt_hash_bytes(uint64_t seed, const void *bytes, size_t length)
{
    const uint64_t k1 = 0xA0761D6478BD642Fu, k2 = 0xE7037ED1A0B428DBu;
    const unsigned char *at = bytes != NULL ? bytes : (const unsigned char *)""; /* no bytes */
    uint64_t h = fold(seed ^ k1, (uint64_t)length ^ k2);
    size_t left = length;
    for (; left > 16; left -= 16, at += 16)
        h = fold(load(at, 8) ^ k1 ^ h, load(at + 8, 8) ^ k2 ^ seed);
    uint64_t low, high = 0;
    if (left < 8)
        low = load(at, left);
    else
        low = load(at, 8);
    if (left > 8) /* the rest are the upper bytes of the last eight */
        high = load(at + left - 8, 8) >> (8 * (16 - left));
    h = fold(low ^ k1 ^ h, high ^ k2 ^ seed);
    return takt_hash_word(h, k2);
}
