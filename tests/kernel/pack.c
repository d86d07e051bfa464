/* pack.c - checks packing against the scalar one, and unpacking against the original matrix. */
#include "kernel/pack/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { SRC, DST, WANT, BACK };

/* Layout of the matrix: row-major, column-major, or neither. */
static void strides(takt_pack *p, int layout)
{
    p->row = layout == 0 ? p->n + 1 : layout == 1 ? 1 : 2;
    p->col = layout == 0 ? 1 : layout == 1 ? p->k + 3 : 2 * p->k + 1;
}

static void one(takt_check *c, const takt_kernel *reference, takt_pack p, int layout, int where)
{
    check_case(c, "k=%zu n=%zu of %zu bytes, layout %d, place %d", p.k, p.n, p.bytes, layout,
               where);
    strides(&p, layout);
    const size_t out = takt_panels_columns(p.panels, p.n) * p.k * p.bytes;
    const size_t in = p.k && p.n ? ((p.k - 1) * p.row + (p.n - 1) * p.col + 1) * p.bytes : 0;
    void *src = check_place(c, SRC, in, where), *want = check_place(c, WANT, out, CHECK_AT_END);
    check_fill_bytes(c, src, in);
    p.src = src;
    p.dst = want;
    takt_kernel_as_pack(reference)(&p);
    p.dst = check_place(c, DST, out, where);
    memset(p.dst, 0xff, out);
    CHECK_CALL(c, takt_kernel_as_pack(c->kernel)(&p));
    check_same_bytes(c, p.dst, want, out);
    check_intact(c, DST);
    /* Back into a copy whose elements are wiped: gaps between them must stay. */
    char *back = check_place(c, BACK, in, where);
    if (in)
        memcpy(back, src, in);
    for (size_t i = 0; i < p.k * p.n; i++)
        memset(back + (i / p.n * p.row + i % p.n * p.col) * p.bytes, 0, p.bytes);
    takt_unpack(&(takt_pack){p.k, p.n, p.dst, p.row, p.col, back, p.bytes, p.panels});
    check_same_bytes(c, back, src, in);
}

static void bench(takt_check *c, size_t k, size_t n, bool transposed)
{
    float *src = aligned_alloc(64, k * n * sizeof *src),
          *dst = aligned_alloc(64, k * n * sizeof *dst);
    if (src && dst) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zu%s", k, n, transposed ? " transposed" : "");
        memset(src, 0, k * n * sizeof *src);
        const takt_pack p = {k,   n,           src,     transposed ? 1 : n, transposed ? k : 1,
                             dst, sizeof *src, {16, 16}};
        CHECK_BENCH(c, what, 8.0 * (double)k * (double)n, 0, takt_kernel_as_pack(c->kernel)(&p));
    }
    free(src);
    free(dst);
}

/* Every column is in one panel, panels follow each other, and padding is small. */
static void widths(takt_check *c, takt_panels s)
{
    for (size_t n = 0; n < 100; n++) {
        const size_t count = takt_panels_count(s, n), columns = takt_panels_columns(s, n);
        check_case(c, "panels of %zu and %zu, n=%zu", s.wide, s.narrow, n);
        if (columns < n || columns >= n + s.narrow)
            check_fail(c, "%zu columns", columns);
        for (size_t j = 0; j < n; j++) {
            const size_t panel = takt_panels_of(s, n, j);
            if (panel >= count || takt_panels_column(s, n, panel) > j ||
                takt_panels_column(s, n, panel + 1) <= j)
                check_fail(c, "column %zu in panel %zu of %zu", j, panel, count);
        }
        for (size_t parts = 1; parts < 5; parts++) {
            size_t at = 0;
            for (size_t i = 0; i < parts; i++) {
                size_t first, end;
                takt_panels_share(s, n, i, parts, &first, &end);
                if (first != at ||
                    (end < n && takt_panels_column(s, n, takt_panels_of(s, n, end)) != end))
                    check_fail(c, "part %zu of %zu is %zu to %zu", i, parts, first, end);
                at = end;
            }
            if (at != n)
                check_fail(c, "%zu parts end at %zu", parts, at);
        }
    }
}

void check_pack(takt_check *c, const takt_kernel *reference)
{
    static const takt_panels shapes[] = {{16, 16}, {12, 8}, {8, 8}, {6, 4}};
    for (size_t bytes = 2; bytes <= 8; bytes *= 2)
        for (size_t k = 0; k < 20; k++)
            for (size_t n = 0; n < 40; n++)
                for (int layout = 0; layout < 3; layout++)
                    one(c, reference,
                        (takt_pack){.k = k, .n = n, .bytes = bytes, .panels = shapes[(k + n) % 4]},
                        layout, (int)((k + n) % CHECK_PLACES));
    for (size_t i = 0; i < 12; i++)
        one(c, reference,
            (takt_pack){.k = 250 + 90 * (i % 4), .n = 41, .bytes = 4, .panels = shapes[i % 4]},
            (int)(i / 4), CHECK_AT_END);
    for (size_t i = 0; i < 4; i++)
        widths(c, shapes[i]);
    for (int transposed = 0; transposed < 2; transposed++) {
        bench(c, 64, 128, transposed);
        bench(c, 256, 256, transposed);
        bench(c, 1024, 1024, transposed);
    }
}
