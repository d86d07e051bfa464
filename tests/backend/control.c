/* control.c - subgraphs on the cpu backend: nested, failing inside, and not ending. */
#include "api/session/session.h"
#include "plan/backend.h"
#include "test.h"

#include <string.h>

#include <takt/takt.h>

static takt_ctx *ctx;

/* Runs a model of inputs n: i64[] and x: f32[3] with one output y: f32[3]. */
static takt_status run(const char *text, int64_t n, float x[3], float y[3], takt_error *error)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_tensor_view views[3] = {{.dtype = TAKT_I64, .data = &n},
                                 {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = x},
                                 {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = y}};
    static const char *const names[] = {"n", "x", "y"};
    takt_status status = TAKT_ERR_INTERNAL;
    const takt_plan_options options = {.threads = 1};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "control", text, strlen(text), NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (int i = 0; i < 3; i++)
            EXPECT_OK(NULL, takt_session_bind(s, names[i], &views[i]));
        for (size_t i = 0; i < plan->step_count; i++)
            EXPECT(strcmp(plan->steps[i].kind, "ref") != 0, "step %s", plan->steps[i].name);
        status = takt_session_run(s);
        *error = *takt_session_error(s);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return status;
}

/* y = x doubled while the turn is even, else one more, n times. */
static const char nested[] =
    "model nested(n: i64[], x: f32[3]) -> (y: f32[3]) {\n"
    "    y = loop(n, constant(bool[], [true]), x, carried=1, "
    "body=graph(i: i64[], c: bool[], h: f32[3]) {\n"
    "        even = eq(mod(i, constant(i64[], [2])), constant(i64[], [0]))\n"
    "        v = if(even, h, then=graph(a: f32[3]) { return add(a, a) },\n"
    "               else=graph(a: f32[3]) { return add(a, constant(f32[], [1])) })\n"
    "        return c, v\n"
    "    })\n"
    "    return y = y\n"
    "}\n";

static void turns(void)
{
    for (int64_t n = 0; n < 7; n++) {
        float x[3] = {1, 2, -3}, y[3] = {0}, want[3] = {1, 2, -3};
        takt_error error = {0};
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < 3; k++)
                want[k] = i % 2 == 0 ? want[k] + want[k] : want[k] + 1;
        if (EXPECT(run(nested, n, x, y, &error) == TAKT_OK, "%s", error.message))
            EXPECT(memcmp(y, want, sizeof y) == 0, "n = %d: %g %g %g", (int)n, (double)y[0],
                   (double)y[1], (double)y[2]);
    }
}

static void too_many(void)
{
    float x[3] = {0}, y[3];
    takt_error error = {0};
    EXPECT(run(nested, 2000000, x, y, &error) == TAKT_ERR_LIMIT && error.id == 5004, "%d: %s",
           error.id, error.message);
}

/* An index that is out of range in the fourth turn. */
static void fault_inside(void)
{
    static const char text[] = "model picks(n: i64[], x: f32[3]) -> (y: f32[3]) {\n"
                               "    y = loop(n, constant(bool[], [true]), x, carried=1, "
                               "body=graph(i: i64[], c: bool[], h: f32[3]) {\n"
                               "        return c, add(h, gather(h, i))\n"
                               "    })\n"
                               "    return y = y\n"
                               "}\n";
    float x[3] = {1, 2, 3}, y[3];
    takt_error error = {0};
    EXPECT(run(text, 3, x, y, &error) == TAKT_OK, "%s", error.message);
    EXPECT(run(text, 4, x, y, &error) == TAKT_ERR_RANGE && error.id == 5001, "%d: %s", error.id,
           error.message);
    EXPECT(strstr(error.message, "gather") != NULL && error.node[0] != '\0', "%s (%s)",
           error.message, error.node);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx))) {
        turns();
        too_many();
        fault_inside();
        takt_ctx_destroy(ctx);
    }
    return test_done();
}
