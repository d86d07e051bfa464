/* ggml_f32.c - checks floats of ggml's block formats against those of the scalar kernel. */
#include "kernel/ggml_f32/ggml_f32.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

enum { SOURCE, RESULT, WANT };

check_fn check_ggml_f32;

static void one(takt_check *c, const takt_kernel *reference, takt_ggml_f32 g, int where)
{
    const takt_ggml_info *info = &takt_ggml_formats[g.format];
    const size_t bytes = g.blocks * info->bytes, weights = g.blocks * info->weights;
    check_case(c, "%s, %zu blocks, place %d", info->name, g.blocks, where);
    void *src = check_place(c, SOURCE, bytes, where);
    check_fill_bytes(c, src, bytes);
    g.src = src;
    float *want = check_place(c, WANT, weights * sizeof *want, CHECK_AT_END);
    float *got = check_place(c, RESULT, weights * sizeof *got, where);
    g.dst = want;
    takt_kernel_as_ggml_f32(reference)(&g);
    memset(got, 0x5a, weights * sizeof *got);
    g.dst = got;
    CHECK_CALL(c, takt_kernel_as_ggml_f32(c->kernel)(&g));
    check_same_f32(c, got, want, weights);
    check_intact(c, SOURCE);
    check_intact(c, RESULT);
}

static void bench(takt_check *c)
{
    enum { WEIGHTS = 1 << 16 };
    void *src = check_place(c, SOURCE, WEIGHTS * 2, CHECK_AT_START);
    float *dst = check_place(c, RESULT, WEIGHTS * sizeof *dst, CHECK_AT_START);
    check_fill_bytes(c, src, WEIGHTS * 2);
    for (size_t i = 0; i < check_timed(c, TAKT_GGML_FORMATS, 2); i++) {
        const takt_ggml_info *info = &takt_ggml_formats[i];
        const takt_ggml_f32 g = {.format = (takt_ggml_format)i,
                                 .blocks = WEIGHTS / info->weights,
                                 .src = src,
                                 .dst = dst};
        CHECK_BENCH(c, info->name, 4.0 * WEIGHTS + (double)(g.blocks * info->bytes), 0,
                    takt_kernel_as_ggml_f32(c->kernel)(&g));
    }
}

void check_ggml_f32(takt_check *c, const takt_kernel *reference)
{
    for (int f = 0; f < TAKT_GGML_FORMATS; f++)
        for (size_t blocks = 0; blocks < 6; blocks++)
            for (int where = 0; where < CHECK_PLACES; where++) {
                const takt_ggml_f32 g = {.format = (takt_ggml_format)f, .blocks = blocks};
                one(c, reference, g, where);
            }
    bench(c);
}
