/* moves.c - transposes, slices, pads cut for many threads: the elements that one thread moves. */
#include "test.h"

#include <string.h>

#include "util/conv_case.h"

static void check(takt_ctx *ctx, const char *text)
{
    static conv_result want, have;
    static const int threads[] = {1, 2, 5, 16};
    takt_model *model;
    const takt_plan_options reference = {.backend = "ref", .threads = 1};
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "move", text, strlen(text), NULL, &model)))
        return;
    EXPECT_OK(ctx, conv_run(model, &reference, false, &want));
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        const takt_plan_options o = {.threads = threads[i]};
        memset(&have, 0, sizeof have);
        if (!EXPECT_OK(ctx, conv_run(model, &o, false, &have)))
            continue;
        const size_t at = conv_difference(&want, &have);
        EXPECT(at == want.count && have.count == want.count,
               "%s\n    %d threads: element %zu is %.9g, not %.9g", text, threads[i], at,
               have.value[at], want.value[at]);
    }
    takt_model_destroy(model);
}

/* Few rows and many, columns that are not a multiple of a block, several matrices, other sizes of
 * elements, and patterns that are not a transposition. */
static void turned(void)
{
    static const char *const texts[] = {
        "model m(x: f32[3000, 20]) { return op.transpose(x, perm=[1, 0]) }",
        "model m(x: f32[20, 3000]) { return op.transpose(x, perm=[1, 0]) }",
        "model m(x: f32[3, 1001, 17]) { return op.transpose(x, perm=[0, 2, 1]) }",
        "model m(x: f32[2, 31, 33, 29]) { return op.transpose(x, perm=[0, 3, 1, 2]) }",
        "model m(x: f32[2, 29, 31, 33]) { return op.transpose(x, perm=[0, 2, 3, 1]) }",
        "model m(x: f32[1, 3, 120, 121]) { return op.transpose(x, perm=[0, 2, 3, 1]) }",
        "model m(x: f32[40, 37, 41]) { return op.transpose(x, perm=[2, 1, 0]) }",
        "model m(x: i8[2, 1300, 24]) { return op.transpose(x, perm=[0, 2, 1]) }",
        "model m(x: f16[2, 1300, 24]) { return op.transpose(x, perm=[0, 2, 1]) }",
        "model m(x: f64[2, 1300, 24]) { return op.transpose(x, perm=[0, 2, 1]) }",
        "model m(x: f32[2, 1300, 24]) { return x[0:2, 7:1290, 2:20] }",
        /* constants between rows, long enough to be filled in parts, at both ends and not */
        "model m(x: f32[3, 2, 5]) { return op.pad(x, before=[0, 4000, 0], after=[0, 300, 0]) }",
        "model m(x: f32[1, 3]) { return op.pad(x, before=[20000, 0], after=[1, 0]) }",
        "model m(x: f32[2, 7, 3]) { return op.pad(x, before=[1, 0, 2], after=[2, 1500, 1]) }",
        "model m(x: i8[2, 9]) { return op.pad(x, before=[1, 30], after=[1500, 1], value=3) }",
        "model m(x: f64[4, 6, 5]) { return op.pad(x, before=[1, 2, 0], after=[2, 1, 3]) }",
    };
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(ctx, texts[i]);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(turned)
