/* cpu_rnn_bytes.c - recurrent cells with weights of bytes as one step, with the bits of their body.
 *
 * Every case is planned twice: as it is, and with one more result of the body, which no cell has
 * and which therefore goes through the body's own plan, iteration by iteration.
 */
#include "test.h"
#include "util/rnn_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

static takt_ctx *ctx;

typedef struct form {
    int length, batch, units;
    const char *dtype;          /* of the weights */
    bool has_scales, has_zeros; /* one for each column */
    bool has_zero;              /* at all */
    bool reverse, starts_at_zero;
} form;

typedef struct writer {
    char *text;
    size_t length, room;
} writer;

__attribute__((format(printf, 2, 3))) static void add(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->length += (size_t)vsnprintf(w->text + w->length, w->room - w->length, format, args);
    va_end(args);
}

static void add_weights(writer *w, const form *f)
{
    uint32_t state = 7;
    const int low = f->dtype[0] == 'u' ? 0 : -128;
    add(w, "    r = constant(%s[%d, %d], [", f->dtype, f->units, 4 * f->units);
    for (int i = 0; i < 4 * f->units * f->units; i++) {
        state = state * 1664525 + 1013904223;
        add(w, "%s%d", i > 0 ? "," : "", low + (int)(state >> 24));
    }
    add(w, "])\n");
}

static void add_body(writer *w, const form *f)
{
    static const char *const names = "iofg";
    add_weights(w, f);
    add(w, "    zero = constant(f32[], [0])\n    most = constant(f32[], [255])\n"
           "    low = min(reduce_min(h), zero)\n    high = max(reduce_max(h), zero)\n"
           "    s = (high - low) / most\n"
           "    z = cast(min(max(round(neg(low / s)), zero), most), dtype=u8)\n"
           "    q = quantize(h, s, z, dtype=u8)\n");
    add(w, "    back = op.integer_matmul(q, r, z, %s, none, s * rs) + b\n",
        f->has_zero ? "rz" : "none");
    for (int k = 0; k < 4; k++)
        add(w, "    %c = %s(slice(x + back, axes=[-1], start=[%d], stop=[%d]))\n", names[k],
            k == 3 ? "tanh" : "sigmoid", k * f->units, (k + 1) * f->units);
    add(w, "    d = f * c + i * g\n    a = o * tanh(d)\n");
}

static char *write_text(const form *f, bool gives_more)
{
    const int wide = 4 * f->units;
    writer w = {.room = 4000 + 20 * (size_t)f->units * (size_t)f->units};
    char zeros[40] = "", scales[16] = "", names[200], ports[400];
    w.text = malloc(w.room);
    if (!EXPECT(w.text != NULL))
        return NULL;
    if (f->has_zero && f->has_zeros)
        snprintf(zeros, sizeof zeros, ", rz: %s[%d]", f->dtype, wide);
    else if (f->has_zero)
        snprintf(zeros, sizeof zeros, ", rz: %s[]", f->dtype);
    snprintf(names, sizeof names, "x, b, rs%s", f->has_zero ? ", rz" : "");
    if (f->has_scales)
        snprintf(scales, sizeof scales, "%d", wide);
    snprintf(ports, sizeof ports, "b: f32[%d], rs: f32[%s]%s", wide, scales, zeros);
    add(&w, "model m(h0: f32[%d, %d], c0: f32[%d, %d], x: f32[%d, %d, %d], %s) {\n", f->batch,
        f->units, f->batch, f->units, f->length, f->batch, wide, ports);
    add(&w,
        "  last, held, all%s = scan(%s, c0, %s, carried=2, reverse=%s, body=graph("
        "h: f32[%d, %d], c: f32[%d, %d], x: f32[%d, %d], %s) {\n",
        gives_more ? ", more" : "", f->starts_at_zero ? "h0 - h0" : "h0", names,
        f->reverse ? "true" : "false", f->batch, f->units, f->batch, f->units, f->batch, wide,
        ports);
    add_body(&w, f);
    add(&w, "    return a, d, a%s\n  })\n  return last, held, all\n}\n",
        gives_more ? ", neg(h)" : "");
    return w.text;
}

/* ---- running ---- */

static bool run_form(const form *f, bool gives_more, int threads, rnn_result *r)
{
    char *text = write_text(f, gives_more);
    const bool ok = text != NULL && rnn_run(ctx, text, &(takt_plan_options){.threads = threads}, r);
    free(text);
    return ok;
}

static void check(const form *f, size_t tasks_of_three)
{
    rnn_result want, got;
    if (!run_form(f, true, 1, &want))
        return;
    EXPECT(strcmp(want.kind, "scan") == 0, "%s", want.kind);
    for (int threads = 1; threads <= 3; threads++) {
        if (!run_form(f, false, threads, &got))
            return;
        EXPECT(strcmp(got.kind, "rnn") == 0, "a %s", got.kind);
        EXPECT(memcmp(got.digest, want.digest, sizeof got.digest) == 0,
               "%d threads, %zu tasks, %d units, %d rows, %s: other bits", threads, got.tasks,
               f->units, f->batch, f->dtype);
    }
    EXPECT(tasks_of_three == 0 || got.tasks == tasks_of_three, "%zu tasks", got.tasks);
}

static void every_form(void)
{
    static const int units[] = {1, 4, 5, 16, 23, 40};
    for (int u = 0; u < 6; u++) /* both types with all units; the rest in another order for each */
        for (int i = 0; i < 16; i++) {
            const int k = i / 2 + u;
            check(&(form){.length = k % 4,
                          .batch = 1 + k % 3,
                          .units = units[u],
                          .dtype = i % 2 == 0 ? "i8" : "u8",
                          .has_scales = i / 2 % 2 == 0,
                          .has_zeros = i / 4 % 2 == 0,
                          .has_zero = k % 5 != 0,
                          .reverse = i / 8 % 2 == 0,
                          .starts_at_zero = (k + i) % 5 == 0},
                  0);
        }
}

/* Large enough that threads share the units; their rows have one scale, so never those. */
static void shared_work(void)
{
    for (int i = 0; i < 2; i++)
        check(&(form){.length = 6,
                      .batch = i == 0 ? 16 : 60,
                      .units = 100,
                      .dtype = i == 0 ? "i8" : "u8",
                      .has_scales = i == 1,
                      .has_zero = i == 1},
              3);
}

static void open_all(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void close_all(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(open_all, every_form, shared_work, close_all)
