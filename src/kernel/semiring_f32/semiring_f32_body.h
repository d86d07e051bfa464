/* semiring_f32_body.h - every variant of semiring_f32 is this, compiled for its ISA. */
#include <stdint.h>
#include <string.h>

#include "kernel/semiring_f32/semiring_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))
#define HAS_PRUNED (TAKT_SIMD_SET != 1) /* the scalar variant is the specification */

/* Of c in registers: rows, and vectors of columns. NEON spends an instruction on each factor of a
 * that it repeats in all lanes, so that wide tiles are better. */
#if TAKT_SIMD_SET == 2
enum { ROWS = 2, ABREAST = 8 };
#else
enum { ROWS = 4, ABREAST = 2 };
#endif
enum { DEPTH = 1024 / (ABREAST * VF) }; /* rows of b that are gathered at a time */
enum { WIDE = 4 };                      /* vectors of columns at once while facts are gathered */

/* The instructions of x86 are the contract's choices; elsewhere they are made of a comparison. */
#if TAKT_SIMD_SET == 3
INLINE vf larger(vf x, vf y)
{
    return _mm256_max_ps(x, y);
}
INLINE vf lesser(vf x, vf y)
{
    return _mm256_min_ps(x, y);
}
#elif TAKT_SIMD_SET == 4
INLINE vf larger(vf x, vf y)
{
    return _mm512_max_ps(x, y);
}
INLINE vf lesser(vf x, vf y)
{
    return _mm512_min_ps(x, y);
}
#else
INLINE vf larger(vf x, vf y)
{
    return vf_select(vf_gt(x, y), x, y);
}
INLINE vf lesser(vf x, vf y)
{
    return vf_select(vf_lt(x, y), x, y);
}
#endif

/* NEON's own instructions make the contract's choices where no operand is a NaN or a -0. */
#define HAS_PLAIN (TAKT_SIMD_SET == 2)
#if HAS_PLAIN
INLINE vf larger_plain(vf x, vf y)
{
    return vf_max(x, y);
}
INLINE vf lesser_plain(vf x, vf y)
{
    return vf_min(x, y);
}
#else
#define larger_plain larger
#define lesser_plain lesser
#endif

INLINE vf load(const float *p, size_t n)
{
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}

INLINE void store(float *p, vf v, size_t n)
{
    if (n == VF)
        vf_store(p, v);
    else
        vf_store_n(p, v, n);
}

/* ---- the product ---- */

INLINE vf start(const takt_semiring s)
{
    return s == TAKT_MIN_ADD ? vf_set1(INFINITY) : s == TAKT_NOISY_OR ? vf_set1(1) : vf_zero();
}

INLINE vf term(const takt_semiring s, vf a, vf b)
{
    switch (s) {
    case TAKT_MAX_MIN: return lesser(a, b);
    case TAKT_MAX_MUL: return vf_mul(a, b);
    case TAKT_MIN_ADD: return vf_add(a, b);
    case TAKT_NOISY_OR: return vf_fnma(a, b, vf_set1(1));
    default: return larger(vf_sub(vf_add(a, b), vf_set1(1)), vf_zero());
    }
}

INLINE vf gather(const takt_semiring s, vf sum, vf t)
{
    switch (s) {
    case TAKT_MAX_MIN:
    case TAKT_MAX_MUL: return larger(sum, t);
    case TAKT_MIN_ADD: return lesser(sum, t);
    case TAKT_NOISY_OR: return vf_mul(sum, t);
    default: return vf_add(sum, t);
    }
}

INLINE vf finish(const takt_semiring s, vf sum)
{
    if (s == TAKT_NOISY_OR)
        return vf_sub(vf_set1(1), sum);
    return s == TAKT_LUKASIEWICZ ? lesser(sum, vf_set1(1)) : sum;
}

/* One step of a sum; `plain`: by the instructions above. */
INLINE vf step(const takt_semiring s, const bool plain, vf sum, vf a, vf b)
{
    if (!plain)
        return gather(s, sum, term(s, a, b));
    if (s == TAKT_MIN_ADD)
        return lesser_plain(sum, vf_add(a, b));
    return larger_plain(sum, s == TAKT_MAX_MIN ? lesser_plain(a, b) : vf_mul(a, b));
}

/* Whether a NaN, a -0, or an infinity that a term could turn into a NaN is among them. */
INLINE bool is_odd(const float *x, size_t count, const takt_semiring s)
{
    uint32_t bits, odd = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, x + i, sizeof bits);
        odd |= (bits & 0x7fffffff) > 0x7f800000 || bits == 0x80000000;
        odd |= s == TAKT_MIN_ADD && bits == 0xff800000;
        odd |= s == TAKT_MAX_MUL && bits >= 0x7f800000;
    }
    return odd != 0;
}

/* Checking the operands costs too much for a few rows. */
INLINE bool is_plain(const takt_semiring_f32 *p, const takt_semiring s)
{
    return (HAS_PLAIN || (HAS_PRUNED && s == TAKT_MAX_MIN)) && s <= TAKT_MIN_ADD && p->m >= 16 &&
           !is_odd(p->a, p->m * p->k, s) && !is_odd(p->b, p->k * p->n, s);
}

/* Where a tile of c begins, and how many lanes its last vector has. */
typedef struct place {
    size_t i, j, lanes;
} place;

/* Rows [from, end) of b, `count` vectors of columns, side by side: where they lie in b, a cache has
 * no room for all of them. */
typedef struct panel {
    const float *at;
    size_t stride, from, end;
    bool plain;
} panel;

/* `rows` rows by `count` vectors of c. */
INLINE void tile(const takt_semiring_f32 *p, const takt_semiring s, panel b, place at,
                 const size_t rows, const size_t count)
{
    const size_t i = at.i, j = at.j, n = at.lanes;
    vf sum[ROWS][ABREAST];
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < count; v++)
            sum[r][v] = b.from == 0 ? start(s) : load(p->c + (i + r) * p->n + j + v * VF, n);
    for (size_t k = b.from; k < b.end; k++) {
        vf a[ROWS];
        for (size_t r = 0; r < rows; r++)
            a[r] = vf_set1(p->a[(i + r) * p->k + k]);
        for (size_t v = 0; v < count; v++) {
            const vf x = load(b.at + (k - b.from) * b.stride + v * VF, n);
            for (size_t r = 0; r < rows; r++)
                sum[r][v] = step(s, b.plain, sum[r][v], a[r], x);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < count; v++)
            store(p->c + (i + r) * p->n + j + v * VF,
                  b.end == p->k ? finish(s, sum[r][v]) : sum[r][v], n);
}

/* All rows of a panel. */
INLINE void strip(const takt_semiring_f32 *p, const takt_semiring s, panel b, place at,
                  const size_t count)
{
    for (; at.i + ROWS <= p->m; at.i += ROWS)
        tile(p, s, b, at, ROWS, count);
    for (; at.i < p->m; at.i++)
        tile(p, s, b, at, 1, count);
}

/* Columns that fill whole vectors, in panels that are gathered first. */
INLINE void panels(const takt_semiring_f32 *p, const takt_semiring s, const bool plain, size_t j)
{
    float room[DEPTH * ABREAST * VF];
    size_t k = 0;
    do {
        const size_t end = p->k - k < DEPTH ? p->k : k + DEPTH;
        for (size_t i = k; i < end; i++)
            for (size_t v = 0; v < ABREAST; v++)
                vf_store(room + ((i - k) * ABREAST + v) * VF,
                         vf_load(p->b + i * p->n + j + v * VF));
        strip(p, s, (panel){room, ABREAST * VF, k, end, plain}, (place){0, j, VF}, ABREAST);
        k = end;
    } while (k < p->k);
}

INLINE void rows(const takt_semiring_f32 *p, const takt_semiring s, const bool plain)
{
    size_t j = 0;
    for (; j + ABREAST * VF <= p->n; j += ABREAST * VF)
        panels(p, s, plain, j);
    for (; j + 2 * VF <= p->n; j += 2 * VF)
        strip(p, s, (panel){p->b + j, p->n, 0, p->k, plain}, (place){0, j, VF}, 2);
    for (; j + VF <= p->n; j += VF)
        strip(p, s, (panel){p->b + j, p->n, 0, p->k, plain}, (place){0, j, VF}, 1);
    if (j < p->n)
        strip(p, s, (panel){p->b + j, p->n, 0, p->k, plain}, (place){0, j, p->n - j}, 1);
}

#include "kernel/semiring_f32/semiring_f32_prune.h"

/* All rows, by instructions that need operands without NaN and -0. */
INLINE void rows_plain(const takt_semiring_f32 *p, const takt_semiring s)
{
    takt_semiring_f32 rest = *p;
    if (HAS_PRUNED && s == TAKT_MAX_MIN) {
        const size_t done = pruned(p);
        rest.m -= done;
        rest.a += done * p->k;
        rest.c += done * p->n;
    }
    rows(&rest, s, true);
}

INLINE void product(const takt_semiring_f32 *p, const takt_semiring s)
{
    if (is_plain(p, s))
        rows_plain(p, s);
    else
        rows(p, s, false);
}

/* ---- the gradient ---- */

/* For row i and `width` vectors of columns from j on: the extreme and the share of each term that
 * equals it; or the product of the non-zero factors and the number of zeros; or the sum alone.
 * Several vectors in parallel hide the latency of a chain of products. */
INLINE void facts(const takt_semiring_f32 *p, const takt_semiring s, place at, const size_t width)
{
    const float *a = p->a + at.i * p->k, *b = p->b + at.j;
    vf sum[WIDE], count[WIDE];
    const vf one = vf_set1(1);
    for (size_t v = 0; v < width; v++) {
        sum[v] = start(s);
        count[v] = vf_zero();
    }
    for (size_t k = 0; k < p->k; k++)
        for (size_t v = 0; v < width; v++) {
            const vf t = term(s, vf_set1(a[k]), load(b + k * p->n + v * VF, at.lanes));
            if (s == TAKT_NOISY_OR) {
                const vm is_zero = vf_eq(t, vf_zero());
                count[v] = vf_select(is_zero, vf_add(count[v], one), count[v]);
                sum[v] = vf_mul(sum[v], vf_select(is_zero, one, t));
            } else {
                sum[v] = gather(s, sum[v], t);
            }
        }
    if (s != TAKT_NOISY_OR && s != TAKT_LUKASIEWICZ) {
        for (size_t k = 0; k < p->k; k++)
            for (size_t v = 0; v < width; v++) {
                const vf t = term(s, vf_set1(a[k]), load(b + k * p->n + v * VF, at.lanes));
                count[v] = vf_select(vf_eq(t, sum[v]), vf_add(count[v], one), count[v]);
            }
        for (size_t v = 0; v < width; v++)
            count[v] = vf_div(one, count[v]);
    }
    for (size_t v = 0; v < width; v++) {
        store(p->scratch + at.j + v * VF, sum[v], at.lanes);
        store(p->scratch + p->n + at.j + v * VF, count[v], at.lanes);
    }
}

/* d c[i][j] / d a[k] for a vector of k, where x and y are facts of (i, j). */
INLINE vf slope(const takt_semiring s, vf a, vf b, float x, float y)
{
    const vf zero = vf_zero(), t = term(s, a, b);
    vf d;
    switch (s) {
    case TAKT_MAX_MIN:
        d = vf_select(vf_lt(a, b), vf_set1(1), vf_select(vf_eq(a, b), vf_set1(0.5F), zero));
        break;
    case TAKT_MAX_MUL: d = b; break;
    case TAKT_MIN_ADD: d = vf_set1(1); break;
    case TAKT_NOISY_OR: {
        const vm is_zero = vf_eq(t, zero);
        if (y == 0)
            return vf_mul(b, vf_div(vf_set1(x), t));
        return y == 1 ? vf_select(is_zero, vf_mul(b, vf_set1(x)), zero) : zero;
    }
    default: return x < 1 ? vf_select(vf_gt(t, zero), vf_set1(1), zero) : zero;
    }
    return vf_select(vf_eq(t, vf_set1(x)), vf_mul(vf_set1(y), d), zero);
}

INLINE void columns(const takt_semiring_f32 *p, const takt_semiring s, size_t i, size_t k, size_t n)
{
    const vf a = load(p->a + i * p->k + k, n);
    vf sum = vf_zero();
    for (size_t j = 0; j < p->n; j++) {
        const vf b = load(p->bt + j * p->k + k, n);
        const vf d = slope(s, a, b, p->scratch[j], p->scratch[p->n + j]);
        sum = vf_fma(vf_set1(p->dy[i * p->n + j]), d, sum);
    }
    store(p->da + i * p->k + k, sum, n);
}

INLINE void gradient(const takt_semiring_f32 *p, const takt_semiring s)
{
    for (size_t i = 0; i < p->m; i++) {
        size_t j = 0, k = 0;
        for (; j + WIDE * VF <= p->n; j += WIDE * VF)
            facts(p, s, (place){i, j, VF}, WIDE);
        for (; j + VF <= p->n; j += VF)
            facts(p, s, (place){i, j, VF}, 1);
        if (j < p->n)
            facts(p, s, (place){i, j, p->n - j}, 1);
        for (; k + VF <= p->k; k += VF)
            columns(p, s, i, k, VF);
        if (k < p->k)
            columns(p, s, i, k, p->k - k);
    }
}

/* A separate function for each, so that the semiring is a compile-time constant. */
#define EACH(name, semiring)                                                                       \
    static void name(const takt_semiring_f32 *p)                                                   \
    {                                                                                              \
        if (p->c != NULL)                                                                          \
            product(p, semiring);                                                                  \
        else                                                                                       \
            gradient(p, semiring);                                                                 \
    }
EACH(max_min, TAKT_MAX_MIN)
EACH(max_mul, TAKT_MAX_MUL)
EACH(min_add, TAKT_MIN_ADD)
EACH(noisy_or, TAKT_NOISY_OR)
EACH(lukasiewicz, TAKT_LUKASIEWICZ)

static void run(const takt_semiring_f32 *p)
{
    switch (p->semiring) {
    case TAKT_MAX_MIN: max_min(p); break;
    case TAKT_MAX_MUL: max_mul(p); break;
    case TAKT_MIN_ADD: min_add(p); break;
    case TAKT_NOISY_OR: noisy_or(p); break;
    default: lukasiewicz(p); break;
    }
}

TAKT_KERNELS(semiring_f32, TAKT_KERNEL(semiring_f32, SIMD_NAME, SIMD_RANK, run, NULL));
