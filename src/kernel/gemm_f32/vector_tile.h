/* vector_tile.h - tiles of one to three vectors' width and rows by panels, written over a few
 * vector functions.
 *
 * A template for x86, f32 and f64: a variant defines the type vec, the constant W (its lanes) and
 * v_zero, v_load, v_store, v_set, v_fma (a * b + c), v_add, v_max, v_min (which return their second
 * operand if either is NaN or both are zero), v_clear (a without the bits of m), v_or; and v_mask,
 * v_all, v_first, v_load_some, v_store_some, which leave lanes out if the variant is MASKED. A tile
 * has two vectors per row: two halves of a panel, or two panels; or three panels, if PANELS is 3.
 * V_EMBED, if an operand of V_FMA can be an element that is broadcast from memory, is how assembly
 * writes that. A tile may be a run of them below each other.
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

/* Rows of A are reached from every third one, or from every other: that many addresses fit into
 * registers. The row at the address itself needs no register and no slot for its broadcast if that
 * is embedded; where an index is added to the address, embedding saves nothing. */
#ifdef V_EMBED
enum { SPAN = 2, EMBEDS = 1 };
#define FMA_EMBED(sum, where, from, b)                                                             \
    __asm__ volatile(V_FMA " " where V_EMBED ", %1, %0" : "+v"(sum) : "v"(b), [base] "r"(from))
#else
enum { SPAN = 3, EMBEDS = 0 };
#define FMA_EMBED(sum, where, from, b) (void)(b)
#endif
enum { BASES = (MR + SPAN - 1) / SPAN, VECS = PANELS > 2 ? PANELS : 2 };

/* Written in assembly since compilers move the broadcasts of several k together, for which there
 * are no registers, and keep more addresses than they need. What it reads: see FENCE. */
#define LOAD_B(x, p) __asm__ volatile("vmovups %1, %0" : "=v"(x) : "m"(*(const vec_in_memory *)(p)))
#define LOAD_B_AT(x, where, b, panel)                                                              \
    __asm__ volatile("vmovups " where ", %0" : "=v"(x) : "r"(b), "r"(panel))
#define FMA_1(sum, where, from, by, b)                                                             \
    do {                                                                                           \
        vec x_;                                                                                    \
        __asm__ volatile(V_BROADCAST " " where ", %1\n\t" V_FMA " %2, %1, %0"                      \
                         : "+v"((sum)[0]), "=&v"(x_)                                               \
                         : "v"((b)[0]), [base] "r"(from), [step] "r"(by));                         \
    } while (0)
#define FMA_2(sum, where, from, by, b)                                                             \
    do {                                                                                           \
        vec x_;                                                                                    \
        __asm__ volatile(V_BROADCAST " " where ", %2\n\t" V_FMA " %3, %2, %0\n\t" V_FMA            \
                                     " %4, %2, %1"                                                 \
                         : "+v"((sum)[0]), "+v"((sum)[1]), "=&v"(x_)                               \
                         : "v"((b)[0]), "v"((b)[1]), [base] "r"(from), [step] "r"(by));            \
    } while (0)
#define FMA_3(sum, where, from, by, b)                                                             \
    do {                                                                                           \
        vec x_;                                                                                    \
        __asm__ volatile(                                                                          \
            V_BROADCAST " " where ", %3\n\t" V_FMA " %4, %3, %0\n\t" V_FMA " %5, %3, %1\n\t" V_FMA \
                        " %6, %3, %2"                                                              \
            : "+v"((sum)[0]), "+v"((sum)[1]), "+v"((sum)[2 < VECS ? 2 : 0]), "=&v"(x_)             \
            : "v"((b)[0]), "v"((b)[1]), "v"((b)[2]), [base] "r"(from), [step] "r"(by));            \
    } while (0)
#define FMA_ROW(where)                                                                             \
    do {                                                                                           \
        if (wide == 3)                                                                             \
            FMA_3(acc[r], where, from, step, v);                                                   \
        else if (wide == 2)                                                                        \
            FMA_2(acc[r], where, from, step, v);                                                   \
        else                                                                                       \
            FMA_1(acc[r], where, from, step, v);                                                   \
    } while (0)
#define FENCE() __asm__ volatile("" : : : "memory")

/* One k, `at` bytes past the addresses: a number in a string, as assembly needs it. */
#define ONE_K(name, at, n, b_at)                                                                   \
    INLINE void name(const char *const *base, size_t step, const elem *b, size_t second,           \
                     vec(*acc)[VECS], const size_t rows, const size_t wide)                        \
    {                                                                                              \
        vec v[3];                                                                                  \
        if (PANELS == 1) {                                                                         \
            LOAD_B(v[0], b + n * PANEL);                                                           \
            LOAD_B(v[1], b + n * PANEL + W);                                                       \
        } else {                                                                                   \
            LOAD_B_AT(v[0], b_at "(%1)", b, second);                                               \
            if (wide > 1)                                                                          \
                LOAD_B_AT(v[1], b_at "(%1,%2)", b, second);                                        \
            if (wide > 2)                                                                          \
                LOAD_B_AT(v[2], b_at "(%1,%2,2)", b, second);                                      \
        }                                                                                          \
        UNROLL for (size_t r = 0; r < rows; r++)                                                   \
        {                                                                                          \
            const char *from = base[r / SPAN];                                                     \
            if (EMBEDS && r % SPAN == 0)                                                           \
                UNROLL for (size_t j = 0; j < wide; j++)                                           \
                    FMA_EMBED(acc[r][j], at "(%[base])", from, v[j]);                              \
            else if (r % SPAN == 0)                                                                \
                FMA_ROW(at "(%[base])");                                                           \
            else if (r % SPAN == 1)                                                                \
                FMA_ROW(at "(%[base],%[step])");                                                   \
            else                                                                                   \
                FMA_ROW(at "(%[base],%[step],2)");                                                 \
        }                                                                                          \
    }
ONE_K(first_k, "0", 0, "0")
ONE_K(second_k, V_SECOND, 1, "64")
ONE_K(third_k, V_THIRD, 2, "128")
ONE_K(fourth_k, V_FOURTH, 3, "192")

INLINE void advance(const char **base, size_t bytes, const size_t rows)
{
    UNROLL for (size_t i = 0; i < (rows + SPAN - 1) / SPAN; i++)
    {
        base[i] += bytes;
        __asm__("" : "+r"(base[i])); /* or a compiler keeps an address for every row */
    }
}

INLINE void product(const tile_job *t, const elem *a, vec (*acc)[VECS], const size_t rows,
                    const size_t wide)
{
    const size_t step = (t->a_row ? t->a_row : t->k) * sizeof(elem);
    const size_t second = t->b_panel * sizeof(elem), ahead_step = t->ahead_step;
    const char *base[BASES], *ahead = (const char *)t->ahead;
    const elem *b = t->b;
    UNROLL for (size_t i = 0; i < (rows + SPAN - 1) / SPAN; i++) base[i] =
        (const char *)a + i * SPAN * step;
    FENCE();
    for (size_t p = t->k / 4; p > 0; p--, b += 4 * PANEL, ahead += 4 / QUAD * ahead_step) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        if (QUAD == 2)
            _mm_prefetch(ahead + ahead_step, _MM_HINT_T1);
        first_k(base, step, b, second, acc, rows, wide);
        second_k(base, step, b, second, acc, rows, wide);
        third_k(base, step, b, second, acc, rows, wide);
        fourth_k(base, step, b, second, acc, rows, wide);
        advance(base, 4 * sizeof(elem), rows);
    }
    for (size_t p = t->k % 4; p > 0; p--, b += PANEL) {
        first_k(base, step, b, second, acc, rows, wide);
        advance(base, sizeof(elem), rows);
    }
    FENCE();
}

/* For x, vector j of row r, of all sums. */
#define EACH_OF(at, ...)                                                                           \
    do {                                                                                           \
        const size_t j = (at) < VECS ? (at) : 0;                                                   \
        vec x = acc[r][j];                                                                         \
        __VA_ARGS__;                                                                               \
        acc[r][j] = x;                                                                             \
    } while (0)
#define EACH(...)                                                                                  \
    UNROLL for (size_t r = 0; r < rows; r++)                                                       \
    {                                                                                              \
        EACH_OF(0, __VA_ARGS__);                                                                   \
        if (wide >= 2)                                                                             \
            EACH_OF(1, __VA_ARGS__);                                                               \
        if (wide == 3)                                                                             \
            EACH_OF(2, __VA_ARGS__);                                                               \
    }

/* The epilogue, one operation after the other for all sums: one branch per operation and tile, not
 * per vector. `some`: the lanes of each vector of a row that exist. */
INLINE void finish(const tile_job *t, const elem *residual, vec (*acc)[VECS], const v_mask *some,
                   const size_t rows, const size_t wide)
{
    const elem lo = t->lo, hi = t->hi;
    if (t->sum)
        EACH(x = v_add(v_load_some(some[j], t->sum + r * t->sum_ld + j * W), x))
    if (t->bias)
        EACH(x = v_add(x, v_load_some(some[j], t->bias + j * W)))
    if (residual)
        EACH(x = v_add(x, v_load_some(some[j], residual + r * t->residual_stride + j * W)))
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

INLINE void one_tile(const tile_job *t, const elem *a, const elem *residual, elem *c,
                     const size_t rows, const size_t wide)
{
    vec acc[MR][VECS];
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t i = 0; i < wide; i++) acc[r][i] =
        v_zero();
    if (ASKS_FAR > 0 && t->start)
        UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t i = 0; i < wide; i++)
            acc[r][i] = v_load(t->start + (r * wide + i) * W);
    product(t, a, acc, rows, wide);
    const v_mask last = v_first(t->cols - (wide - 1) * W);
    const v_mask some[3] = {wide > 1 ? v_all() : last, wide > 2 ? v_all() : last, last};
    if (t->sum || t->bias || residual || t->act != TAKT_GEMM_ACT_NONE)
        finish(t, residual, acc, some, rows, wide);
    const size_t ldc = t->ldc;
    UNROLL for (size_t r = 0; r < rows; r++, c += ldc)
    {
        UNROLL for (size_t i = 0; i < wide; i++) v_store_some(some[i], c + i * W, acc[r][i]);
    }
}

INLINE void tile_fixed(const tile_job *t, const size_t rows, const size_t wide)
{
    const elem *a = t->a, *residual = t->residual;
    elem *c = t->c;
    for (size_t left = t->count;; left--) {
        one_tile(t, a, residual, c, rows, wide);
        if (left <= 1)
            return;
        a += rows * t->a_row;
        c += rows * t->ldc;
        residual += residual ? rows * t->residual_stride : 0;
        __asm__("" : "+r"(a), "+r"(c)); /* or a compiler keeps an address for every row */
    }
}

/* `steps` of k of `count` panels for one row. */
INLINE void row_steps(const elem *a, const elem *const *b, vec (*acc)[2], const size_t steps,
                      const size_t count)
{
    UNROLL for (size_t p = 0; p < steps; p++)
    {
        const vec x = v_set(a[p]);
        UNROLL for (size_t i = 0; i < count; i++)
        {
            acc[i][0] = v_fma(x, v_load(b[i] + p * PANEL), acc[i][0]);
            if (PANEL > W)
                acc[i][1] = v_fma(x, v_load(b[i] + p * PANEL + PANEL - W), acc[i][1]);
        }
    }
}

INLINE void keep(elem *to, vec x, bool adds)
{
    v_store(to, adds ? v_add(v_load(to), x) : x);
}

INLINE void keep_row(const row_job *r, vec (*acc)[2], const size_t count)
{
    UNROLL for (size_t i = 0; i < count; i++)
    {
        keep(r->c + i * r->c_step, acc[i][0], r->adds);
        if (PANEL > W)
            keep(r->c + i * r->c_step + PANEL - W, acc[i][1], r->adds);
    }
}

/* An address for each panel: adding an index would cost a slot for each load. */
INLINE void row_fixed(const row_job *r, const size_t count)
{
    vec acc[STREAMS][2];
    const elem *b[STREAMS], *a = r->a;
    UNROLL for (size_t i = 0; i < count; i++)
    {
        acc[i][0] = acc[i][1] = v_zero();
        b[i] = r->b + i * r->b_step;
    }
    for (size_t p = r->k / 4; p > 0; p--, a += 4) {
        row_steps(a, b, acc, 4, count);
        UNROLL for (size_t i = 0; i < count; i++)
        {
            b[i] += 4 * PANEL;
            __asm__("" : "+r"(b[i])); /* or a compiler makes one address and indices of them */
        }
    }
    for (size_t p = r->k % 4; p > 0; p--, a++) {
        row_steps(a, b, acc, 1, count);
        UNROLL for (size_t i = 0; i < count; i++) b[i] += PANEL;
    }
    keep_row(r, acc, count);
}

static void row_panels(const row_job *r, size_t count, size_t width)
{
    (void)width;
    if (count == STREAMS)
        row_fixed(r, STREAMS);
    else if (count == 4)
        row_fixed(r, 4);
    else if (count == 2)
        row_fixed(r, 2);
    else
        row_fixed(r, 1);
}

/* tile_<rows> and, where a tile has two panels, thin_<rows> for one. */
#include "kernel/simd/heights.h"
