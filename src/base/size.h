/* size.h - arithmetic on sizes that cannot wrap: on overflow it returns false and leaves `out`
 * untouched. */
#ifndef TAKT_BASE_SIZE_H
#define TAKT_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool takt_size_add(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool takt_size_mul(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* Up to a multiple of `align`, a power of two. */
static inline bool takt_size_align(size_t a, size_t align, size_t *out)
{
    size_t r;
    if (!takt_size_add(a, align - 1, &r))
        return false;
    *out = r & ~(align - 1);
    return true;
}

/* The same for a size that has been checked, as those of tensors have. One that would wrap becomes
 * the largest multiple, for which every allocator fails, never a small one. */
static inline size_t takt_round_up(size_t a, size_t align)
{
    size_t r;
    return takt_size_align(a, align, &r) ? r : SIZE_MAX & ~(align - 1);
}

static inline bool takt_i64_add(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool takt_i64_mul(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* a / b and the rest, without the 40 to 90 cycles of 64 bits on older x86 where that can be
 * avoided: most steps of small models begin at 0. */
size_t takt_quotient(size_t a, size_t b);
size_t takt_remainder(size_t a, size_t b);

/* False if `value` is negative or does not fit. */
static inline bool takt_size_from_i64(int64_t value, size_t *out)
{
    if (value < 0 || (uint64_t)value > SIZE_MAX)
        return false;
    *out = (size_t)value;
    return true;
}

#endif
