/* state_names.c - a session's state by name: seen, changed, kept in files, and never half changed.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "util/inject.h"

static const char text[] = "model m(x: f32[3]) -> (y: f32[3]) {\n"
                           "  param w: f32[3] = 3\n"
                           "  state sum: f32[2, 2] = 1\n"
                           "  state turns: i64[] = 0\n"
                           "  next sum = sum + 1\n"
                           "  next turns = turns + 1\n"
                           "  return y = x * w\n"
                           "}\n";

typedef struct fixture {
    takt_ctx *ctx;
    takt_model *model;
    takt_session *s;
    float x[3];
} fixture;

static takt_status begin(fixture *f, const takt_config *config, const char *source)
{
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = f->x};
    takt_plan *plan = NULL;
    takt_status status = takt_ctx_create(config, &f->ctx);
    if (status == TAKT_OK)
        status = takt_model_load_memory(f->ctx, "m.takt", source, strlen(source), NULL, &f->model);
    if (status == TAKT_OK)
        status = takt_plan_create(f->model, NULL, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &f->s);
    if (status == TAKT_OK)
        status = takt_session_bind(f->s, "x", &v);
    takt_plan_destroy(plan);
    return status;
}

static void end(fixture *f)
{
    takt_session_destroy(f->s);
    takt_model_destroy(f->model);
    takt_ctx_destroy(f->ctx);
}

static int64_t turns(fixture *f)
{
    int64_t n = -1;
    takt_tensor_view v = {.dtype = TAKT_I64, .data = &n};
    EXPECT_OK(NULL, takt_session_state_get(f->s, "turns", &v));
    return n;
}

/* ---- one by name ---- */

static void by_name(void)
{
    fixture f = {.s = NULL};
    takt_desc d;
    if (!EXPECT_OK(NULL, begin(&f, NULL, text)))
        return;
    EXPECT_EQ(takt_session_state_count(f.s), 2);
    if (EXPECT_OK(NULL, takt_session_state(f.s, 0, &d)))
        EXPECT_TEXT(d.name, "sum");
    EXPECT_EQ(d.dtype, TAKT_F32);
    EXPECT_EQ(d.rank, 2);
    EXPECT_EQ(d.dims[0], 2);
    EXPECT_EQ(d.dims[1], 2);
    if (EXPECT_OK(NULL, takt_session_state(f.s, 1, &d)))
        EXPECT_TEXT(d.name, "turns");
    if (EXPECT_STATUS(NULL, takt_session_state(f.s, 2, &d), TAKT_ERR_ARGUMENT))
        EXPECT_SAME(d.name, NULL);
    takt_tensor_view v = {0};
    EXPECT_OK(NULL, takt_session_state_get(f.s, "sum", &v));
    EXPECT(v.dtype == TAKT_F32 && v.rank == 2 && v.dims[1] == 2 && v.data == NULL);
    float sum[4] = {0};
    v.data = sum;
    if (EXPECT_OK(NULL, takt_session_state_get(f.s, "sum", &v)))
        EXPECT_EQ(sum[3], 1);
    if (EXPECT_OK(NULL, takt_session_run(f.s)))
        EXPECT_EQ(turns(&f), 1);
    if (EXPECT_OK(NULL, takt_session_state_get(f.s, "sum", &v)))
        EXPECT_EQ(sum[0], 2);
    for (int i = 0; i < 4; i++)
        sum[i] = (float)(10 * i);
    EXPECT_OK(NULL, takt_session_state_put(f.s, "sum", &v));
    if (EXPECT_OK(NULL, takt_session_run(f.s)))
        EXPECT_EQ(turns(&f), 2);
    EXPECT_EQ(takt_session_state_get(f.s, "sum", &v), TAKT_OK);
    EXPECT_EQ(sum[3], 31);
    EXPECT_EQ(sum[0], 1);
    takt_session_reset(f.s);
    EXPECT_EQ(turns(&f), 0);
    end(&f);
}

static void expect(fixture *f, takt_status got, takt_status want, const char *what)
{
    const takt_error *e = takt_session_error(f->s);
    EXPECT(got == want && strstr(e->message, what) != NULL, "%s, not %s: %s", takt_status_name(got),
           takt_status_name(want), e->message);
}

static void refusals(void)
{
    fixture f = {.s = NULL};
    float sum[8] = {0};
    takt_desc d;
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 2}, .data = sum};
    EXPECT_EQ(takt_session_state_count(NULL), 0);
    EXPECT_STATUS(NULL, takt_session_state(NULL, 0, &d), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_state_get(NULL, "sum", &v), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_state_put(NULL, "sum", &v), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_state_save(NULL, "f"), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_state_load(NULL, "f"), TAKT_ERR_ARGUMENT);
    if (!EXPECT_OK(NULL, begin(&f, NULL, text)))
        return;
    EXPECT_STATUS(NULL, takt_session_state(f.s, 0, NULL), TAKT_ERR_ARGUMENT);
    expect(&f, takt_session_state_get(f.s, NULL, &v), TAKT_ERR_ARGUMENT, "name");
    expect(&f, takt_session_state_put(f.s, "sum", NULL), TAKT_ERR_ARGUMENT, "view");
    expect(&f, takt_session_state_get(f.s, "sun", &v), TAKT_ERR_NOT_FOUND, "sun");
    EXPECT(strstr(takt_session_error(f.s)->hint, "did you mean sum?") != NULL);
    expect(&f, takt_session_state_get(f.s, "w", &v), TAKT_ERR_NOT_FOUND, "w"); /* a parameter */
    v.dtype = TAKT_I32;
    expect(&f, takt_session_state_put(f.s, "sum", &v), TAKT_ERR_ARGUMENT, "f32[2, 2]");
    v.dtype = TAKT_F32;
    v.dims[1] = 3;
    expect(&f, takt_session_state_get(f.s, "sum", &v), TAKT_ERR_ARGUMENT, "f32[2, 2]");
    v.dims[1] = 2;
    v.strides[0] = 1, v.strides[1] = 2;
    expect(&f, takt_session_state_put(f.s, "sum", &v), TAKT_ERR_ARGUMENT, "not dense");
    v.strides[0] = v.strides[1] = 0;
    v.device = 1;
    expect(&f, takt_session_state_put(f.s, "sum", &v), TAKT_ERR_DEVICE, "device 1");
    v.device = 0;
    v.data = NULL;
    expect(&f, takt_session_state_put(f.s, "sum", &v), TAKT_ERR_ARGUMENT, "no data");
    expect(&f, takt_session_state_save(f.s, NULL), TAKT_ERR_ARGUMENT, "path");
    expect(&f, takt_session_state_load(f.s, NULL), TAKT_ERR_ARGUMENT, "path");
    expect(&f, takt_session_state_load(f.s, "nowhere.npz"), TAKT_ERR_IO, "nowhere.npz");
    EXPECT_EQ(turns(&f), 0);
    end(&f);
    fixture g = {.s = NULL};
    EXPECT_OK(NULL, begin(&g, NULL, "model m(x: f32[3]) { return x + 1 }\n"));
    expect(&g, takt_session_state_save(g.s, "f.npz"), TAKT_ERR_STATE, "no state");
    expect(&g, takt_session_state_load(g.s, "f.npz"), TAKT_ERR_STATE, "no state");
    EXPECT_STATUS(NULL, takt_session_state_get(g.s, "sum", &v), TAKT_ERR_NOT_FOUND);
    end(&g);
}

/* ---- in files ---- */

static void in_files(void)
{
    static const char *const endings[] = {"s.safetensors", "s.npz", "s.index.json"};
    const char *folder = getenv("TAKT_TEST_TMP");
    for (size_t i = 0; i < 3; i++) {
        fixture f = {.s = NULL};
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : ".", endings[i]);
        if (!EXPECT_OK(NULL, begin(&f, NULL, text)))
            return;
        EXPECT_OK(NULL, takt_session_run(f.s));
        EXPECT_OK(NULL, takt_session_run(f.s));
        EXPECT(takt_session_state_save(f.s, path) == TAKT_OK, "%s",
               takt_session_error(f.s)->message);
        takt_session_reset(f.s);
        EXPECT(takt_session_state_load(f.s, path) == TAKT_OK && turns(&f) == 2, "%s",
               takt_session_error(f.s)->message);
        end(&f);
        /* A session of another model finds that it does not fit, and keeps its state. */
        static const char other[] = "model m(x: f32[3]) -> (y: f32[3]) {\n"
                                    "  state turns: i64[] = 40\n  state sum: f32[3] = 1\n"
                                    "  next turns = turns + 1\n  next sum = sum + x\n"
                                    "  return y = x\n}\n";
        static const char more[] = "model m(x: f32[3]) -> (y: f32[3]) {\n"
                                   "  state turns: i64[] = 40\n  state missing: f32[3] = 1\n"
                                   "  next turns = turns + 1\n  next missing = missing + x\n"
                                   "  return y = x\n}\n";
        fixture g = {.s = NULL}, h = {.s = NULL};
        EXPECT_OK(NULL, begin(&g, NULL, other));
        EXPECT_OK(NULL, begin(&h, NULL, more));
        expect(&g, takt_session_state_load(g.s, path), TAKT_ERR_NOT_FOUND, "f32[2, 2]");
        expect(&h, takt_session_state_load(h.s, path), TAKT_ERR_NOT_FOUND, "missing");
        EXPECT_EQ(turns(&g), 40);
        EXPECT_EQ(turns(&h), 40);
        end(&g);
        end(&h);
    }
}

static takt_status scenario(takt_inject *inject, void *user)
{
    const char *path = user;
    takt_config config = {0};
    fixture f = {.s = NULL};
    takt_inject_config(inject, &config);
    takt_status status = begin(&f, &config, text);
    if (status == TAKT_OK)
        status = takt_session_run(f.s);
    if (status == TAKT_OK)
        status = takt_session_state_save(f.s, path);
    if (status == TAKT_OK)
        status = takt_session_run(f.s);
    if (status == TAKT_OK) {
        const int64_t before = turns(&f);
        status = takt_session_state_load(f.s, path);
        EXPECT_EQ(turns(&f), (status == TAKT_OK ? 1 : before));
    }
    end(&f);
    return status;
}

static void sweep(void)
{
    char path[512];
    const char *folder = getenv("TAKT_TEST_TMP");
    snprintf(path, sizeof path, "%s/sweep.safetensors", folder != NULL ? folder : ".");
    const takt_sweep_report r =
        takt_sweep_some(scenario, path, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES, 200);
    EXPECT(r.is_good && r.runs > 20, "%s", r.message);
}

TEST_MAIN(by_name, refusals, in_files, sweep)
