/* direct_f32_body.h - the vector variants of direct_f32 are this, compiled for their ISA.
 *
 * A row-major B is read as vectors of columns in place. A column-major one is transposed in
 * registers, four k of VF columns at a time.
 */
#include "kernel/direct_f32/direct_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* Rows at a time, and accumulators: as many as leave registers for operands. */
enum { ROWS = 4, SUMS = TAKT_SIMD_SET == 3 ? 8 : 16, QUAD = 4, LINE = 16 };

INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The sum of a chunk, to or onto `n` elements of C. */
INLINE void put(float *c, vf sum, bool is_first, size_t n)
{
    if (n == VF)
        vf_store(c, is_first ? sum : vf_add(vf_load(c), sum));
    else
        vf_store_n(c, is_first ? sum : vf_add(vf_load_n(c, n), sum), n);
}

/* ---- row-major ---- */

/* Rows i.. by `count` vectors of columns from j on, the last of them with `last` lanes. */
typedef struct place {
    size_t i, j, last;
} place;

INLINE void row_chunk(const takt_direct_f32 *g, place at, size_t first, const size_t rows,
                      const size_t count)
{
    const size_t end = least(first + TAKT_GEMM_CHUNK, g->k), full = count - 1;
    vf sum[ROWS][SUMS];
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < count; v++)
            sum[r][v] = vf_zero();
    for (size_t p = first; p < end; p++) {
        const float *b = g->b + p * g->b_row + at.j, *a = g->a + at.i * g->a_row + p;
        for (size_t v = 0; v < count; v++) {
            const vf x =
                v < full || at.last == VF ? vf_load(b + v * VF) : vf_load_n(b + v * VF, at.last);
            for (size_t r = 0; r < rows; r++)
                sum[r][v] = vf_fma(vf_set1(a[r * g->a_row]), x, sum[r][v]);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < count; v++)
            put(g->c + (at.i + r) * g->ldc + at.j + v * VF, sum[r][v], first == 0,
                v < full ? VF : at.last);
}

/* Between two polls: chunks of k of a tile, and tiles of little k. */
enum { POLLED_CHUNKS = 16, POLLED = 1 << 12 };

INLINE bool stops(const takt_direct_f32 *g, size_t first)
{
    return first % (POLLED_CHUNKS * TAKT_GEMM_CHUNK) == 0 && first > 0 && takt_poll_stops(g->poll);
}

INLINE void row_tile(const takt_direct_f32 *g, place at, const size_t rows, const size_t count)
{
    size_t first = 0;
    do {
        if (stops(g, first))
            return;
        row_chunk(g, at, first, rows, count);
        first += TAKT_GEMM_CHUNK;
    } while (first < g->k);
}

INLINE void row_strip(const takt_direct_f32 *g, size_t i, const size_t rows)
{
    const size_t most = SUMS / (rows == 3 ? ROWS : rows);
    size_t j = 0;
    for (; j + most * VF <= g->n; j += most * VF) {
        if (j % POLLED == 0 && takt_poll_stops(g->poll))
            return;
        row_tile(g, (place){i, j, VF}, rows, most);
    }
    for (; j + VF <= g->n; j += VF)
        row_tile(g, (place){i, j, VF}, rows, 1);
    if (j < g->n)
        row_tile(g, (place){i, j, g->n - j}, rows, 1);
}

/* ---- column-major ---- */

/* B[p..p+3] of VF columns, whose places are given. */
#if TAKT_SIMD_SET == 4
INLINE vf rows_of_four(const float *const *column, size_t p)
{
    const __m512 a = _mm512_castps128_ps512(_mm_loadu_ps(column[0] + p));
    const __m512 b = _mm512_insertf32x4(a, _mm_loadu_ps(column[4] + p), 1);
    const __m512 c = _mm512_insertf32x4(b, _mm_loadu_ps(column[8] + p), 2);
    return _mm512_insertf32x4(c, _mm_loadu_ps(column[12] + p), 3);
}
#define LOW(a, b) _mm512_unpacklo_ps(a, b)
#define HIGH(a, b) _mm512_unpackhi_ps(a, b)
#define LOW_PAIR(a, b) _mm512_shuffle_ps(a, b, 0x44)
#define HIGH_PAIR(a, b) _mm512_shuffle_ps(a, b, 0xee)
#elif TAKT_SIMD_SET == 3
INLINE vf rows_of_four(const float *const *column, size_t p)
{
    const __m256 a = _mm256_castps128_ps256(_mm_loadu_ps(column[0] + p));
    return _mm256_insertf128_ps(a, _mm_loadu_ps(column[4] + p), 1);
}
#define LOW(a, b) _mm256_unpacklo_ps(a, b)
#define HIGH(a, b) _mm256_unpackhi_ps(a, b)
#define LOW_PAIR(a, b) _mm256_shuffle_ps(a, b, 0x44)
#define HIGH_PAIR(a, b) _mm256_shuffle_ps(a, b, 0xee)
#elif TAKT_SIMD_SET == 2
INLINE vf rows_of_four(const float *const *column, size_t p)
{
    return vf_load(column[0] + p);
}
#define AS_F64(x) vreinterpretq_f64_f32(x)
#define AS_F32(x) vreinterpretq_f32_f64(x)
#define LOW(a, b) vzip1q_f32(a, b)
#define HIGH(a, b) vzip2q_f32(a, b)
#define LOW_PAIR(a, b) AS_F32(vzip1q_f64(AS_F64(a), AS_F64(b)))
#define HIGH_PAIR(a, b) AS_F32(vzip2q_f64(AS_F64(a), AS_F64(b)))
#endif

#if TAKT_SIMD_SET >= 2 && TAKT_SIMD_SET <= 4
INLINE void four(const float *const *column, size_t p, vf out[QUAD])
{
    const vf a = rows_of_four(column, p), b = rows_of_four(column + 1, p);
    const vf c = rows_of_four(column + 2, p), d = rows_of_four(column + 3, p);
    const vf ab = LOW(a, b), cd = LOW(c, d), ab2 = HIGH(a, b), cd2 = HIGH(c, d);
    out[0] = LOW_PAIR(ab, cd);
    out[1] = HIGH_PAIR(ab, cd);
    out[2] = LOW_PAIR(ab2, cd2);
    out[3] = HIGH_PAIR(ab2, cd2);
}
#endif

INLINE vf one(const float *const *column, size_t p)
{
    float x[VF];
    for (size_t l = 0; l < VF; l++)
        x[l] = column[l][p];
    return vf_load(x);
}

/* Four products of rows at.i.. and a tile, from k = at.j on, to its sums. */
INLINE void add_four(const takt_direct_f32 *g, const float *const *column, place at,
                     const size_t rows, vf sum[ROWS][2])
{
    const float *a = g->a + at.i * g->a_row + at.j;
    vf b[QUAD];
    four(column, at.j, b);
    for (size_t q = 0; q < QUAD; q++)
        for (size_t r = 0; r < rows; r++)
            sum[r][at.last] = vf_fma(vf_set1(a[r * g->a_row + q]), b[q], sum[r][at.last]);
}

/* Of each column a whole cache line is read at a time: columns far apart may share few lines of
 * L1. */
INLINE void column_chunk(const takt_direct_f32 *g, const float *const *column, place at,
                         size_t first, const size_t rows, const size_t tiles)
{
    const size_t end = least(first + TAKT_GEMM_CHUNK, g->k);
    const float *a = g->a + at.i * g->a_row;
    vf sum[ROWS][2];
    for (size_t r = 0; r < rows; r++)
        for (size_t t = 0; t < tiles; t++)
            sum[r][t] = vf_zero();
    size_t p = first;
    for (; p + LINE <= end; p += LINE)
        for (size_t t = 0; t < tiles; t++)
            for (size_t q = 0; q < LINE; q += QUAD)
                add_four(g, column + t * VF, (place){at.i, p + q, t}, rows, sum);
    for (; p + QUAD <= end; p += QUAD)
        for (size_t t = 0; t < tiles; t++)
            add_four(g, column + t * VF, (place){at.i, p, t}, rows, sum);
    for (; p < end; p++)
        for (size_t t = 0; t < tiles; t++) {
            const vf b = one(column + t * VF, p);
            for (size_t r = 0; r < rows; r++)
                sum[r][t] = vf_fma(vf_set1(a[r * g->a_row + p]), b, sum[r][t]);
        }
    for (size_t r = 0; r < rows; r++)
        for (size_t t = 0; t < tiles; t++)
            put(g->c + (at.i + r) * g->ldc + at.j + t * VF, sum[r][t], first == 0,
                t + 1 < tiles ? VF : at.last);
}

/* Columns beyond the last repeat the last one; their results are not stored. */
INLINE void column_tile(const takt_direct_f32 *g, place at, const size_t rows, const size_t tiles)
{
    const float *column[2 * VF];
    for (size_t l = 0; l < tiles * VF; l++)
        column[l] = g->b + least(at.j + l, g->n - 1) * g->b_col;
    size_t first = 0;
    do {
        if (stops(g, first))
            return;
        column_chunk(g, column, at, first, rows, tiles);
        first += TAKT_GEMM_CHUNK;
    } while (first < g->k);
}

INLINE void column_strip(const takt_direct_f32 *g, size_t i, const size_t rows)
{
    size_t j = 0;
    for (; j + 2 * VF <= g->n; j += 2 * VF) {
        if (j % POLLED == 0 && takt_poll_stops(g->poll))
            return;
        column_tile(g, (place){i, j, VF}, rows, 2);
    }
    for (; j < g->n; j += VF)
        column_tile(g, (place){i, j, least(g->n - j, VF)}, rows, 1);
}

/* ---- both ---- */

#define STRIPS(name, strip)                                                                        \
    static void name(const takt_direct_f32 *g)                                                     \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + ROWS <= g->m; i += ROWS)                                                        \
            strip(g, i, ROWS);                                                                     \
        switch (g->m - i) {                                                                        \
        case 3: strip(g, i, 3); break;                                                             \
        case 2: strip(g, i, 2); break;                                                             \
        case 1: strip(g, i, 1); break;                                                             \
        default: break;                                                                            \
        }                                                                                          \
    }
STRIPS(by_rows, row_strip)
STRIPS(by_columns, column_strip)

static void run(const takt_direct_f32 *g)
{
    if (g->b_col == 1)
        by_rows(g);
    else
        by_columns(g);
}

TAKT_KERNELS(direct_f32, TAKT_KERNEL(direct_f32, SIMD_NAME, SIMD_RANK, run, NULL));
