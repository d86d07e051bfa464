/* hash.h - 64-bit hashing for tables and digests. */
#ifndef TAKT_BASE_HASH_H
#define TAKT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/inner.h"

/* Mixes `length` bytes into `seed`. */
TAKT_INNER uint64_t takt_hash_bytes(uint64_t seed, const void *bytes, size_t length);
static inline uint64_t takt_hash_word(uint64_t seed, uint64_t word)
{
    uint64_t h = (seed ^ word) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    return h ^ (h >> 29);
}

#endif
