/* sizes.c - what another size costs: the time from one length to the next, and the run after it.
 *
 *     bench/sizes/run [lengths]
 *
 * A session of an encoder of six layers is given new lengths of its input, none of them twice: by
 * takt_session_reshape, then by binding buffers to a session with a range, then those lengths
 * again. Times are processor time of this process in microseconds: the least and the median of all
 * lengths.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <takt/takt.h>

enum { MOST = 512 };

static const char text[] = "model encoder(tokens: i32[batch, seq]) seed=1 {\n"
                           "  param table: f32[2000, 384] = normal(0, 0.02)\n"
                           "  h = layer_norm(gather(table, tokens, axis=0))\n"
                           "  repeat 6 as i {\n"
                           "    h = transformer_block(h, heads=12, hidden=1536, norm_first=false)\n"
                           "  }\n"
                           "  return h\n"
                           "}\n";

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "sizes: %s\n", what);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print(const char *what, double *us, size_t count, size_t steps)
{
    qsort(us, count, sizeof *us, by_value);
    printf("%-10s %10.1f %10.1f %10.2f\n", what, us[0], us[count / 2],
           us[0] / (double)(steps > 0 ? steps : 1));
}

/* Lengths as buffers of a session whose plan is for 1 to 512. */
static void bind_lengths(takt_session *s, size_t first, size_t count, double *us)
{
    static int32_t tokens[MOST];
    for (size_t i = 0; i < count; i++) {
        const takt_tensor_view view = {.dtype = TAKT_I32,
                                       .rank = 2,
                                       .dims = {1, (int64_t)(5 + (first + i) * 7 % 507)},
                                       .data = tokens};
        const double from = now_us();
        if (takt_session_bind(s, "tokens", &view) != TAKT_OK || takt_session_output(s, 0) == NULL)
            fail(takt_session_error(s)->message);
        us[i] = now_us() - from;
    }
}

static void measure_range(takt_ctx *ctx, const takt_model *model, size_t count)
{
    static double us[MOST];
    takt_plan *plan;
    takt_session *session;
    takt_plan_info info;
    const takt_plan_options options = {.threads = 1, .sizes = "batch=1,seq=1..512"};
    if (takt_plan_create(model, &options, &plan) != TAKT_OK ||
        takt_session_create(plan, NULL, &session) != TAKT_OK)
        fail(takt_last_error(ctx));
    takt_plan_query(plan, &info);
    bind_lengths(session, 0, count, us);
    print("bound", us, count, info.steps);
    bind_lengths(session, count - 8, 8, us);
    bind_lengths(session, count - 8, 8, us);
    print("again", us, 8, info.steps);
    takt_session_destroy(session);
    takt_plan_destroy(plan);
}

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 32;
    static double sizing[MOST], running[MOST];
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    takt_plan_info info;
    const takt_plan_options options = {.threads = 1, .sizes = "batch=1,seq=200"};
    if (count < 8 || count > MOST || takt_ctx_create(NULL, &ctx) != TAKT_OK)
        fail("8 to 512 lengths");
    if (takt_model_load_memory(ctx, "encoder", text, strlen(text), NULL, &model) != TAKT_OK)
        fail(takt_last_error(ctx));
    const double start = now_us();
    if (takt_plan_get(model, &options, &plan) != TAKT_OK ||
        takt_session_create(plan, NULL, &session) != TAKT_OK)
        fail(takt_last_error(ctx));
    takt_plan_query(plan, &info);
    printf("first plan %10.1f us, %zu steps\n", now_us() - start, info.steps);
    for (size_t i = 0; i < count; i++) {
        char sizes[64];
        snprintf(sizes, sizeof sizes, "batch=1,seq=%zu", 5 + i * 7 % 509);
        const double from = now_us();
        if (takt_session_reshape(session, model, sizes) != TAKT_OK)
            fail(takt_session_error(session)->message);
        const double to = now_us();
        sizing[i] = to - from;
        takt_tensor_view *view = (takt_tensor_view *)takt_session_input(session, 0);
        if (view == NULL)
            fail("no input");
        if (getenv("RUN") != NULL && takt_session_run(session) != TAKT_OK)
            fail(takt_session_error(session)->message);
        running[i] = now_us() - to;
    }
    printf("%-10s %10s %10s %10s\n", "us", "least", "median", "least/step");
    print("new size", sizing, count, info.steps);
    print("run", running, count, info.steps);
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    measure_range(ctx, model, count);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return 0;
}
