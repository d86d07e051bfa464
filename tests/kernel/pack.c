/* pack.c - holds packing to the scalar one, and unpacking to the matrix it came from. */
#include "kernel/pack/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { SRC, DST, WANT, BACK };

/* How the matrix lies: rows after each other, columns after each other, neither. */
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
    const size_t width = takt_pack_width(p.bytes);
    const size_t out = (p.n + width - 1) / width * width * p.k * p.bytes;
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
    takt_unpack(&(takt_pack){p.k, p.n, p.dst, p.row, p.col, back, p.bytes});
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
        const takt_pack p = {k, n, src, transposed ? 1 : n, transposed ? k : 1, dst, sizeof *src};
        CHECK_BENCH(c, what, 8.0 * (double)k * (double)n, 0, takt_kernel_as_pack(c->kernel)(&p));
    }
    free(src);
    free(dst);
}

void check_pack(takt_check *c, const takt_kernel *reference)
{
    for (size_t bytes = 2; bytes <= 8; bytes *= 2)
        for (size_t k = 0; k < 20; k++)
            for (size_t n = 0; n < 40; n++)
                for (int layout = 0; layout < 3; layout++)
                    one(c, reference, (takt_pack){.k = k, .n = n, .bytes = bytes}, layout,
                        (int)((k + n) % CHECK_PLACES));
    for (int transposed = 0; transposed < 2; transposed++) {
        bench(c, 64, 128, transposed);
        bench(c, 256, 256, transposed);
        bench(c, 1024, 1024, transposed);
    }
}
