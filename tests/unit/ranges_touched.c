/* ranges_touched.c - the formula of `takt plan` for a range equals the arena of the plans of all
 * sizes, and no run touches a byte beyond it. */
#include <string.h>

#include <takt/takt.h>

#include "api/ranges.h"
#include "api/session/session.h"
#include "base/ctx.h"
#include "base/json.h"
#include "plan/resize.h"
#include "test.h"

enum { HIGH = 97, PAINT = 0xa5 };

static const char text[] = "model m(x: f32[2, seq, 20], k: i64[seq]) seed=3 {\n"
                           "  h = transformer_block(x, heads=2, hidden=36)\n"
                           "  t = reshape(cast(k, dtype=f32), shape=[1, seq, 1])\n"
                           "  return z = reduce_sum(h * t, axes=[2])\n"
                           "}\n";

static takt_ctx *ctx;
static float x[2 * HIGH * 20];
static int64_t k[HIGH];
static char report[1 << 16];
static size_t length;

static int keep(void *user, const char *part, size_t count)
{
    (void)user;
    if (length + count >= sizeof report)
        return 1;
    memcpy(report + length, part, count);
    length += count;
    return 0;
}

static double coefficient(const takt_json *piece, const char *key, int64_t r)
{
    const takt_json *at = takt_json_first(takt_json_get(piece, key));
    while (r-- > 0)
        at = takt_json_next(at);
    return at->number;
}

/* The arena at size n by the report; -1: it says nothing. */
static double value(const takt_json *root, int64_t n)
{
    const takt_json *arena = takt_json_first(takt_json_get(root, "formulas"));
    const takt_json *piece = takt_json_first(takt_json_get(arena, "pieces"));
    for (; piece != NULL; piece = takt_json_next(piece)) {
        const int64_t r = n % takt_json_get(piece, "period")->integer;
        if (n >= takt_json_get(piece, "from")->integer && n <= takt_json_get(piece, "to")->integer)
            return coefficient(piece, "square", r) * (double)(n * n) +
                   coefficient(piece, "linear", r) * (double)n + coefficient(piece, "constant", r);
    }
    return -1;
}

static void equal(takt_plan *top, const takt_json *root, int64_t n)
{
    int64_t cells[64] = {0};
    takt_plan *plan;
    EXPECT_EQ(top->name_count, 1);
    cells[0] = n;
    if (!EXPECT_OK(ctx, takt_plan_at(top, cells, true, &plan)))
        return;
    EXPECT(value(root, n) == (double)plan->arena_bytes, "seq=%d: %g, planned %llu", (int)n,
           value(root, n), (unsigned long long)plan->arena_bytes);
    takt_plan_release_internal(plan);
}

/* Fills the arena with a pattern, runs, and finds the last byte that changed. */
static void within(takt_session *s, const takt_json *root, int64_t n)
{
    const takt_tensor_view a = {.dtype = TAKT_F32, .rank = 3, .dims = {2, n, 20}, .data = x};
    const takt_tensor_view b = {.dtype = TAKT_I64, .rank = 1, .dims = {n}, .data = k};
    EXPECT_OK(NULL, takt_session_bind(s, "x", &a));
    EXPECT_OK(NULL, takt_session_bind(s, "k", &b));
    memset(s->arena, PAINT, s->arena_bytes);
    EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    size_t end = s->arena_bytes;
    while (end > 0 && s->arena[end - 1] == PAINT)
        end--;
    EXPECT(end > 0 && (double)end <= value(root, n), "seq=%d: byte %zu is touched, formula %g",
           (int)n, end, value(root, n));
}

static void check(takt_plan *plan)
{
    const takt_json *root;
    takt_arena arena;
    takt_session *s = NULL;
    takt_arena_init(&arena, ctx);
    length = 0;
    EXPECT_OK(ctx, takt_plan_describe(plan, TAKT_FORMAT_JSON, keep, NULL));
    if (EXPECT_OK(ctx, takt_json_parse(ctx, &arena, report, length, &root))) {
        const takt_json *first = takt_json_first(takt_json_get(root, "formulas"));
        EXPECT(takt_json_get(first, "exact")->boolean);
        for (int64_t n = HIGH; n >= 1; n -= 1 + n % 3)
            equal(plan, root, n);
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
        for (int64_t i = 0; i < 40; i++)
            within(s, root, 1 + i * 37 % HIGH);
        takt_session_destroy(s);
    }
    takt_arena_deinit(&arena);
}

int main(void)
{
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (float)(i % 13) - 6;
    for (int64_t i = 0; i < HIGH; i++)
        k[i] = i % 5;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, sizeof text - 1, NULL, &m)))
        for (int threads = 1; threads <= 2; threads++) {
            const takt_plan_options o = {.threads = threads, .sizes = "seq=1..97"};
            if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
                check(plan);
            takt_plan_destroy(plan);
        }
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return test_done();
}
