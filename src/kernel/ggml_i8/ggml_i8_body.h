/* ggml_i8_body.h - rows of bytes by panels of levels, in vectors of sums: lane = column.
 *
 * A template: a variant defines
 *     MR               rows of one tile
 *     act, act_load    sixteen bytes of a row of A
 *     dot4             adds the products of four bytes of each lane and bytes 4 * lane .. of `act`;
 *                      levels are unsigned, of at most six bits, or of eight
 *     TAKES_SIGNED     1: it takes levels of eight bits as they are; 0: plus 128
 * and includes this file. Sums begin at -zero * sum of the row's bytes, so that no weight has its
 * zero point taken away.
 */
#include "kernel/block_i8/quantise.h"
#include "kernel/ggml_i8/rounded.h"
#include "kernel/ggml_panels/parts.h"

#include "kernel/ggml_i8/open_run.h"

/* One tile: rows from `row` on by one panel. */
typedef struct tile_job {
    const takt_ggml_i8 *g;
    rounded_rows a;
    size_t row, panel;
} tile_job;

/* The shape of a tile: known where everything is inlined. */
typedef struct shape {
    takt_ggml_format format;
    size_t rows, first, vectors; /* vectors of the panel, from `first` on */
} shape;

/* Where a tile has got to. */
typedef struct cursor {
    const uint8_t *p;
    const int8_t *q[MR];
    const float *dx[MR];
    const int32_t *sums[MR];
} cursor;

/* Keeps the compiler from loading ahead more than it has registers for. */
FIXED void hold(const shape f)
{
    if (f.rows == 1)
        __asm__ volatile("" ::: "memory");
}

FIXED int zero_of(const takt_ggml_format format)
{
    return ggml_is_signed(format) && !TAKES_SIGNED ? 128 : ggml_shape_of(format).zero;
}

FIXED unsigned bits_of(const takt_ggml_format format)
{
    return ggml_is_signed(format) ? 8 : 6;
}

/* A level as dot4 takes it. */
FIXED vi taken(const takt_ggml_format format, vi level)
{
    return ggml_is_signed(format) && !TAKES_SIGNED ? vi_xor(level, vi_set1((int32_t)0x80808080))
                                                   : level;
}

/* Blocks of 32: s[r][u] = sum of bytes * (level - zero). */
FIXED void small_sums(const cursor *o, vi (*s)[VECTORS], const shape f)
{
    const unsigned bits = bits_of(f.format);
    const int zero = zero_of(f.format);
    UNROLL for (size_t r = 0; r < f.rows; r++)
    {
        const vi begin = vi_set1(zero == 0 ? 0 : -zero * *o->sums[r]);
        UNROLL for (size_t u = 0; u < f.vectors; u++) s[r][u] = begin;
    }
    UNROLL for (int i = 0; i < 2; i++)
    {
        act x[MR];
        UNROLL for (size_t r = 0; r < f.rows; r++) x[r] = act_load(o->q[r] + 16 * i);
        UNROLL for (int lane = 0; lane < 4; lane++)
        {
            UNROLL for (size_t u = 0; u < f.vectors; u++)
            {
                const vi level =
                    taken(f.format, ggml_level(f.format, o->p, 4 * i + lane, f.first + u));
                UNROLL for (size_t r = 0; r < f.rows; r++) s[r][u] =
                    dot4(s[r][u], level, x[r], lane, bits);
            }
        }
    }
}

/* acc += (scale * dx) * sum, of whole numbers in s. */
FIXED void combine(const cursor *o, const vf *scale, vi (*s)[VECTORS], vf (*acc)[VECTORS],
                   const shape f)
{
    UNROLL for (size_t r = 0; r < f.rows; r++)
    {
        const vf dx = vf_set1(*o->dx[r]);
        UNROLL for (size_t u = 0; u < f.vectors; u++) acc[r][u] =
            vf_fma(vf_mul(scale[u], dx), vf_from_vi(s[r][u]), acc[r][u]);
    }
}

FIXED void small_block(const cursor *o, vf (*acc)[VECTORS], const shape f)
{
    vi s[MR][VECTORS];
    vf scale[VECTORS];
    small_sums(o, s, f);
    UNROLL for (size_t u = 0; u < f.vectors; u++) scale[u] =
        ggml_half(f.format, o->p, 0, f.first + u);
    combine(o, scale, s, acc, f);
    if (!ggml_shape_of(f.format).has_min)
        return;
    UNROLL for (size_t u = 0; u < f.vectors; u++)
    {
        scale[u] = ggml_half(f.format, o->p, 1, f.first + u);
        UNROLL for (size_t r = 0; r < f.rows; r++) s[r][u] = vi_set1(*o->sums[r]);
    }
    combine(o, scale, s, acc, f);
}

/* ---- super-blocks ---- */

/* Half of a group: sixteen weights of each of `runs` runs of 32, from `first` on. */
typedef struct half_group {
    ggml_group from;
    int part, first, runs; /* part: that of run 0 */
    int side;
} half_group;

/* s[run][r][u] += bytes * level. */
FIXED void group_sums(const cursor *o, const half_group *h, vi (*s)[MR][VECTORS], const shape f)
{
    const int span = ggml_shape_of(f.format).span;
    act x[4][MR];
    UNROLL for (int q = 0; q < h->runs; q++) UNROLL for (size_t r = 0; r < f.rows; r++) x[q][r] =
        act_load(o->q[r] + h->part * span + (h->first + q) * 32 + h->side * 16);
    UNROLL for (int lane = 0; lane < 4; lane++) UNROLL for (size_t u = 0; u < f.vectors; u++)
    {
        UNROLL for (int q = 0; q < h->runs; q++)
        {
            const vi level = taken(f.format, ggml_run_level(f.format, &h->from, h->first + q,
                                                            4 * h->side + lane, f.first + u));
            UNROLL for (size_t r = 0; r < f.rows; r++) s[q][r][u] =
                dot4(s[q][r][u], level, x[q][r], lane, bits_of(f.format));
        }
        hold(f);
    }
}

/* Where sums of a part begin. */
FIXED void begin_parts(const cursor *o, const half_group *h, vi (*s)[MR][VECTORS], const shape f)
{
    const ggml_shape z = ggml_shape_of(f.format);
    UNROLL for (int q = 0; q < h->runs; q++) UNROLL for (size_t r = 0; r < f.rows; r++)
    {
        const int part = h->part + (h->first + q) * (32 / z.span) + h->side;
        const int zero = zero_of(f.format);
        const vi begin = vi_set1(zero == 0 ? 0 : -zero * o->sums[r][part]);
        UNROLL for (size_t u = 0; u < f.vectors; u++) s[q][r][u] = begin;
    }
}

/* Whether scales of parts have signs. */
FIXED bool has_signs(const takt_ggml_format format)
{
    return format == TAKT_GGML_Q3_K || format == TAKT_GGML_Q6_K || format == TAKT_GGML_IQ4_XS;
}

/* Scales or minima of a part: from a table where vectors are known, else as they lie. */
FIXED vi part_numbers(const int8_t *from, const size_t u, const bool is_signed, const shape f)
{
    return f.rows == 1 ? ggml_numbers(from, f.first + u, is_signed)
                       : vi_load_i8(from + (f.first + u) * VF);
}

/* sum += scale of the part * s. */
FIXED void end_parts(const ggml_parts *by, const half_group *h, vi (*s)[MR][VECTORS],
                     vi (*sum)[VECTORS], const shape f)
{
    const int each = 32 / ggml_shape_of(f.format).span;
    UNROLL for (int q = 0; q < h->runs; q++) UNROLL for (size_t u = 0; u < f.vectors; u++)
    {
        const int part = h->part + (h->first + q) * each + (each == 2 ? h->side : 0);
        const vi scale = part_numbers(by->scale[part], u, has_signs(f.format), f);
        UNROLL for (size_t r = 0; r < f.rows; r++) sum[r][u] =
            vi_add(sum[r][u], vi_mul(scale, s[q][r][u]));
        hold(f);
    }
}

FIXED void super_minima(const cursor *o, const ggml_parts *by, vf (*acc)[VECTORS], const shape f)
{
    const ggml_shape z = ggml_shape_of(f.format);
    vi s[MR][VECTORS];
    vf scale[VECTORS];
    UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
        s[r][u] = vi_set1(0);
    UNROLL for (int part = 0; part < 256 / z.span; part++)
        UNROLL for (size_t u = 0; u < f.vectors; u++)
    {
        const vi minimum = part_numbers(by->minimum[part], u, false, f);
        UNROLL for (size_t r = 0; r < f.rows; r++) s[r][u] =
            vi_add(s[r][u], vi_mul(minimum, vi_set1(o->sums[r][part])));
        hold(f);
    }
    UNROLL for (size_t u = 0; u < f.vectors; u++) scale[u] =
        vf_neg(ggml_half(f.format, o->p, 1, f.first + u));
    combine(o, scale, s, acc, f);
}

/* Runs of a group that are summed at once: as many as there are registers for. */
FIXED int runs_at_once(const shape f)
{
    const size_t most = VF == 8 ? 8 : 16, all = (size_t)ggml_runs(f.format);
    return all < 2 || all * f.rows * f.vectors <= most ? (int)all : 2;
}

/* Step `step` of the `steps` that group i of `groups` takes. */
FIXED void prefetch_step(const cursor *o, const size_t i, const size_t groups, const size_t step,
                         const size_t steps, const shape f)
{
    const size_t lines = (ggml_lines(f.format) + groups - 1) / groups;
    if (f.rows == 1)
        ggml_prefetch_lines(o->p + i * lines * 64, step * lines / steps,
                            (step + 1) * lines / steps);
}

FIXED void super_block(const cursor *o, vf (*acc)[VECTORS], const shape f)
{
    const ggml_shape z = ggml_shape_of(f.format);
    const int runs = runs_at_once(f), all = ggml_runs(f.format), each = 32 / z.span;
    ggml_parts by;
    vi s[4][MR][VECTORS], sum[MR][VECTORS];
    vf scale[VECTORS];
    ggml_parts_of(f.format, o->p, &by);
    UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
        sum[r][u] = vi_set1(0);
    for (int i = 0; i < 8 / all; i++)
        UNROLL for (int first = 0; first < all; first += runs)
            UNROLL for (int side = 0; side < 2; side++)
        {
            const half_group h = {ggml_group_at(f.format, o->p, i), i * all * each, first, runs,
                                  side};
            prefetch_step(o, (size_t)i, (size_t)(8 / all), (size_t)(first / runs * 2 + side),
                          (size_t)(all / runs * 2), f);
            if (each == 2 || side == 0)
                begin_parts(o, &h, s, f);
            group_sums(o, &h, s, f);
            if (each == 2 || side == 1)
                end_parts(&by, &h, s, sum, f);
        }
    UNROLL for (size_t u = 0; u < f.vectors; u++) scale[u] =
        ggml_half(f.format, o->p, 0, f.first + u);
    combine(o, scale, sum, acc, f);
    if (z.has_min)
        super_minima(o, &by, acc, f);
}

FIXED cursor begin(const tile_job *t, const shape f)
{
    const rounded_rows *a = &t->a;
    cursor o;
    o.p = (const uint8_t *)t->g->panels + t->panel * a->blocks * takt_ggml_panel_block(f.format);
    UNROLL for (size_t r = 0; r < f.rows; r++)
    {
        o.q[r] = a->q + (t->row + r) * a->k;
        o.dx[r] = a->dx + (t->row + r) * a->blocks;
        o.sums[r] = a->sums + (t->row + r) * a->parts;
    }
    return o;
}

FIXED void put(const takt_ggml_i8 *g, size_t row, size_t column, vf x)
{
    if (column >= g->n)
        return;
    float *c = g->c + row * g->ldc + column;
    if (g->n - column >= VF)
        vf_store(c, x);
    else
        vf_store_n(c, x, g->n - column);
}

FIXED void tile_fixed(const tile_job *t, const shape f)
{
    const int weights = ggml_shape_of(f.format).weights;
    const int parts = weights / ggml_shape_of(f.format).span;
    const size_t bytes = (size_t)TAKT_GGML_PANEL * takt_ggml_formats[f.format].bytes;
    cursor o = begin(t, f);
    vf acc[MR][VECTORS];
    UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
        acc[r][u] = vf_zero();
    for (size_t b = 0; b < t->a.blocks; b++) {
        if (f.rows == 1 && !ggml_is_super(f.format))
            ggml_prefetch(f.format, o.p);
        if (ggml_is_super(f.format))
            super_block(&o, acc, f);
        else
            small_block(&o, acc, f);
        o.p += bytes;
        UNROLL for (size_t r = 0; r < f.rows; r++)
        {
            o.q[r] += weights;
            o.dx[r]++;
            o.sums[r] += parts;
        }
    }
    UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
        put(t->g, t->row + r, t->panel * TAKT_GGML_PANEL + (f.first + u) * VF, acc[r][u]);
}

/* One row by a whole panel, MR rows by one vector of it after the other. */
#define TILES(name)                                                                                \
    static void row_##name(const tile_job *t)                                                      \
    {                                                                                              \
        tile_fixed(t, (shape){TAKT_GGML_##name, 1, 0, VECTORS});                                   \
    }                                                                                              \
    static void rows_##name(const tile_job *t)                                                     \
    {                                                                                              \
        for (size_t u = 0; u < VECTORS; u++)                                                       \
            tile_fixed(t, (shape){TAKT_GGML_##name, MR, u, 1});                                    \
    }
TILES(Q4_0)
TILES(Q4_1)
TILES(Q5_0)
TILES(Q5_1)
TILES(Q8_0)
TILES(Q2_K)
TILES(Q3_K)
TILES(Q4_K)
TILES(Q5_K)
TILES(Q6_K)
TILES(IQ4_NL)
TILES(IQ4_XS)
TILES(MXFP4)

typedef void tile_fn(const tile_job *t);
#define ENTRY(name) [TAKT_GGML_##name] = {row_##name, rows_##name}
static tile_fn *const tiles[TAKT_GGML_FORMATS][2] = {
    ENTRY(Q4_0), ENTRY(Q4_1), ENTRY(Q5_0), ENTRY(Q5_1),   ENTRY(Q8_0),   ENTRY(Q2_K),  ENTRY(Q3_K),
    ENTRY(Q4_K), ENTRY(Q5_K), ENTRY(Q6_K), ENTRY(IQ4_NL), ENTRY(IQ4_XS), ENTRY(MXFP4),
};

static void run_rows(const takt_ggml_i8 *g)
{
    tile_job t = {.g = g,
                  .a = rounded_at(g->format, g->m, g->blocks, (void *)(uintptr_t)g->rounded)};
    if (!takt_ggml_has_panels(g->format)) {
        open_run(g, &t.a);
        return;
    }
    for (t.panel = 0; t.panel < takt_ggml_panels(g->n); t.panel++)
        for (t.row = 0; t.row < g->m;) {
            const bool many = g->m - t.row >= MR;
            tiles[g->format][many](&t);
            t.row += many ? MR : 1;
        }
}

/* ---- rounding ---- */

static void round_rows(const takt_ggml_round *r)
{
    const rounded_rows to = rounded_at(r->format, r->m, r->blocks, r->to);
    const size_t size = takt_ggml_formats[r->format].weights;
    for (size_t row = r->first; row < r->end; row++) {
        const float *a = r->a + row * r->a_row;
        int8_t *q = to.q + row * to.k;
        for (size_t b = 0; b < to.blocks; b++) {
            float most;
            (void)block_round(a + b * size, size, &most, q + b * size);
            to.dx[row * to.blocks + b] = most / 127;
        }
        rounded_sums(&to, row);
    }
}
