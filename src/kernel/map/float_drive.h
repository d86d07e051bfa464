/* float_drive.h - iterates over operands of one float type and applies a vector function.
 *
 * Included after a header that defines, for float or double: T, vec, mask, LANES, VEC(name) and
 * MASK(name). Drivers are inlined with their function, so an operation costs no call. With `four`,
 * operations take four vectors a round, which gives the processor independent work; the rarer
 * functions take one, in a quarter of the code. All loads of a round come before its stores, so dst
 * may be an operand. With `asks`, data 2 KB ahead is prefetched: beyond L1, the processor does not
 * see the loads of an operation of several instructions early enough.
 */
#ifndef TAKT_KERNEL_MAP_FLOAT_DRIVE_H
#define TAKT_KERNEL_MAP_FLOAT_DRIVE_H

#define INLINE static inline __attribute__((always_inline))

/* An operand: one value, or a run of them. */
typedef struct operand {
    const T *p;
    vec one;
    bool is_one;
} operand;

INLINE operand operand_of(const void *src, unsigned char is_scalar)
{
    const T *p = src;
    return (operand){p, is_scalar ? VEC(set1)(*p) : VEC(set1)((T)0), is_scalar != 0};
}

INLINE vec take(operand x, size_t i)
{
    return x.is_one ? x.one : VEC(load)(x.p + i);
}
INLINE vec take_n(operand x, size_t i, size_t n)
{
    return x.is_one ? x.one : VEC(load_n)(x.p + i, n);
}

/* As many rounds of `count` vectors as fit; returns where they end. */
INLINE size_t rounds(T *d, const T *x, size_t n, vec (*op)(vec), const size_t count, bool asks)
{
    enum { AHEAD = 2048 / sizeof(T), MOST = 8 };
    size_t i = 0;
    for (; i + count * LANES <= n; i += count * LANES) {
        vec y[MOST];
        if (asks)
            __builtin_prefetch(x + i + AHEAD);
        for (size_t j = 0; j < count; j++)
            y[j] = op(VEC(load)(x + i + j * LANES));
        for (size_t j = 0; j < count; j++)
            VEC(store)(d + i + j * LANES, y[j]);
    }
    return i;
}

/* Data in L3 gains from a prefetch. Nearer data loses; so does data in memory, where the hardware
 * prefetcher does it. */
INLINE size_t asking_rounds(T *d, const T *x, size_t n, vec (*op)(vec))
{
    const bool is_far = n > (384 << 10) / sizeof(T) && n <= (24 << 20) / sizeof(T);
    return is_far ? rounds(d, x, n, op, 4, true) : rounds(d, x, n, op, 8, false);
}

/* The tail has its own copy of the operation: the calls it needs would keep the compiler from
 * holding constants in registers. It also serves a single operand, whose result fills dst. */
INLINE void unary(T *d, operand x, size_t n, vec (*op)(vec), bool four, bool asks)
{
    size_t i = asks && !x.is_one ? asking_rounds(d, x.p, n, op) : 0;
    for (; four && !asks && !x.is_one && i + 4 * LANES <= n; i += 4 * LANES) {
        const vec a = op(VEC(load)(x.p + i)), b = op(VEC(load)(x.p + i + LANES));
        const vec c = op(VEC(load)(x.p + i + 2 * LANES)), e = op(VEC(load)(x.p + i + 3 * LANES));
        VEC(store)(d + i, a);
        VEC(store)(d + i + LANES, b);
        VEC(store)(d + i + 2 * LANES, c);
        VEC(store)(d + i + 3 * LANES, e);
    }
    for (; !x.is_one && i + LANES <= n; i += LANES)
        VEC(store)(d + i, op(VEC(load)(x.p + i)));
    if (i < n) {
        const vec y = op(take_n(x, i, n - i));
        for (; i + LANES <= n; i += LANES)
            VEC(store)(d + i, y);
        VEC(store_n)(d + i, y, n - i);
    }
}

INLINE void binary_loop(T *d, operand x, operand y, size_t n, vec (*op)(vec, vec), bool four)
{
    size_t i = 0;
    for (; four && i + 4 * LANES <= n; i += 4 * LANES) {
        const vec a = op(take(x, i), take(y, i));
        const vec b = op(take(x, i + LANES), take(y, i + LANES));
        const vec c = op(take(x, i + 2 * LANES), take(y, i + 2 * LANES));
        const vec e = op(take(x, i + 3 * LANES), take(y, i + 3 * LANES));
        VEC(store)(d + i, a);
        VEC(store)(d + i + LANES, b);
        VEC(store)(d + i + 2 * LANES, c);
        VEC(store)(d + i + 3 * LANES, e);
    }
    for (; i + LANES <= n; i += LANES)
        VEC(store)(d + i, op(take(x, i), take(y, i)));
    if (i < n)
        VEC(store_n)(d + i, op(take_n(x, i, n - i), take_n(y, i, n - i)), n - i);
}

/* Each case knows at compile time which operand is one value. */
INLINE void binary(T *d, operand x, operand y, size_t n, vec (*op)(vec, vec), bool four)
{
    if (!four)
        binary_loop(d, x, y, n, op, false);
    else if (x.is_one)
        binary_loop(d, (operand){x.p, x.one, true}, y, n, op, true);
    else if (y.is_one)
        binary_loop(d, (operand){x.p, x.one, false}, (operand){y.p, y.one, true}, n, op, true);
    else
        binary_loop(d, (operand){x.p, x.one, false}, (operand){y.p, y.one, false}, n, op, true);
}

INLINE void predicate(uint8_t *d, operand x, operand y, size_t n, mask (*op)(vec, vec))
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        MASK(store_u8)(d + i, op(take(x, i), take(y, i)));
    if (i < n)
        MASK(store_u8_n)(d + i, op(take_n(x, i, n - i), take_n(y, i, n - i)), n - i);
}

INLINE void choose(T *d, const uint8_t *m, bool is_one, operand x, operand y, size_t n)
{
    const uint8_t bytes = is_one ? *m : 0;
    uint8_t same[LANES];
    memset(same, bytes, sizeof same);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const mask pick = MASK(load_u8)(is_one ? same : m + i);
        VEC(store)(d + i, VEC(select)(pick, take(x, i), take(y, i)));
    }
    if (i < n) {
        const size_t left = n - i;
        const mask pick = is_one ? MASK(load_u8)(same) : MASK(load_u8_n)(m + i, left);
        VEC(store_n)(d + i, VEC(select)(pick, take_n(x, i, left), take_n(y, i, left)), left);
    }
}

#endif
