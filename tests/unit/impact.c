/* impact.c - the gain of each optimisation: every switch is tried, and memory is reported before
 * and after. */
#include <math.h>
#include <string.h>
#include <takt/takt.h>

#include "base/json.h"
#include "base/text.h"
#include "test.h"

/* Steps that cannot be fused: each softmax could overwrite the previous one. */
static const char chain[] = "model chain(x: f32[n, 64]) -> f32[n, 64] {\n"
                            "  return softmax(softmax(softmax(softmax(x))))\n}\n";
static const char wide[] = "model wide(x: f32[64, 256]) -> f32[64, 64] seed=1 {\n"
                           "  return x |> dense(256, act=relu) |> dense(64, act=softmax)\n}\n";

static takt_ctx *ctx;

static int to_text(void *user, const char *bytes, size_t length)
{
    takt_text_put(user, bytes, length);
    return 0;
}

static takt_model *load(const char *text)
{
    takt_model *model = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    return model;
}

static uint64_t arena_of(const takt_model *model, const takt_plan_options *options)
{
    takt_plan *plan = NULL;
    takt_plan_info info = {0};
    if (EXPECT_OK(ctx, takt_plan_create(model, options, &plan)))
        takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    return info.arena;
}

/* Without in-place results two values are alive at a step; with them, one. */
static void in_place(void)
{
    takt_model *model = load(chain);
    const takt_plan_options on = {.sizes = "n=1024", .threads = 1};
    takt_plan_options off = on, none = on;
    off.no_in_place = true;
    none.no_reuse = true;
    const uint64_t with = arena_of(model, &on), without = arena_of(model, &off),
                   unshared = arena_of(model, &none);
    EXPECT(with < without && without < unshared, "%llu %llu %llu", (unsigned long long)with,
           (unsigned long long)without, (unsigned long long)unshared);
    takt_model_destroy(model);
}

static const takt_json *row_of(const takt_json *rows, const char *name)
{
    for (const takt_json *row = takt_json_first(rows); row != NULL; row = takt_json_next(row)) {
        const takt_json *without = takt_json_get(row, "without");
        if (without != NULL && strncmp(without->text, name, strlen(name)) == 0)
            return row;
    }
    return NULL;
}

static double number_of(const takt_json *row, const char *key)
{
    const takt_json *value = row != NULL ? takt_json_get(row, key) : NULL;
    return value != NULL ? value->number : -1;
}

/* Every switch has a row; with two threads, the plan for one among them. */
static void switches(int threads)
{
    takt_model *model = load(wide);
    takt_text text;
    takt_arena arena;
    const takt_json *root = NULL;
    const takt_plan_options options = {.threads = threads};
    takt_text_init(&text, ctx);
    takt_arena_init(&arena, ctx);
    EXPECT_OK(ctx, takt_profile_impact(model, &options, 1000000, TAKT_FORMAT_JSON, to_text, &text));
    if (EXPECT_OK(ctx, takt_json_parse(ctx, &arena, takt_text_get(&text), text.length, &root))) {
        static const char *const names[] = {"nothing", "layout", "planner", "in-place",  "vector",
                                            "threads", "fusion", "cse",     "everything"};
        const takt_json *rows = takt_json_get(root, "impact");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            EXPECT(row_of(rows, names[i]) != NULL, "%s", names[i]);
        const takt_json *none = row_of(rows, "nothing"), *vector = row_of(rows, "vector");
        EXPECT_EQ(number_of(none, "peak_bytes"), number_of(none, "before_peak_bytes"));
        EXPECT_IS(number_of(none, "before_us"), >, 0);
        EXPECT_IS(number_of(vector, "ratio"), >, 0);
        for (const takt_json *row = takt_json_first(rows); row != NULL; row = takt_json_next(row)) {
            const double times = number_of(row, "median_us") / number_of(row, "before_us");
            if (takt_json_get(row, "ratio") != NULL) /* the percentage is that of the times */
                EXPECT(fabs(times / number_of(row, "ratio") - 1) < 1e-9, "%.17g", times);
        }
        EXPECT_TEXT(takt_json_get(row_of(rows, "cse"), "verdict")->text, "unused");
        const char *verdict = takt_json_get(row_of(rows, "threads"), "verdict")->text;
        EXPECT((strcmp(verdict, "unused") == 0) == (threads == 1), "%s", verdict);
    }
    takt_arena_deinit(&arena);
    takt_text_deinit(&text);
    takt_model_destroy(model);
}

static void one_thread(void)
{
    switches(1);
}

static void two_threads(void)
{
    switches(2);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, in_place, one_thread, two_threads, end)
