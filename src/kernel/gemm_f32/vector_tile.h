/* vector_tile.h - tiles of two vectors' width and rows by panels, written over a few vector
 * functions.
 *
 * A template for x86, f32 and f64: a variant defines the type vec, the constant W (its lanes) and
 * v_zero, v_load, v_store, v_set, v_fma (a * b + c), v_add, v_max, v_min (which return their second
 * operand if either is NaN or both are zero), v_clear (a without the bits of m), v_or; and v_mask,
 * v_all, v_first, v_load_some, v_store_some, which leave lanes out if the variant is MASKED. A tile
 * has two vectors per row: two halves of a panel, or two panels.
 */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

/* minimum(maximum(x, lo), hi): a bound that is zero also decides the sign of a zero. */
INLINE vec v_least(vec x, elem hi)
{
    const vec sign = v_set(hi == 0 && signbit(hi) ? (elem)-0.0 : 0);
    return v_or(v_min(v_set(hi), x), sign);
}

INLINE vec v_clip(vec x, elem lo, elem hi)
{
    const vec plus = v_set(lo == 0 && !signbit(lo) ? (elem)-0.0 : 0);
    return v_least(v_clear(v_max(v_set(lo), x), plus), hi);
}

/* Rows of A are reached from every third one: so many addresses fit the registers. */
enum { SPAN = 3, BASES = (MR + SPAN - 1) / SPAN };

/* Written in assembly since compilers move the broadcasts of several k together, for which there
 * are no registers, and keep more addresses than they need. What it reads: see FENCE. */
#define LOAD_B(x, p) __asm__ volatile("vmovups %1, %0" : "=v"(x) : "m"(*(const vec_in_memory *)(p)))
#define FMA_1(sum, where, base, step, left)                                                        \
    do {                                                                                           \
        vec x_;                                                                                    \
        __asm__ volatile(V_BROADCAST " " where ", %1\n\t" V_FMA " %4, %1, %0"                      \
                         : "+v"(sum), "=&v"(x_)                                                    \
                         : "r"(base), "r"(step), "v"(left));                                       \
    } while (0)
#define FMA_2(sum, next, where, base, step, left, right)                                           \
    do {                                                                                           \
        vec x_;                                                                                    \
        __asm__ volatile(V_BROADCAST " " where ", %2\n\t" V_FMA " %5, %2, %0\n\t" V_FMA            \
                                     " %6, %2, %1"                                                 \
                         : "+v"(sum), "+v"(next), "=&v"(x_)                                        \
                         : "r"(base), "r"(step), "v"(left), "v"(right));                           \
    } while (0)
#define FENCE() __asm__ volatile("" : : : "memory")

/* One k, which lies `at` bytes past the addresses: a number in a string, as assembly wants it. */
#define ONE_K(name, at)                                                                            \
    INLINE void name(const char *const *base, size_t step, const elem *b, size_t second,           \
                     vec(*acc)[2], const size_t rows, const size_t wide)                           \
    {                                                                                              \
        vec left, right;                                                                           \
        LOAD_B(left, b);                                                                           \
        if (wide == 2)                                                                             \
            LOAD_B(right, b + second);                                                             \
        UNROLL for (size_t r = 0; r < rows; r++)                                                   \
        {                                                                                          \
            const char *from = base[r / SPAN];                                                     \
            if (wide == 2 && r % SPAN == 0)                                                        \
                FMA_2(acc[r][0], acc[r][1], at "(%3)", from, step, left, right);                   \
            else if (wide == 2 && r % SPAN == 1)                                                   \
                FMA_2(acc[r][0], acc[r][1], at "(%3,%4)", from, step, left, right);                \
            else if (wide == 2)                                                                    \
                FMA_2(acc[r][0], acc[r][1], at "(%3,%4,2)", from, step, left, right);              \
            else if (r % SPAN == 0)                                                                \
                FMA_1(acc[r][0], at "(%2)", from, step, left);                                     \
            else if (r % SPAN == 1)                                                                \
                FMA_1(acc[r][0], at "(%2,%3)", from, step, left);                                  \
            else                                                                                   \
                FMA_1(acc[r][0], at "(%2,%3,2)", from, step, left);                                \
        }                                                                                          \
    }
ONE_K(first_k, "0")
ONE_K(second_k, V_SECOND)
ONE_K(third_k, "8")
ONE_K(fourth_k, "12")

INLINE void advance(const char **base, size_t bytes, const size_t rows)
{
    UNROLL for (size_t i = 0; i < (rows + SPAN - 1) / SPAN; i++)
    {
        base[i] += bytes;
        __asm__("" : "+r"(base[i])); /* or a compiler keeps an address for every row */
    }
}

INLINE void product(const tile_job *t, vec (*acc)[2], const size_t rows, const size_t wide)
{
    const size_t step = (t->a_row ? t->a_row : t->k) * sizeof(elem);
    const size_t second = PANELS == 2 ? t->b_panel : W, ahead_step = t->ahead_step;
    const char *base[BASES], *ahead = (const char *)t->ahead;
    const elem *b = t->b;
    UNROLL for (size_t i = 0; i < (rows + SPAN - 1) / SPAN; i++) base[i] =
        (const char *)t->a + i * SPAN * step;
    FENCE();
    for (size_t p = t->k / QUAD; p > 0; p--, b += QUAD * PANEL, ahead += ahead_step) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        first_k(base, step, b, second, acc, rows, wide);
        second_k(base, step, b + PANEL, second, acc, rows, wide);
        if (QUAD == 4) {
            third_k(base, step, b + 2 * PANEL, second, acc, rows, wide);
            fourth_k(base, step, b + 3 * PANEL, second, acc, rows, wide);
        }
        advance(base, QUAD * sizeof(elem), rows);
    }
    for (size_t p = t->k % QUAD; p > 0; p--, b += PANEL) {
        first_k(base, step, b, second, acc, rows, wide);
        advance(base, sizeof(elem), rows);
    }
    FENCE();
}

/* For x, vector j of row r, of all sums. */
#define EACH_OF(at, ...)                                                                           \
    do {                                                                                           \
        const size_t j = at;                                                                       \
        vec x = acc[r][j];                                                                         \
        __VA_ARGS__;                                                                               \
        acc[r][j] = x;                                                                             \
    } while (0)
#define EACH(...)                                                                                  \
    UNROLL for (size_t r = 0; r < rows; r++)                                                       \
    {                                                                                              \
        EACH_OF(0, __VA_ARGS__);                                                                   \
        if (wide == 2)                                                                             \
            EACH_OF(1, __VA_ARGS__);                                                               \
    }

/* What follows the product, one operation for all sums after the other: a branch for each operation
 * of a tile, not of a vector. `some`: the lanes of each vector of a row that exist. */
INLINE void finish(const tile_job *t, vec (*acc)[2], const v_mask *some, const size_t rows,
                   const size_t wide)
{
    const elem lo = t->lo, hi = t->hi;
    if (t->sum)
        EACH(x = v_add(v_load_some(some[j], t->sum + r * t->sum_ld + j * W), x))
    if (t->bias)
        EACH(x = v_add(x, v_load_some(some[j], t->bias + j * W)))
    if (t->residual)
        EACH(x = v_add(x, v_load_some(some[j], t->residual + r * t->residual_stride + j * W)))
    if (t->act == TAKT_GEMM_ACT_RELU || t->act == TAKT_GEMM_ACT_RELU_MIN)
        EACH(x = v_max(v_zero(), x))
    if (t->act == TAKT_GEMM_ACT_RELU_MIN && hi != 0)
        EACH(x = v_min(v_set(hi), x))
    else if (t->act == TAKT_GEMM_ACT_RELU_MIN)
        EACH(x = v_least(x, hi))
    if (t->act == TAKT_GEMM_ACT_CLIP && lo == 0 && !signbit(lo) && hi != 0) {
        EACH(x = v_clear(v_max(v_zero(), x), v_set((elem)-0.0)))
        EACH(x = v_min(v_set(hi), x))
    } else if (t->act == TAKT_GEMM_ACT_CLIP) {
        EACH(x = v_clip(x, lo, hi))
    }
}

INLINE void tile_fixed(const tile_job *t, const size_t rows, const size_t wide)
{
    vec acc[MR][2];
    UNROLL for (size_t r = 0; r < rows; r++) acc[r][0] = acc[r][1] = v_zero();
    product(t, acc, rows, wide);
    const v_mask last = v_first(t->cols - (wide - 1) * W);
    const v_mask some[2] = {wide == 2 ? v_all() : last, last};
    if (t->sum || t->bias || t->residual || t->act != TAKT_GEMM_ACT_NONE)
        finish(t, acc, some, rows, wide);
    elem *c = t->c;
    const size_t ldc = t->ldc;
    UNROLL for (size_t r = 0; r < rows; r++, c += ldc)
    {
        v_store_some(some[0], c, acc[r][0]);
        if (wide == 2)
            v_store_some(some[1], c + W, acc[r][1]);
    }
}

/* One chunk of `count` panels for one row. */
INLINE void row_chunk(const elem *a, const elem *b, size_t b_step, size_t k, vec (*acc)[2],
                      const size_t count)
{
    UNROLL for (size_t i = 0; i < count; i++) acc[i][0] = acc[i][1] = v_zero();
    for (size_t p = 0; p < k; p++) {
        const vec x = v_set(a[p]);
        UNROLL for (size_t i = 0; i < count; i++)
        {
            acc[i][0] = v_fma(x, v_load(b + i * b_step + p * PANEL), acc[i][0]);
            if (PANEL > W)
                acc[i][1] = v_fma(x, v_load(b + i * b_step + p * PANEL + PANEL - W), acc[i][1]);
        }
    }
}

INLINE void keep(elem *to, vec x, bool adds)
{
    v_store(to, adds ? v_add(v_load(to), x) : x);
}

INLINE void row_fixed(const row_job *r, const size_t count)
{
    vec acc[4][2];
    row_chunk(r->a, r->b, r->b_step, r->k, acc, count);
    UNROLL for (size_t i = 0; i < count; i++)
    {
        keep(r->c + i * r->c_step, acc[i][0], r->adds);
        if (PANEL > W)
            keep(r->c + i * r->c_step + PANEL - W, acc[i][1], r->adds);
    }
}

static void row_panels(const row_job *r, size_t count, size_t width)
{
    (void)width;
    if (count == 4)
        row_fixed(r, 4);
    else
        row_fixed(r, 1);
}

/* tile_<rows> and, where a tile has two panels, thin_<rows> for one. */
#include "kernel/simd/heights.h"
