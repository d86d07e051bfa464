/* output_guests.c - values may lie in an output's memory until the output is written: a smaller
 * arena and the same bits, in the caller's memory and in the session's. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "plan/plan.h"

static takt_ctx *ctx;

/* Narrow layers, and an output that no gap of their arena takes. */
static const char chain[] = "model m(x: f32[n, 160]) -> (y: f32[n, 160]) seed=3 {\n"
                            "  h = dense(x, 32, act=relu) |> dense(32, act=tanh) |> dense(32)\n"
                            "  h = softmax(h) |> dense(32, act=relu) |> dense(32, act=tanh)\n"
                            "  return y = dense(h, 160)\n"
                            "}\n";
/* The output is narrower than what is computed, in another type, and read again by a copy. */
static const char narrow[] =
    "model m(x: f32[n, 160]) -> (y: f16[n, 160], z: f16[n, 160]) seed=3 {\n"
    "  h = dense(x, 32, act=relu) |> dense(32, act=tanh) |> dense(32)\n"
    "  y = cast(dense(softmax(h), 160), dtype=f16)\n"
    "  return y = y, z = y\n"
    "}\n";
enum { MOST = 40, WIDE = 160 };

typedef struct planned {
    takt_plan *plan;
    takt_session *session;
} planned;

static planned made(const takt_model *m, int n, bool reuses)
{
    planned p = {NULL};
    char sizes[16];
    snprintf(sizes, sizeof sizes, "n=%d", n);
    const takt_plan_options o = {.sizes = sizes, .no_reuse = !reuses, .threads = 1 + n % 2};
    EXPECT_OK(ctx, takt_plan_create(m, &o, &p.plan));
    EXPECT_OK(ctx, takt_session_create(p.plan, NULL, &p.session));
    return p;
}

static void destroy(planned p)
{
    takt_session_destroy(p.session);
    takt_plan_destroy(p.plan);
}

/* Values in the memory of outputs; each of them is gone before the output is there. */
static size_t guests_of(const takt_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->buffer_count; i++)
        for (size_t k = 0; plan->buffers[i].is_guest && k < plan->buffer_count; k++) {
            const takt_buffer *guest = &plan->buffers[i], *other = &plan->buffers[k];
            count += k == i;
            EXPECT(k == i || other->place != TAKT_PLACE_OUTPUT || other->index != guest->index ||
                       guest->last < other->first || other->last < guest->first,
                   "buffers %zu and %zu meet", i, k);
        }
    return count;
}

static void run(const planned *p, int n, takt_tensor_view *y)
{
    float *x = takt_session_input(p->session, 0)->data;
    for (int i = 0; i < n * WIDE; i++)
        x[i] = (float)(i * 7919 % 201 - 100) / 64;
    EXPECT_OK(ctx, takt_session_bind(p->session, "y", y));
    EXPECT_OK(ctx, takt_session_run(p->session));
}

/* In the session's own memory, in the caller's, in the caller's column by column. */
static void same_bits(const takt_model *m, size_t bytes, int n)
{
    static char want[MOST * WIDE * 4], got[MOST * WIDE * 4], turned[MOST * WIDE * 4];
    const planned apart = made(m, n, false), p = made(m, n, true);
    takt_tensor_view y = *takt_session_output(apart.session, 0);
    const size_t all = (size_t)n * WIDE * bytes;
    y.data = want;
    run(&apart, n, &y);
    for (int round = 0; round < 2; round++) {
        y.data = NULL;
        run(&p, n, &y);
        EXPECT_EQ(memcmp(takt_session_output(p.session, 0)->data, want, all), 0);
        y.data = got;
        run(&p, n, &y);
        EXPECT_EQ(memcmp(got, want, all), 0);
    }
    takt_tensor_view columns = {.data = turned, .dtype = y.dtype, .rank = 2, .dims = {n, WIDE}};
    columns.strides[0] = 1;
    columns.strides[1] = n;
    run(&p, n, &columns);
    for (int i = 0; i < n * WIDE; i++)
        EXPECT_EQ(memcmp(turned + (size_t)(i % WIDE * n + i / WIDE) * bytes,
                         want + (size_t)i * bytes, bytes),
                  0);
    destroy(apart);
    destroy(p);
}

static takt_model *loaded(const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    return m;
}

typedef struct report {
    char text[1 << 15];
    size_t length;
} report;

static int keep(void *user, const char *text, size_t length)
{
    report *r = user;
    if (r->length + length >= sizeof r->text)
        return 1;
    memcpy(r->text + r->length, text, length);
    r->length += length;
    return 0;
}

/* A report calls values by their own names, wherever they lie. */
static void own_names(const takt_plan *plan)
{
    static report r;
    static const char entry[] = "\"place\": \"output\"";
    EXPECT_OK(ctx, takt_plan_describe(plan, TAKT_FORMAT_JSON, keep, &r));
    size_t outputs = 0, named = 0;
    for (const char *at = r.text; (at = strstr(at, entry)) != NULL; at += sizeof entry) {
        const char *name = at;
        while (name > r.text && *name != ':')
            name--;
        named += strncmp(name, ": \"y\"", 5) == 0;
        outputs++;
    }
    EXPECT(outputs > 1 && named == 1, "%zu of %zu are called y", named, outputs);
}

static void less_memory(const takt_model *m)
{
    const planned p = made(m, 1, true), apart = made(m, 1, false);
    EXPECT(guests_of(p.plan) > 0, "the output has no guests");
    own_names(p.plan);
    EXPECT_EQ(guests_of(apart.plan), 0);
    EXPECT(p.plan->arena_bytes < 2 * 32 * sizeof(float), "two layers need %zu bytes",
           p.plan->arena_bytes);
    destroy(apart);
    destroy(p);
}

static void all(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_model *wide = loaded(chain), *half = loaded(narrow);
    less_memory(wide);
    for (int n = 1; n <= MOST; n += 3) {
        same_bits(wide, 4, n);
        same_bits(half, 2, n);
    }
    takt_model_destroy(wide);
    takt_model_destroy(half);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(all)
