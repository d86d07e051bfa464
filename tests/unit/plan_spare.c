/* plan_spare.c - weights that are folded and then packed share one block of memory while a plan is
 * made, and a constant that is kept does not hold the rest of such a block. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

enum { FOLDED = 9 * 96 * 96 * 4 };

static const char text[] =
    "model m(x: f32[1, 96, 8, 8], y: f32[280, 280]) seed=4 {\n"
    "  param a: f32[280, 280] = normal(0, 1)\n"
    "  param b: f32[280, 280] = normal(0, 1)\n"
    "  h = x\n"
    "  repeat 4 as i {\n"
    "    h = conv(h, 96, kernel=3, pad=1, bias=false) |> batch_norm() |> relu()\n"
    "  }\n"
    "  return h, z = y + (a * b)\n"
    "}\n";

/* Blocks as large as folded weights: all, and those that were not returned. */
typedef struct tally {
    size_t folded, live_folded;
} tally;

static void *get(void *user, size_t size, size_t align)
{
    tally *t = user;
    t->folded += size == FOLDED;
    t->live_folded += size == FOLDED;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void put(void *user, void *block, size_t size)
{
    tally *t = user;
    t->live_folded -= size == FOLDED;
    free(block);
}

int main(void)
{
    tally t = {0};
    takt_ctx *ctx = NULL;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    const takt_allocator memory = {.get = get, .put = put, .user = &t};
    const takt_config config = {.allocator = &memory};
    const takt_plan_options o = {.threads = 1};
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)) &&
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m))) {
        const size_t before = t.folded, weights = t.live_folded;
        EXPECT_OK(ctx, takt_plan_create(m, &o, &plan));
        /* one for the transposed weight and one for the folded */
        EXPECT(t.folded - before <= 2, "%zu blocks for 4 weights", t.folded - before);
        EXPECT(t.live_folded == weights, "%zu blocks stay", t.live_folded - weights);
    }
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return test_done();
}
