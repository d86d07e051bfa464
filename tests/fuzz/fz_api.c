/* fz_api.c - sequences of calls of the interface, in any order and with objects that may be NULL,
 * while allocations fail: each call says what it did, and nothing is left behind.
 *
 * Two bytes a call: which, and a number for it. A byte of 0xff makes the allocation fail that is so
 * many ahead.
 */
#include <takt/takt.h>

#include "fuzz/target.h"
#include "util/meter.h"

typedef struct world {
    meter m;
    uint64_t gets, fail_at; /* 0: never */
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_session *session, *twin;
} world;

static void *get(void *user, size_t size, size_t align)
{
    world *w = user;
    return ++w->gets == w->fail_at ? NULL : meter_get(&w->m, size, align);
}

static void put(void *user, void *block, size_t size)
{
    meter_put(&((world *)user)->m, block, size);
}

static int swallow(void *user, const char *text, size_t length)
{
    *(size_t *)user += length;
    return text == NULL;
}

static const char counter[] =
    "model m(x: f32[n, 4]) {\n  state c: f32[4] = 0\n  next c = c + op.reduce_sum(x, axes=[0])\n"
    "  return y = x + c\n}\n";
static const char *const texts[] = {
    "model m(x: f32[n, 4]) seed=1 { return y = dense(x, 3, act=relu) }\n",
    counter,
    "model m(x: f32[1, 4, 9, 9]) seed=1 { return y = conv(x, 4, 3) }\n",
    "model broken(x: f32[n, 4]) { return y = z }\n",
};
static const char *const sizes[] = {NULL, "n=1", "n=3", "n=1..4", "n=0", "m=2", "n=x"};

static void load(world *w, uint8_t number)
{
    const char *text = texts[number % (sizeof texts / sizeof *texts)];
    takt_model_destroy(w->model);
    (void)!takt_model_load_memory(w->ctx, "m", text, strlen(text), NULL, &w->model);
}

static void plan(world *w, uint8_t number)
{
    const takt_plan_options o = {.sizes = sizes[number % 7],
                                 .threads = 1 + number / 7 % 2,
                                 .hint = number & 0x40 ? "memory" : NULL,
                                 .backend = number & 0x80 ? "ref" : NULL};
    takt_plan_destroy(w->plan);
    w->plan = NULL;
    if (number % 3 == 0) {
        (void)!takt_plan_take(w->model, &o, &w->plan);
        w->model = NULL;
    } else if (w->model != NULL) {
        (void)!(number % 3 == 1 ? takt_plan_create : takt_plan_get)(w->model, &o, &w->plan);
    }
}

static void describe(const world *w)
{
    size_t length = 0;
    takt_plan_info info;
    if (w->plan == NULL)
        return;
    takt_plan_query(w->plan, &info);
    (void)!takt_plan_describe(w->plan, TAKT_FORMAT_TEXT, swallow, &length);
}

static void use(world *w, uint8_t number)
{
    static float values[64];
    const takt_tensor_view view = {
        .dtype = TAKT_F32, .rank = 2, .dims = {number % 5, 4}, .data = number & 8 ? values : NULL};
    switch (number % 6) {
    case 0: (void)!takt_session_run(w->session); break;
    case 1: (void)!takt_session_bind(w->session, number & 16 ? "x" : "y", &view); break;
    case 2: (void)takt_session_input(w->session, number / 6); break;
    case 3: (void)!takt_session_run_deadline(w->session, number); break;
    case 4: (void)!takt_session_random(w->session, number / 6, NULL, 1, 2); break;
    default:
        if (w->session != NULL && w->model != NULL)
            (void)!(number & 64 ? takt_session_fit : takt_session_reshape)(w->session, w->model,
                                                                           sizes[number / 6 % 7]);
    }
}

static void step(world *w, uint8_t what, uint8_t number)
{
    switch (what % 8) {
    case 0: load(w, number); break;
    case 1: plan(w, number); break;
    case 2:
        takt_session_destroy(w->session);
        w->session = NULL;
        (void)!takt_session_create(w->plan, NULL, &w->session);
        break;
    case 3: describe(w); break;
    case 4:
        takt_model_destroy(w->model);
        w->model = NULL;
        break;
    case 5:
        takt_session_destroy(w->twin);
        w->twin = NULL;
        if (w->session != NULL)
            (void)!takt_session_clone(w->session, &w->twin);
        break;
    case 6: (void)takt_ctx_trim(w->ctx); break;
    default: use(w, number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    world w = {0};
    const takt_allocator allocator = {.get = get, .put = put, .user = &w};
    const takt_config config = {.allocator = &allocator, .limits.bytes = 1 << 28};
    if (takt_ctx_create(&config, &w.ctx) != TAKT_OK)
        return 0;
    for (size_t i = 0; i + 1 < size && i < 128; i += 2)
        if (data[i] == 0xff)
            w.fail_at = w.gets + 1 + data[i + 1];
        else
            step(&w, data[i], data[i + 1]);
    takt_session_destroy(w.twin);
    takt_session_destroy(w.session);
    takt_plan_destroy(w.plan);
    takt_model_destroy(w.model);
    takt_ctx_destroy(w.ctx);
    must(w.m.live == 0);
    return 0;
}
