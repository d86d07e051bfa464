/* requests.c - requests of different sizes to one session, as a program sends them.
 *
 *     requests MODEL RANGES THREADS < lines
 *
 * RANGES are those of the plan: "batch=1,seq=1..256". Each line of the standard input has the sizes
 * of one request, "seq=57"; inputs are the session's own, ones where they are whole numbers,
 * else random. A line is answered before the next is read.
 * The first line says how many steps the plan has and what loading and planning took; then a line
 * for each request: microseconds for the sizes and for the run; and at the end how many bytes of
 * memory the last request left allocated beyond the second.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <takt/takt.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "requests: %s\n", what);
    exit(1);
}

static void fill(const takt_tensor_view *v)
{
    uint32_t x = 7;
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    for (size_t i = 0; i < count; i++) {
        x = x * 1664525u + 1013904223u;
        switch (v->dtype) {
        case TAKT_F32: ((float *)v->data)[i] = (float)(x >> 16) / 32768.0f - 1.0f; break;
        case TAKT_I64: ((int64_t *)v->data)[i] = 1; break;
        case TAKT_I32: ((int32_t *)v->data)[i] = 1; break;
        case TAKT_BOOL: ((unsigned char *)v->data)[i] = 1; break;
        default: fail("inputs are f32, i64, i32 or bool");
        }
    }
}

static uint64_t live_bytes(takt_ctx *ctx)
{
    takt_usage usage;
    takt_resource_usage(ctx, &usage);
    return usage.live_bytes;
}

int main(int argc, char **argv)
{
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_session *s;
    takt_plan_info info;
    char line[512];
    uint64_t warm = 0;
    if (argc != 4 || takt_ctx_create(NULL, &ctx) != TAKT_OK)
        fail("requests MODEL RANGES THREADS < lines");
    const takt_plan_options o = {.threads = atoi(argv[3]), .sizes = argv[2]};
    const double start = now_us();
    if (takt_model_load(ctx, argv[1], NULL, &model) != TAKT_OK)
        fail(takt_last_error(ctx));
    const double loaded = now_us();
    if (takt_plan_create(model, &o, &plan) != TAKT_OK ||
        takt_session_create(plan, NULL, &s) != TAKT_OK)
        fail(takt_last_error(ctx));
    takt_plan_query(plan, &info);
    printf("%zu %.0f %.0f\n", info.steps, loaded - start, now_us() - loaded);
    fflush(stdout);
    for (int count = 1; fgets(line, sizeof line, stdin) != NULL; count++) {
        line[strcspn(line, "\n")] = '\0';
        const double from = now_us();
        if (takt_session_reshape(s, model, line) != TAKT_OK)
            fail(takt_session_error(s)->message);
        const double sized = now_us();
        for (size_t i = 0; i < takt_session_input_count(s); i++)
            fill(takt_session_input(s, i));
        const double filled = now_us();
        if (takt_session_run(s) != TAKT_OK)
            fail(takt_session_error(s)->message);
        printf("%.2f %.2f\n", sized - from, now_us() - filled);
        fflush(stdout);
        if (count <= 2)
            warm = live_bytes(ctx);
    }
    printf("%lld\n", (long long)(live_bytes(ctx) - warm));
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return 0;
}
