/* ggml_i8_i8mm.c - blocks by smmla: six rows by eight columns, two by two by eight k each.
 *
 * Levels of a panel's block are spread to bytes once for all rows, as [k / 8][8 pairs of
 * columns][2][8] in L1; scales and minima with them. In a super-block sums of a part meet its scale
 * in integers; C holds the sums of floats from block to block. One row, and two by super-blocks,
 * are left to sdot, which spreads nothing.
 */
#include <arm_neon.h>

#include "kernel/block_i8/quantise.h"
#include "kernel/ggml_i8/rounded.h"
#include "kernel/ggml_panels/parts.h"

enum { FEWEST = 3 }; /* rows for which it is worth it to spread */

#include "kernel/ggml_i8/open_sum.inc"

#define LEFT_TO takt_unit_ggml_i8_dotprod
#include "kernel/ggml_i8/left.inc"

#include "kernel/ggml_i8/mm_rows.inc"

#include "kernel/ggml_i8/mm_spread.inc"

#include "kernel/ggml_i8/mm_tile.inc"

/* Into L2: a part of the next panel while this one is multiplied. In assembly, because gcc 12
 * removes calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void prefetch(const uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        __asm__ volatile("prfm pldl2keep, [%0]" ::"r"(at + i));
}

#include "kernel/ggml_i8/mm_small.inc"

#define SPREAD(name)                                                                               \
    static void spread_##name(const uint8_t *p, mm_block *to)                                      \
    {                                                                                              \
        spread(TAKT_GGML_##name, p, to);                                                           \
    }
SPREAD(Q2_K)
SPREAD(Q3_K)
SPREAD(Q4_K)
SPREAD(Q5_K)
SPREAD(Q6_K)
SPREAD(IQ4_XS)

#define PAIR(name)                                                                                 \
    static void pair_##name(const uint8_t *const b[2], size_t pair, mm_block *to)                  \
    {                                                                                              \
        spread_pair(TAKT_GGML_##name, b, pair, to);                                                \
    }
PAIR(Q1_0)
PAIR(Q2_0)
PAIR(TQ1_0)
PAIR(TQ2_0)
PAIR(IQ1_S)
PAIR(IQ1_M)
PAIR(IQ2_XXS)
PAIR(IQ2_XS)
PAIR(IQ2_S)
PAIR(IQ3_XXS)
PAIR(IQ3_S)

/* A panel's block, or two columns in sequence. */
typedef struct mm_kind {
    void (*spread)(const uint8_t *p, mm_block *to);
    void (*pair)(const uint8_t *const b[2], size_t pair, mm_block *to);
    void (*tile[PAIRS])(const mm_job *t);
} mm_kind;

#define MM_KIND(name, tile)                                                                        \
    [TAKT_GGML_##name] = {spread_##name, NULL, {tile##_1, tile##_2, tile##_3}}
#define MM_OPEN(name, tile) [TAKT_GGML_##name] = {NULL, pair_##name, {tile##_1, tile##_2, tile##_3}}
static const mm_kind kinds[TAKT_GGML_FORMATS] = {
    MM_KIND(Q2_K, short_minima),  MM_KIND(Q3_K, short_plain),   MM_KIND(Q4_K, long_minima),
    MM_KIND(Q5_K, long_minima),   MM_KIND(Q6_K, short_plain),   MM_KIND(IQ4_XS, long_plain),
    MM_OPEN(TQ1_0, whole_256),    MM_OPEN(TQ2_0, whole_256),    MM_OPEN(Q1_0, whole_128),
    MM_OPEN(Q2_0, whole_64),      MM_OPEN(IQ1_S, long_plain),   MM_OPEN(IQ1_M, short_plain),
    MM_OPEN(IQ2_XXS, long_plain), MM_OPEN(IQ2_XS, short_plain), MM_OPEN(IQ2_S, short_plain),
    MM_OPEN(IQ3_XXS, long_plain), MM_OPEN(IQ3_S, long_plain)};

/* The rows that one panel is multiplied with, and the destination. */
typedef struct mm_loop {
    const mm_kind *kind;
    mm_rows a;
    const uint8_t *panel;
    float *c;
    size_t first;      /* first row of c */
    size_t ldc, bytes; /* bytes: of the panel's block */
    size_t columns;    /* of the panel */
} mm_loop;

static void one_block(const mm_loop *o, size_t b, mm_block *to)
{
    if (o->kind->spread != NULL) {
        o->kind->spread(o->panel + b * o->bytes, to);
        return;
    }
    const size_t bytes = o->bytes / TAKT_GGML_PANEL;
    if (o->columns < TAKT_GGML_PANEL)
        memset(to, 0, sizeof *to);
    for (size_t i = 0; i < o->columns; i += 2) { /* the last one may be repeated */
        const size_t next = i + 1 < o->columns ? i + 1 : i;
        const uint8_t *const at[2] = {o->panel + (i * o->a.blocks + b) * bytes,
                                      o->panel + (next * o->a.blocks + b) * bytes};
        o->kind->pair(at, i / 2, to);
    }
}

/* Strip `strip` of block b; rows beyond the last go to `none`. */
static void one_strip(const mm_loop *o, const mm_block *block, size_t strip, size_t b)
{
    const mm_rows *a = &o->a;
    const size_t pairs = mm_pairs(a, strip);
    float none[TAKT_GGML_PANEL] = {0};
    mm_job t = {.q = mm_bytes_at(a, strip, b),
                .sums = a->sums + mm_sums_at(a, strip, b),
                .is_first = b == 0,
                .b = block};
    for (size_t r = 0; r < 2 * pairs; r++) {
        const size_t row = strip * STRIP_ROWS + r;
        t.dx[r] = a->dx + row * a->blocks + b;
        t.c[r] = row < a->m ? o->c + (row - o->first) * o->ldc : none;
    }
    o->kind->tile[pairs - 1](&t);
}

static size_t strips_of(const mm_rows *a)
{
    return (a->m + STRIP_ROWS - 1) / STRIP_ROWS;
}

static void whole_panel(const mm_loop *o)
{
    mm_block block;
    for (size_t b = 0; b < o->a.blocks; b++) {
        prefetch(o->panel + (o->a.blocks + b) * o->bytes, o->bytes);
        one_block(o, b, &block);
        for (size_t strip = 0; strip < strips_of(&o->a); strip++)
            one_strip(o, &block, strip, b);
    }
}

/* A panel with fewer columns: a strip at a time, by way of whole ones. */
static void part_panel(const mm_loop *o)
{
    mm_block block;
    float c[STRIP_ROWS][TAKT_GGML_PANEL];
    for (size_t strip = 0; strip < strips_of(&o->a); strip++) {
        const size_t first = strip * STRIP_ROWS, left = o->a.m - first;
        mm_loop part = *o;
        part.c = *c;
        part.first = first;
        part.ldc = TAKT_GGML_PANEL;
        for (size_t b = 0; b < o->a.blocks; b++) {
            one_block(o, b, &block);
            one_strip(&part, &block, strip, b);
        }
        for (size_t r = 0; r < left && r < STRIP_ROWS; r++)
            memcpy(o->c + (first + r) * o->ldc, c[r], o->columns * sizeof(float));
    }
}

/* Whether the format has blocks of 32. */
static bool by_small(takt_ggml_format format, size_t m, size_t blocks)
{
    return m >= LEAST_SMALL && blocks > 0 && is_small(format);
}

static bool by_rows(takt_ggml_format format, size_t m, size_t blocks)
{
    return m < FEWEST || blocks == 0 || kinds[format].tile[0] == NULL;
}

static void run(const takt_ggml_i8 *g)
{
    if (by_small(g->format, g->m, g->blocks)) {
        small_run(g);
        return;
    }
    if (by_rows(g->format, g->m, g->blocks)) {
        run_rows(g);
        return;
    }
    mm_loop o = {.kind = &kinds[g->format],
                 .a = mm_rows_at(g->format, g->m, g->blocks, (void *)(uintptr_t)g->rounded),
                 .panel = g->panels,
                 .ldc = g->ldc,
                 .bytes = takt_ggml_panel_block(g->format)};
    for (size_t column = 0; column < g->n; column += TAKT_GGML_PANEL) {
        o.c = g->c + column;
        o.columns = g->n - column < TAKT_GGML_PANEL ? g->n - column : TAKT_GGML_PANEL;
        if (o.columns == TAKT_GGML_PANEL)
            whole_panel(&o);
        else
            part_panel(&o);
        o.panel += g->blocks * o.bytes;
    }
}

static size_t bytes(takt_ggml_format format, size_t m, size_t blocks)
{
    if (by_small(format, m, blocks))
        return small_bytes(format, m, blocks);
    return by_rows(format, m, blocks) ? rounded_bytes(format, m, blocks)
                                      : mm_bytes(format, m, blocks);
}

static void round_all(const takt_ggml_round *r)
{
    if (by_small(r->format, r->m, r->blocks))
        small_round(r);
    else if (by_rows(r->format, r->m, r->blocks))
        round_rows(r);
    else
        mm_round(r);
}

static const takt_ggml_i8_info info = {STRIP_ROWS, bytes, round_all};

TAKT_KERNELS(ggml_i8, TAKT_KERNEL(ggml_i8, "i8mm_6x8", 30, run, &info));
