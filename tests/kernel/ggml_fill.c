/* ggml_fill.c - checks floats of panels of blocks against those of the scalar kernel. */
#include "kernel/ggml_fill/ggml_fill.h"

#include <stdio.h>
#include <string.h>

#include "check_ggml.h"

enum { RESULT = GGML_SLOTS, WANT };

check_fn check_ggml_fill;

static void one(takt_check *c, const takt_kernel *reference, takt_ggml_fill g, int where)
{
    const size_t rows = g.deep * takt_ggml_formats[g.format].weights;
    const size_t count = rows == 0 || g.count == 0 ? 0 : (rows - 1) * g.ld + g.count * 16;
    check_case(c, "%s panels=%zu blocks %zu..%zu of %zu, place %d",
               takt_ggml_formats[g.format].name, g.count, g.first, g.first + g.deep, g.blocks,
               where);
    g.panels = check_ggml(c, g.format, g.count * 16, g.blocks, where != 0);
    float *want = check_place(c, WANT, count * sizeof *want, CHECK_AT_END);
    float *got = check_place(c, RESULT, count * sizeof *got, where);
    memset(want, 0x5a, count * sizeof *want);
    memset(got, 0x5a, count * sizeof *got);
    g.dst = want;
    takt_kernel_as_ggml_fill(reference)(&g);
    g.dst = got;
    CHECK_CALL(c, takt_kernel_as_ggml_fill(c->kernel)(&g));
    check_same_f32(c, got, want, count);
    check_intact(c, RESULT);
    check_intact(c, GGML_PANELS);
}

static void bench(takt_check *c, takt_ggml_format format)
{
    const takt_ggml_info *info = &takt_ggml_formats[format];
    takt_ggml_fill g = {.format = format, .count = 4, .ld = 64, .blocks = 256 / info->weights};
    g.deep = g.blocks;
    g.panels = check_ggml(c, format, 64, g.blocks, true);
    g.dst = check_place(c, RESULT, sizeof(float) * 64 * 256, CHECK_AT_START);
    CHECK_BENCH(c, info->name, 4.0 * 64 * 256 + 64.0 * (double)(g.blocks * info->bytes), 0,
                takt_kernel_as_ggml_fill(c->kernel)(&g));
}

void check_ggml_fill(takt_check *c, const takt_kernel *reference)
{
    for (int f = check_ggml_next(0); f < TAKT_GGML_FORMATS; f = check_ggml_next(f + 1))
        for (size_t count = 0; count < 3; count++)
            for (size_t deep = 0; deep < 3; deep++)
                for (int where = 0; where < CHECK_PLACES; where++) {
                    const takt_ggml_fill g = {.format = (takt_ggml_format)f,
                                              .count = count,
                                              .blocks = deep + (size_t)where,
                                              .first = (size_t)where,
                                              .deep = deep,
                                              .ld = 16 * count + 5 * deep};
                    one(c, reference, g, where);
                }
    for (int f = check_ggml_next(0); f < TAKT_GGML_FORMATS; f = check_ggml_next(f + 1))
        if (check_timed(c, 1, 1) > 0)
            bench(c, (takt_ggml_format)f);
}
