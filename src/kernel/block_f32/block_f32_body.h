/* block_f32_body.h - a few rows by a panel of sixteen columns: weights are converted to floats in
 * registers. */
#include "kernel/block_f32/block_f32.h"
#include "kernel/blocks/widen.h"
#if TAKT_SIMD_SET == 2
#include "kernel/blocks/neon_small.h"
#endif

/* Four values of a row of A, one of which is multiplied at a time. */
#if TAKT_SIMD_SET == 2
typedef float32x4_t four;
FIXED four four_load(const float *a)
{
    return vld1q_f32(a);
}
FIXED vf four_fma(vf w, four a, const unsigned i, vf sum)
{
    return i == 0   ? vfmaq_laneq_f32(sum, w, a, 0)
           : i == 1 ? vfmaq_laneq_f32(sum, w, a, 1)
           : i == 2 ? vfmaq_laneq_f32(sum, w, a, 2)
                    : vfmaq_laneq_f32(sum, w, a, 3);
}
#else
typedef const float *four;
FIXED four four_load(const float *a)
{
    return a;
}
FIXED vf four_fma(vf w, four a, const unsigned i, vf sum)
{
    return vf_fma(w, vf_set1(a[i]), sum);
}
#endif

/* Panels that one row is multiplied with at once, if k has no tail: the sums of one panel would be
 * limited by latency, and several distant streams are read faster than one. */
#if TAKT_SIMD_SET == 4
#define DISTANT 4
#elif TAKT_SIMD_SET == 3
#define DISTANT 2
#else
#define DISTANT 1
#endif
enum { WIDTH = DISTANT * VECTORS };

/* Vector u is vector u % VECTORS of panel u / VECTORS. */
typedef struct shape {
    size_t rows, vectors;
    unsigned bits;
    bool subtracts; /* zero points, see widen.h */
    bool has_tail;  /* k need not be a multiple of 16 */
    bool adds;      /* neon_rows.h */
} shape;

typedef struct panel_job {
    const takt_block_f32 *g;
    size_t row, panel, apart; /* the first panel, and from one to the next */
    size_t blocks;            /* of a column */
#if TAKT_SIMD_SET == 2
    small_ways ways;
#endif
} panel_job;

/* Four k, of which `count` exist: part j of the words at w[]. */
typedef struct quad_job {
    const uint32_t *const *w;
    size_t at; /* words from there */
    unsigned j, count;
} quad_job;

FIXED void quad(const quad_job t, const four *a, const block_parameters *o, vf (*acc)[WIDTH],
                const shape f)
{
    UNROLL for (size_t u = 0; u < f.vectors; u++)
    {
        const size_t p = u / VECTORS, v = u % VECTORS;
        const vi words = vi_load((const int32_t *)t.w[p] + t.at + v * VF);
        UNROLL for (unsigned i = 0; i < t.count; i++)
        {
            const vf x = block_row(o + p, v, words, f.bits, 4 * t.j + i, f.subtracts);
            UNROLL for (size_t r = 0; r < f.rows; r++) acc[r][u] = four_fma(x, a[r], i, acc[r][u]);
        }
    }
}

/* The same where j and the count are not compile-time constants. */
FIXED void last_quad(const quad_job t, const four *a, const block_parameters *o, vf (*acc)[WIDTH],
                     const shape f)
{
    UNROLL for (unsigned j = 0; j < 8 / f.bits; j++)
    {
        if (j != t.j)
            continue;
        if (t.count == 4)
            quad((quad_job){t.w, t.at, j, 4}, a, o, acc, f);
        else if (t.count == 3)
            quad((quad_job){t.w, t.at, j, 3}, a, o, acc, f);
        else if (t.count == 2)
            quad((quad_job){t.w, t.at, j, 2}, a, o, acc, f);
        else
            quad((quad_job){t.w, t.at, j, 1}, a, o, acc, f);
    }
}

/* Rows [k, end) of the weights, inside a block and a chunk; k is a multiple of 16. */
typedef struct stretch_job {
    const float *from[TAKT_BLOCK_ROWS];
    const uint32_t *w[DISTANT]; /* of row k */
    size_t k, end, block;
} stretch_job;

#if TAKT_SIMD_SET == 2
/* A chunk of the rows, see neon_rows.h. */
typedef struct lifted_rows {
    size_t first, end; /* of the weights' rows */
    unsigned lift;     /* that the last block had */
    enum { UNKNOWN, LIFTED, TOO_LARGE } state;
    float a[TAKT_BLOCK_ROWS][TAKT_GEMM_CHUNK];
} lifted_rows;
#include "kernel/block_f32/neon_rows.h"
#else
typedef struct lifted_rows {
    size_t first, end;
} lifted_rows;

FIXED void small_stretch(const panel_job *p, stretch_job *t, lifted_rows *o, vf (*acc)[WIDTH],
                         const shape f)
{
    (void)p, (void)t, (void)o, (void)acc, (void)f;
}
#endif

FIXED void last_rows(const stretch_job *t, const block_parameters *o, vf (*acc)[WIDTH],
                     const shape f)
{
    size_t k = t->k;
    for (unsigned q = 0; k < t->end; q++, k += 4) {
        float part[TAKT_BLOCK_ROWS][4];
        four a[TAKT_BLOCK_ROWS];
        const size_t left = t->end - k < 4 ? t->end - k : 4;
        UNROLL for (size_t r = 0; r < f.rows; r++)
        {
            memcpy(part[r], t->from[r] + k, left * sizeof(float));
            a[r] = four_load(part[r]);
        }
        last_quad((quad_job){t->w, q / (8 / f.bits) * 16, q % (8 / f.bits), (unsigned)left}, a, o,
                  acc, f);
    }
}

FIXED void stretch(const panel_job *p, stretch_job *t, block_parameters *o, vf (*acc)[WIDTH],
                   const shape f)
{
    if (t->k == t->end)
        return;
    UNROLL for (size_t i = 0; i < f.vectors / VECTORS; i++)
        block_open(&p->g->b, p->panel + i * p->apart, t->block, o + i);
    for (; t->k + 16 <= t->end; t->k += 16) {
        UNROLL for (unsigned q = 0; q < 4; q++)
        {
            four a[TAKT_BLOCK_ROWS];
            UNROLL for (size_t r = 0; r < f.rows; r++) a[r] = four_load(t->from[r] + t->k + 4 * q);
            quad((quad_job){t->w, q / (8 / f.bits) * 16, q % (8 / f.bits), 4}, a, o, acc, f);
        }
        UNROLL for (size_t i = 0; i < f.vectors / VECTORS; i++) t->w[i] += f.bits / 2 * 16;
    }
    if (f.has_tail)
        last_rows(t, o, acc, f);
}

/* Rows [from, to) of the weights, a chunk. */
FIXED void chunk(const panel_job *p, size_t from, size_t to, vf (*acc)[WIDTH], const shape f)
{
    const takt_blocks *b = &p->g->b;
    const size_t each = takt_blocks_words(f.bits, takt_blocks_deep(b->k));
    stretch_job t = {.k = from, .block = from / b->block};
    block_parameters o[DISTANT];
    lifted_rows lifted;
    lifted.first = from;
    lifted.end = to;
#if TAKT_SIMD_SET == 2
    lifted.state = UNKNOWN;
    lifted.lift = SMALL_LIFT;
#endif
    UNROLL for (size_t i = 0; i < f.vectors / VECTORS; i++) block_begin(b, o + i);
    UNROLL for (size_t r = 0; r < f.rows; r++) t.from[r] = p->g->a + (p->row + r) * p->g->a_row;
    for (size_t k = from, begin = t.block * b->block; k < to; k = t.end, t.block++) {
        t.k = k;
        t.end = begin = to - begin > b->block ? begin + b->block : to;
        UNROLL for (size_t i = 0; i < f.vectors / VECTORS; i++) t.w[i] =
            b->words + (p->panel + i * p->apart) * each + takt_blocks_words(f.bits, k);
        small_stretch(p, &t, &lifted, acc, f);
        stretch(p, &t, o, acc, f);
    }
}

/* One vector to C: stored or added, and the bias. */
FIXED void put(const takt_block_f32 *g, size_t row, size_t column, vf x, bool adds, bool ends)
{
    if (column >= g->b.n)
        return;
    float *c = g->c + row * g->ldc + column;
    const float *bias = ends && g->bias ? g->bias + column : NULL;
    const size_t n = g->b.n - column < VF ? g->b.n - column : VF;
    if (n == VF) {
        x = adds ? vf_add(vf_load(c), x) : x;
        vf_store(c, bias ? vf_add(x, vf_load(bias)) : x);
    } else {
        x = adds ? vf_add(vf_load_n(c, n), x) : x;
        vf_store_n(c, bias ? vf_add(x, vf_load_n(bias, n)) : x, n);
    }
}

FIXED void panel_fixed(const panel_job *t, const shape f)
{
    const takt_block_f32 *g = t->g;
    const size_t k = g->b.k;
    size_t from = 0;
    do {
        const size_t to = from + TAKT_GEMM_CHUNK < k ? from + TAKT_GEMM_CHUNK : k;
        vf acc[TAKT_BLOCK_ROWS][WIDTH];
        UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
            acc[r][u] = vf_zero();
        chunk(t, from, to, acc, f);
        UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
        {
            const size_t panel = t->panel + u / VECTORS * t->apart;
            put(g, t->row + r, panel * TAKT_BLOCKS_PANEL + u % VECTORS * VF, acc[r][u], from > 0,
                to == k);
        }
        from = to;
    } while (from < k);
}

typedef void panel_fn(const panel_job *t);
#define PANEL(name, rows, panels, bits)                                                            \
    static void name(const panel_job *t)                                                           \
    {                                                                                              \
        panel_fixed(t, (shape){rows, (panels)*VECTORS, bits, false, (panels) == 1, false});        \
    }                                                                                              \
    static void name##_zero(const panel_job *t)                                                    \
    {                                                                                              \
        panel_fixed(t, (shape){rows, (panels)*VECTORS, bits, true, (panels) == 1, false});         \
    }
#define PANELS(bits)                                                                               \
    PANEL(one_##bits, 1, 1, bits)                                                                  \
    PANEL(all_##bits, TAKT_BLOCK_ROWS, 1, bits)
PANELS(2)
PANELS(4)
PANELS(8)
#if DISTANT > 1
PANEL(far_2, 1, DISTANT, 2)
PANEL(far_4, 1, DISTANT, 4)
PANEL(far_8, 1, DISTANT, 8)
#define FAR(bits) far_##bits, far_##bits##_zero
#else
#define FAR(bits) NULL, NULL
#endif

enum { ONE, ALL, DISTANT_ONE, KINDS };
#define NAMES(bits)                                                                                \
    {                                                                                              \
        {one_##bits, one_##bits##_zero}, {all_##bits, all_##bits##_zero},                          \
        {                                                                                          \
            FAR(bits)                                                                              \
        }                                                                                          \
    }

static panel_fn *fn_of(const takt_blocks *b, int kind)
{
    static panel_fn *const fns[3][KINDS][2] = {NAMES(2), NAMES(4), NAMES(8)};
    return fns[b->bits / 4][kind][block_subtracts(b)];
}

/* A panel for all rows: after the first row it is read from a near cache. */
static void by_rows(panel_job *t)
{
    const takt_block_f32 *g = t->g;
    for (t->row = 0; t->row < g->m;) {
        const bool all = g->m - t->row >= TAKT_BLOCK_ROWS;
        fn_of(&g->b, all ? ALL : ONE)(t);
        t->row += all ? TAKT_BLOCK_ROWS : 1;
    }
}

static void run(const takt_block_f32 *g)
{
    const size_t panels = takt_blocks_panels(g->b.n);
    const bool far = DISTANT > 1 && g->m < TAKT_BLOCK_ROWS && g->b.k % TAKT_BLOCKS_STEP == 0;
    panel_job t = {.g = g, .apart = far ? panels / DISTANT : 0, .blocks = takt_blocks_count(&g->b)};
#if TAKT_SIMD_SET == 2
    t.ways = small_find(&g->b);
#endif
    enum { POLLED = 8 }; /* panels between two polls */
    for (t.panel = 0; t.panel < t.apart; t.panel++) {
        if (t.panel % POLLED == 0 && takt_poll_stops(g->poll))
            return;
        for (t.row = 0; t.row < g->m; t.row++)
            fn_of(&g->b, DISTANT_ONE)(&t);
    }
    for (t.panel = t.apart * DISTANT; t.panel < panels; t.panel++) {
        if (t.panel % POLLED == 0 && takt_poll_stops(g->poll))
            return;
        by_rows(&t);
    }
}

TAKT_KERNELS(block_f32, TAKT_KERNEL(block_f32, SIMD_NAME, SIMD_RANK, run, NULL));
