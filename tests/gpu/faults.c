/* faults.c - what a caller sees when a real device fails; tests/backend/gpu_faults.c shows the same
 * with a driver of the tests, which can fail in more ways.
 *
 * Each case is a process of its own: after an illegal address no call of the driver works in the
 * process that made it. Skipped where there is no device.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include <takt/takt.h>

#include "gpu/bench.h"
#include "kernel/cuda/images.h"

enum { SIDE = 4096, SKIPPED = 77 };

static const char square[] = "model square(x: f32[4096, 4096]) -> (y: f32[4096, 4096]) {\n"
                             "  return y = relu(x + 1) @ x\n}\n";
static const char pick[] = "model pick(i: i64[3], t: f32[4, 5]) -> (y: f32[3, 5]) {\n"
                           "  return y = op.gather(t, i, axis=0) * 2\n}\n";
static const char share[] = "model share(x: i64[5], by: i64[5]) -> (y: i64[5]) {\n"
                            "  return y = (x + 7) / by - x\n}\n";

static takt_ctx *ctx;
static takt_model *model;

static void expect(bool is_so, const char *what, const char *says)
{
    printf("%s: %s%s%s\n", is_so ? "ok" : "FAIL", what, says[0] != '\0' ? ": " : "", says);
    wrong += !is_so;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static void load(const char *text)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK ||
        takt_model_load_memory(ctx, "faults", text, strlen(text), NULL, &model) != TAKT_OK) {
        printf("FAIL the model\n");
        exit(1);
    }
}

static void unload(void)
{
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

/* Inputs that are asked for have memory of the session; here they are 0. */
static void clear_inputs(takt_session *s)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *v = takt_session_input(s, i);
        size_t bytes = (size_t)takt_dtype_bits(v->dtype) / 8;
        for (int k = 0; k < v->rank; k++)
            bytes *= (size_t)v->dims[k];
        memset(v->data, 0, bytes);
    }
}

static takt_status session_on(const char *backend, takt_session **s)
{
    const takt_plan_options o = {.backend = backend};
    takt_plan *plan = NULL;
    takt_status status = takt_plan_create(model, &o, &plan);
    *s = NULL;
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, s);
    if (status == TAKT_OK)
        clear_inputs(*s);
    takt_plan_destroy(plan);
    return status;
}

/* ---- the cases ---- */

static void no_device(void)
{
    takt_session *s;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    load(pick);
    expect(session_on("cuda", &s) != TAKT_OK && has(takt_last_error(ctx), "sees no device"),
           "no device is visible", takt_last_error(ctx));
    expect(session_on("cpu", &s) == TAKT_OK && takt_session_run(s) == TAKT_OK, "the cpu goes on",
           "");
    takt_session_destroy(s);
    unload();
}

static void unknown_device(void)
{
    takt_session *s;
    load(pick);
    expect(session_on("cuda:77", &s) != TAKT_OK && has(takt_last_error(ctx), "no device 77"),
           "unknown device", takt_last_error(ctx));
    expect(session_on("cuda:0", &s) == TAKT_OK && takt_session_run(s) == TAKT_OK,
           "the first one can be used", "");
    takt_session_destroy(s);
    unload();
}

/* Memory that others hold: the session says what it needs and what is left, and can be made once
 * the others have gone. */
static void memory_short(void)
{
    takt_session *s;
    size_t left = 0, all = 0;
    takt_cu_ptr held = 0;
    load(square);
    if (!open_device(ctx, takt_cuda_targets()))
        exit(SKIPPED);
    need(d.mem_info(&left, &all), "memory");
    need(d.mem_get(&held, left - ((size_t)96 << 20)), "most of the memory");
    const bool refused = session_on("cuda", &s) != TAKT_OK;
    const takt_error *why = takt_last_error_info(ctx);
    expect(refused && s == NULL && why->id == TAKT_E_DEVICE_MEMORY, "too little memory",
           why->message);
    need(d.mem_put(held), "memory");
    expect(session_on("cuda", &s) == TAKT_OK && takt_session_run(s) == TAKT_OK,
           "enough of it, later", "");
    takt_session_destroy(s);
    takt_cuda_leave(cuda);
    takt_cuda_close(cuda);
    unload();
}

/* One run with the wrong values, on both; then one with the right ones on the device. */
static void same_fault(const char *what, int id, size_t input, const int64_t *bad,
                       const int64_t *good, size_t bytes)
{
    takt_session *s, *cpu;
    if (session_on("cuda", &s) != TAKT_OK || session_on("cpu", &cpu) != TAKT_OK) {
        expect(false, what, takt_last_error(ctx));
        return;
    }
    memcpy(takt_session_input(s, input)->data, bad, bytes);
    memcpy(takt_session_input(cpu, input)->data, bad, bytes);
    const bool failed = takt_session_run(s) != TAKT_OK && takt_session_run(cpu) != TAKT_OK;
    const takt_error *why = takt_session_error(s);
    expect(failed && (int)why->id == id &&
               strcmp(why->message, takt_session_error(cpu)->message) == 0,
           what, why->message);
    memcpy(takt_session_input(s, input)->data, good, bytes);
    expect(takt_session_run(s) == TAKT_OK, "the session can be used after it", "");
    takt_session_destroy(s);
    takt_session_destroy(cpu);
}

static void wrong_index(void)
{
    load(pick);
    same_fault("index out of range, as on the cpu", TAKT_E_INDEX, 0, (const int64_t[]){1, -9, 4},
               (const int64_t[]){0, 1, 2}, 3 * sizeof(int64_t));
    unload();
}

static void division_by_zero(void)
{
    load(share);
    same_fault("integer division by zero, as on the cpu", TAKT_E_DIVIDE, 1,
               (const int64_t[]){3, -1, 0, 5, 0}, (const int64_t[]){3, -1, 2, 5, 1},
               5 * sizeof(int64_t));
    unload();
}

/* The caller frees what a session reads: the kernel's address is illegal. */
static void illegal_address(void)
{
    takt_session *a, *b, *cpu;
    load(square);
    if (!open_device(ctx, takt_cuda_targets()))
        exit(SKIPPED);
    float *x = device((size_t)SIDE * SIDE, NULL);
    need(d.stream_wait(cuda->stream), "fill");
    if (session_on("cuda", &a) != TAKT_OK || session_on("cuda", &b) != TAKT_OK ||
        session_on("cpu", &cpu) != TAKT_OK) {
        expect(false, "sessions", takt_last_error(ctx));
        return;
    }
    takt_tensor_view v = *takt_session_input(a, 0);
    v.data = x;
    v.device = 1;
    expect(takt_session_bind(a, "x", &v) == TAKT_OK && takt_session_run(a) == TAKT_OK,
           "a buffer of the device", "");
    release(x);
    expect(takt_session_run(a) == TAKT_ERR_DEVICE &&
               takt_session_error(a)->id == TAKT_E_DEVICE_FAILED &&
               has(takt_session_error(a)->hint, "restart"),
           "an illegal address", takt_session_error(a)->message);
    expect(takt_session_run(b) == TAKT_ERR_DEVICE, "another session of the device fails at once",
           takt_session_error(b)->message);
    expect(takt_session_run(a) == TAKT_ERR_DEVICE, "and so does this one again", "");
    expect(takt_session_run(cpu) == TAKT_OK, "the cpu's session goes on", "");
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_session_destroy(cpu);
    takt_cuda_leave(cuda);
    takt_cuda_close(cuda);
    unload();
    expect(true, "all can be destroyed", "");
}

static void is_there(void)
{
    load(pick);
    if (!open_device(ctx, takt_cuda_targets()))
        exit(SKIPPED);
    takt_cuda_leave(cuda);
    takt_cuda_close(cuda);
    unload();
}

/* The exit status of a case in a child: 0, or what went wrong. */
static int status_of(void (*run)(void))
{
    int how = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        run();
        fflush(stdout);
        _exit(wrong != 0);
    }
    if (waitpid(child, &how, 0) != child || !WIFEXITED(how))
        return 1;
    return WEXITSTATUS(how);
}

int main(void)
{
    static void (*const cases[])(void) = {no_device,   unknown_device,   memory_short,
                                          wrong_index, division_by_zero, illegal_address};
    setvbuf(stdout, NULL, _IOLBF, 0);
    const int first = status_of(is_there);
    if (first != 0)
        return first;
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        failed += status_of(cases[i]) != 0;
    printf("%s\n", failed == 0 ? "all faults are told" : "FAIL");
    return failed != 0;
}
