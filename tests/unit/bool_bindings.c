/* bool_bindings.c - buffers whose bytes are not bools are refused wherever a caller can hand one
 * in: dense, strided, copied, the session's own memory, static inputs, batches, states. */
#include <string.h>

#include <takt/takt.h>

#include "ir/normal.h"
#include "test.h"

static takt_ctx *ctx;
static const char text[] =
    "model m(x: bool[n, 4], y: bool[n, 4]) {\n"
    "  return op.and(x, y), reduce_sum(select(x, 1.0, 0.0), axes=[0, 1])\n}\n";

static takt_tensor_view view_of(void *data, int64_t rows, int64_t across, int64_t down)
{
    takt_tensor_view v = {.dtype = TAKT_BOOL, .rank = 2, .dims = {rows, 4}, .data = data};
    v.strides[0] = across;
    v.strides[1] = down;
    return v;
}

/* A run with these bytes of x: valid ones succeed, and a single bad byte anywhere is found. */
static void try_view(takt_session *s, const takt_tensor_view *x, uint8_t *bytes, size_t count,
                     const char *what)
{
    memset(bytes, 1, count);
    if (!EXPECT(takt_session_bind(s, "x", x) == TAKT_OK && takt_session_run(s) == TAKT_OK, "%s: %s",
                what, takt_session_error(s)->message))
        return;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bytes[i] = 2;
        const takt_status status = takt_session_run(s);
        EXPECT(status == TAKT_OK ||
                   strstr(takt_session_error(s)->message, "neither 0 nor 1") != NULL,
               "%s: %s", what, takt_session_error(s)->message);
        found += status != TAKT_OK;
        bytes[i] = (uint8_t)(i % 2);
    }
    EXPECT(found == 12, "%s: %zu of 12 bytes were found", what, found);
    EXPECT(takt_session_run(s) == TAKT_OK, "%s", what);
}

static void bindings(const takt_model *m, const char *backend)
{
    const takt_plan_options options = {.sizes = "n=3", .backend = backend, .threads = 1};
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    uint8_t y[12] = {0}, x[64];
    if (EXPECT_OK(ctx, takt_plan_create(m, &options, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        const takt_tensor_view dense = view_of(x, 3, 0, 0), wide = view_of(x, 3, 8, 1),
                               other = view_of(x, 3, 1, 3), rest = view_of(y, 3, 0, 0),
                               own = {.dtype = TAKT_BOOL, .rank = 2, .dims = {3, 4}};
        EXPECT_OK(NULL, takt_session_bind(s, "y", &rest));
        try_view(s, &dense, x, 12, "dense");
        try_view(s, &wide, x, 20, "rows with room between them");
        try_view(s, &other, x, 12, "Fortran order");
        EXPECT_OK(NULL, takt_session_bind(s, "x", &own));
        uint8_t *memory = takt_session_input(s, 0)->data;
        memset(memory, 1, 12);
        EXPECT_OK(NULL, takt_session_run(s));
        memory[11] = 0x80;
        EXPECT_IS(takt_session_run(s), !=, TAKT_OK);
        EXPECT(strstr(takt_session_error(s)->message, "element 11") != NULL, "%s",
               takt_session_error(s)->message);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

static void others(const takt_model *m)
{
    uint8_t x[12] = {0, 1, 0, 1, 3}, y[12] = {0}, r[12];
    float sum = 0;
    takt_plan *plan = NULL;
    takt_model *again = NULL;
    const takt_known_input fixed = {"x", view_of(x, 3, 0, 0)};
    const takt_plan_options options = {
        .sizes = "n=3", .fixed = &fixed, .fixed_count = 1, .threads = 1};
    EXPECT_IS(takt_plan_create(m, &options, &plan), !=, TAKT_OK);
    EXPECT(strstr(takt_last_error(ctx), "element 4 is 3") != NULL, "%s", takt_last_error(ctx));
    const takt_load_options known = {.known = &fixed, .known_count = 1};
    EXPECT_IS(takt_model_load_memory(ctx, "m", text, strlen(text), &known, &again), !=, TAKT_OK);
    EXPECT(strstr(takt_last_error(ctx), "element 4 is 3") != NULL, "%s", takt_last_error(ctx));
    takt_named_view views[] = {{"x", fixed.view},
                               {"y", view_of(y, 3, 0, 0)},
                               {"out0", view_of(r, 3, 0, 0)},
                               {"out1", {.dtype = TAKT_F32, .data = &sum}}};
    const takt_many_options many = {.batch_size = 1, .jobs = 1};
    EXPECT_IS(takt_run_many(m, &many, views, 4), !=, TAKT_OK);
}

static void states(void)
{
    static const char source[] = "model m(x: bool[4]) {\n  state s: bool[4] = 0\n"
                                 "  next s = op.xor(s, x)\n  return op.and(s, x)\n}\n";
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    uint8_t bytes[4] = {1, 0, 1, 1};
    const takt_tensor_view v = {.dtype = TAKT_BOOL, .rank = 1, .dims = {4}, .data = bytes};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", source, strlen(source), NULL, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        EXPECT_OK(NULL, takt_session_state_put(s, "s", &v));
        bytes[2] = 2;
        EXPECT_IS(takt_session_state_put(s, "s", &v), !=, TAKT_OK);
        EXPECT(strstr(takt_session_error(s)->message, "element 2 is 2") != NULL, "%s",
               takt_session_error(s)->message);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void all(void)
{
    takt_model *m = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m))) {
        bindings(m, "cpu");
        bindings(m, "ref");
        others(m);
        states();
    }
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* At every place and length. */
static void check(void)
{
    uint8_t bytes[40];
    for (size_t count = 0; count <= sizeof bytes; count++) {
        memset(bytes, 1, sizeof bytes);
        EXPECT_EQ(takt_bools_check(bytes, count), count);
        for (size_t i = 0; i < count; i++) {
            bytes[i] = 2;
            EXPECT_EQ(takt_bools_check(bytes, count), i);
            bytes[i] = 0;
        }
    }
}

TEST_MAIN(check, all)
