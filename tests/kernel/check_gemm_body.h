/* check_gemm_body.h - holds products to the scalar one: tails, strides, epilogues, cuts, split k.
 *
 * A template for element types: before including it, define the types `elem`, `gemm`, `info_type`
 * and `epilogue`, TINY, whose square is 0, and the functions FILL, SAME, AS_GEMM, CHUNKS and SUM.
 * It gives check_all() and bench().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MINUS_ZEROS = CHECK_VALUES }; /* values whose products and sums are all -0 */
enum { A, B, C, BIAS, RESIDUAL, SCRATCH, WANT, PARTIAL, PLAIN };

typedef struct shape {
    size_t m, n, k;
} shape;

/* What a case varies besides its shape. */
typedef struct variety {
    bool transposed; /* A */
    size_t gap;      /* elements between the rows of A and of C */
    int where, values;
    unsigned epilogue; /* 0: none; else bits: bias, residual, last; then the activation */
    bool is_far;       /* B as if it were large */
} variety;

static takt_panels panels_of(const takt_kernel *kernel)
{
    return ((const info_type *)kernel->info)->panels;
}

/* Elements from the first to the last of `rows` rows. */
static size_t span(size_t rows, size_t cols, size_t ld)
{
    return rows && cols ? (rows - 1) * ld + cols : 0;
}

static elem *filled(takt_check *c, int slot, size_t count, const variety *v)
{
    elem *p = check_place(c, slot, count * sizeof *p, v->where);
    const elem each = slot == A ? TINY : slot == PLAIN ? -TINY : -(elem)0;
    if (v->values != MINUS_ZEROS)
        FILL(c, p, count, v->values);
    for (size_t i = 0; v->values == MINUS_ZEROS && i < count; i++)
        p[i] = each;
    return p;
}

static epilogue choose_epilogue(takt_check *c, shape s, const variety *v)
{
    static const elem bounds[][2] = {{0, 6}, {-(elem)0, 1}, {-1, -(elem)0}, {-2, 0}};
    const unsigned bits = v->epilogue >> 3;
    epilogue e = {.act = (takt_gemm_act)(bits % 5),
                  .slope = (elem)0.1,
                  .lo = bounds[bits / 5 % 4][0],
                  .hi = bounds[bits / 5 % 4][1],
                  .residual_last = (v->epilogue & 4) != 0,
                  .residual_stride = s.n + v->gap};
    if (v->epilogue & 1)
        e.bias = filled(c, BIAS, s.n, v);
    if (v->epilogue & 2)
        e.residual = filled(c, RESIDUAL, span(s.m, s.n, e.residual_stride), v);
    return e;
}

/* The matrix [k][n] in the panels of `kernel`. */
static elem *packed_for(takt_check *c, const takt_kernel *kernel, const elem *plain, shape s,
                        int where)
{
    const takt_panels panels = panels_of(kernel);
    const size_t count = takt_panels_columns(panels, s.n) * s.k;
    elem *b = check_place(c, B, count * sizeof *b, where);
    memset(b, 0, count * sizeof *b);
    for (size_t p = 0; p < s.k; p++)
        for (size_t j = 0; j < s.n; j++)
            b[takt_packed_at(panels, s.k, s.n, p, j)] = plain[p * s.n + j];
    return b;
}

static elem *scratch_for(takt_check *c, const gemm *g)
{
    const info_type *info = c->kernel->info;
    const size_t bytes = info->scratch_bytes(g);
    return check_scratch(c, SCRATCH, bytes);
}

static gemm prepare(takt_check *c, shape s, const variety *v, const epilogue *e)
{
    const size_t ld = (v->transposed ? s.m : s.k) + v->gap;
    gemm g = {.m = s.m,
              .n = s.n,
              .k = s.k,
              .ldc = s.n + v->gap,
              .b_n = s.n,
              .ways = s.m % 2 == 0 ? 12 : 0,
              .a_row = v->transposed ? 1 : ld,
              .a_col = v->transposed ? ld : 1,
              .epilogue = v->epilogue ? e : NULL};
    g.a = filled(c, A, v->transposed ? span(s.k, s.m, ld) : span(s.m, s.k, ld), v);
    g.b = filled(c, PLAIN, s.k * s.n, v); /* until a kernel gets it packed */
    return g;
}

static void cleared(gemm *g, takt_check *c, int slot, int where)
{
    const size_t bytes = span(g->m, g->n, g->ldc) * sizeof *g->c;
    g->c = check_place(c, slot, bytes, where);
    memset(g->c, 0x5a, bytes);
}

static void one(takt_check *c, const takt_kernel *reference, shape s, variety v)
{
    static const takt_gemm_walk far = {.is_far = true};
    check_case(c, "m=%zu n=%zu k=%zu %s gap %zu place %d values %d epilogue %u%s", s.m, s.n, s.k,
               v.transposed ? "A transposed" : "", v.gap, v.where, v.values, v.epilogue,
               v.is_far ? " far" : "");
    const epilogue e = choose_epilogue(c, s, &v);
    gemm g = prepare(c, s, &v, &e);
    cleared(&g, c, WANT, CHECK_AT_END);
    const elem *want = g.c;
    const elem *plain = g.b;
    g.b = packed_for(c, reference, plain, s, CHECK_AT_END);
    AS_GEMM(reference)(&g);
    cleared(&g, c, C, v.where);
    g.b = packed_for(c, c->kernel, plain, s, v.where);
    g.walk = v.is_far ? &far : NULL;
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, AS_GEMM(c->kernel)(&g));
    SAME(c, g.c, want, span(s.m, s.n, g.ldc));
    for (int slot = A; slot <= SCRATCH; slot++)
        if (c->placed[slot].p)
            check_intact(c, slot);
}

static void add_one(void *user, elem *tile, size_t ld, size_t row, size_t col, size_t rows,
                    size_t cols)
{
    const gemm *g = user;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            tile[i * ld + j] +=
                tile + i * ld + j == g->c + (row + i) * g->ldc + col + j ? 1 : (elem)1e9;
}

static void tails(takt_check *c, const takt_kernel *reference, shape s)
{
    const variety v = {.epilogue = 1, .where = CHECK_AT_END};
    check_case(c, "tail, m=%zu n=%zu k=%zu", s.m, s.n, s.k);
    gemm g;
    epilogue e = {.tail = add_one, .user = &g};
    g = prepare(c, s, &v, &e);
    cleared(&g, c, WANT, CHECK_AT_END);
    const elem *want = g.c;
    const elem *plain = g.b;
    g.b = packed_for(c, reference, plain, s, CHECK_AT_END);
    AS_GEMM(reference)(&g);
    cleared(&g, c, C, CHECK_AT_END);
    g.b = packed_for(c, c->kernel, plain, s, CHECK_AT_END);
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, AS_GEMM(c->kernel)(&g));
    SAME(c, g.c, want, span(s.m, s.n, g.ldc));
}

/* Cuts of m, and of n by `cols` panels, and k split in chunks, must not change a bit. */
static void pieces(takt_check *c, const takt_kernel *reference, shape s, size_t rows, size_t cols)
{
    const variety v = {.epilogue = 3 + (1 << 3), .where = CHECK_AT_END, .values = CHECK_MIXED};
    check_case(c, "cut into %zu x %zu, m=%zu n=%zu k=%zu", rows, cols, s.m, s.n, s.k);
    const epilogue e = choose_epilogue(c, s, &v);
    gemm g = prepare(c, s, &v, &e);
    cleared(&g, c, WANT, CHECK_AT_END);
    const elem *want = g.c;
    const elem *plain = g.b;
    g.b = packed_for(c, reference, plain, s, CHECK_AT_END);
    AS_GEMM(reference)(&g);
    cleared(&g, c, C, CHECK_AT_END);
    g.b = packed_for(c, c->kernel, plain, s, CHECK_AT_END);
    const takt_panels panels = panels_of(c->kernel);
    const size_t count = takt_panels_count(panels, s.n);
    for (size_t i = 0; i < s.m; i += rows)
        for (size_t q = 0; q < count; q += cols) {
            const size_t j = takt_panels_column(panels, s.n, q);
            const size_t end = takt_panels_column(panels, s.n, q + cols < count ? q + cols : count);
            epilogue part = e;
            part.bias += j;
            part.residual += i * e.residual_stride + j;
            gemm h = g;
            h.m = s.m - i < rows ? s.m - i : rows;
            h.n = (end < s.n ? end : s.n) - j;
            h.a += i * g.a_row;
            h.b_first = j;
            h.c += i * g.ldc + j;
            h.epilogue = &part;
            h.scratch = scratch_for(c, &h);
            CHECK_CALL(c, AS_GEMM(c->kernel)(&h));
        }
    SAME(c, g.c, want, span(s.m, s.n, g.ldc));
    const size_t chunks = (s.k + TAKT_GEMM_CHUNK - 1) / TAKT_GEMM_CHUNK, half = chunks / 2;
    elem *partial = check_place(c, PARTIAL, chunks * s.m * s.n * sizeof *partial, CHECK_AT_END);
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, CHUNKS(c->kernel, &g, half, chunks, partial + half * s.m * s.n));
    CHECK_CALL(c, CHUNKS(c->kernel, &g, 0, half, partial));
    cleared(&g, c, C, CHECK_AT_END);
    SUM(&g, partial, chunks);
    SAME(c, g.c, want, span(s.m, s.n, g.ldc));
}

/* What a product needs is enough for every part of it. */
static void scratch_grows(takt_check *c, size_t k)
{
    const info_type *info = c->kernel->info;
    const size_t top = info->scratch_bytes(
        &(gemm){.m = 600, .n = 600, .k = k, .b_n = 600, .a_row = k, .a_col = 1});
    check_case(c, "scratch, k=%zu", k);
    for (size_t m = 1; m <= 600; m++)
        for (size_t n = 1; n <= 600; n += n < 40 ? 1 : 97) {
            const gemm g = {.m = m, .n = n, .k = k, .b_n = 600, .a_row = k, .a_col = 1};
            if (info->scratch_bytes(&g) > top)
                check_fail(c, "m=%zu n=%zu needs %zu, all %zu", m, n, info->scratch_bytes(&g), top);
        }
}

static void bench(takt_check *c, shape s)
{
    gemm g = {.m = s.m, .n = s.n, .k = s.k, .a_row = s.k, .a_col = 1, .ldc = s.n, .b_n = s.n};
    const size_t b_count = takt_panels_columns(panels_of(c->kernel), s.n) * s.k,
                 all = s.m * s.k + b_count + s.m * s.n;
    const info_type *info = c->kernel->info;
    elem *memory = aligned_alloc(64, (all * sizeof *memory + 255) / 64 * 64);
    g.scratch = aligned_alloc(64, info->scratch_bytes(&g) + 64);
    if (memory && g.scratch) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zux%zu", s.m, s.n, s.k);
        FILL(c, memory, all, CHECK_PLAIN);
        g.b = memory;
        g.a = memory + b_count;
        g.c = memory + b_count + s.m * s.k;
        const double flops = 2.0 * (double)s.m * (double)s.n * (double)s.k;
        CHECK_BENCH(c, what, (double)all * sizeof *memory, flops, AS_GEMM(c->kernel)(&g));
    }
    free(memory);
    free(g.scratch);
}

/* Every number of panels that a row may take together, wide and narrow, over one chunk and two. */
static void one_row_widths(takt_check *c, const takt_kernel *reference)
{
    for (unsigned n = 1; n <= 120; n++)
        for (size_t k = 21; k <= 277; k += 256)
            one(c, reference, (shape){1, n, k},
                (variety){false, n % 3, CHECK_AT_END, CHECK_PLAIN, n % 128, false});
}

static void check_all(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                11, 12, 13, 14, 15, 16, 27, 28, 29, 47};
    static const size_t ns[] = {0, 1, 5, 15, 16, 17, 31, 32, 33, 47, 48, 64, 67, 130};
    static const size_t ks[] = {0, 1, 2, 3, 4, 5, 7, 8, 63, 255, 256, 257, 511, 513, 700};
    enum { MS = sizeof ms / sizeof *ms, NS = sizeof ns / sizeof *ns, KS = sizeof ks / sizeof *ks };
    for (unsigned i = 0; i < MS * NS * KS; i++) {
        const shape s = {ms[i % MS], ns[i / MS % NS], ks[i / MS / NS]};
        if (s.m * s.n * s.k < 150000)
            one(c, reference, s,
                (variety){i % 3 == 1, i % 4, (int)(i % CHECK_PLACES), (int)(i / 2 % CHECK_VALUES),
                          i % 128, i % 3 == 2 && s.m <= 14});
    }
    for (unsigned i = 0; i < 128; i++)
        one(c, reference, (shape){13, 37, 19},
            (variety){false, 3, (int)(i % CHECK_PLACES), (int)(i % CHECK_VALUES), i, false});
    for (unsigned i = 0; i < 128; i++)
        one(c, reference, (shape){i & 1 ? 40 : 9, 44, 8},
            (variety){false, 0, CHECK_AT_END, MINUS_ZEROS, i, false});
    static const shape large[] = {{20, 20, 2048}, {21, 33, 4100},  {400, 17, 30},  {121, 5, 2048},
                                  {1, 300, 1000}, {60, 140, 2100}, {70, 24, 64},   {70, 40, 512},
                                  {65, 16, 300},  {9, 700, 600},   {200, 70, 300}, {1, 210, 300},
                                  {1, 270, 700},  {300, 100, 65},  {150, 64, 256}, {14, 270, 300}};
    for (unsigned i = 0; i < sizeof large / sizeof *large; i++)
        one(c, reference, large[i],
            (variety){i % 2, 1, CHECK_AT_END, CHECK_PLAIN, 19 + 8 * i, false});
    static const shape paged[] = {{20, 100, 1024}, {21, 100, 1024}, {46, 90, 2048}};
    for (unsigned i = 0; i < sizeof paged / sizeof *paged; i++) /* rows are pages apart */
        one(c, reference, paged[i], (variety){false, 0, CHECK_AT_END, CHECK_PLAIN, 19, false});
    for (size_t m = 1; m <= 14; m++) {
        one(c, reference, (shape){m, 70 + m, 300 + m},
            (variety){m % 5 == 0, m % 2, CHECK_AT_END, CHECK_PLAIN, 11 * (unsigned)m, true});
        one(c, reference, (shape){m, 32 + m, 30 + m},
            (variety){false, m % 2, CHECK_AT_END, CHECK_PLAIN, 0, true});
    }
    one_row_widths(c, reference);
    scratch_grows(c, 64);
    scratch_grows(c, 1024);
    scratch_grows(c, 5000);
    tails(c, reference, (shape){37, 300, 300});
    tails(c, reference, (shape){1, 77, 10});
    tails(c, reference, (shape){8, 16, 2100});
    pieces(c, reference, (shape){31, 100, 800}, 4, 1);
    pieces(c, reference, (shape){31, 100, 257}, 1, 3);
    pieces(c, reference, (shape){7, 33, 520}, 6, 2);
}
