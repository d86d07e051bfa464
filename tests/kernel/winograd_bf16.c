/* winograd_bf16.c - checks convolutions by F(2x2, 3x3) of bf16 against the exact ones, within the
 * bound.
 */
#include "kernel/winograd_bf16/winograd_bf16.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "kernel/product_bf16/round.h"

enum { X, W, U, Y, BIAS, RESIDUAL, ZEROS, SCRATCH };

check_fn check_winograd_bf16;

static const takt_winograd_bf16_info *info_of(const takt_check *c)
{
    return c->kernel->info;
}

static void fill(takt_check *c, uint16_t *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = takt_bf16_round((float)check_below(c, 1 << 20) / (1 << 18) - 2);
}

static float x_at(const takt_winograd_bf16 *w, size_t row, size_t column, size_t c)
{
    row -= w->before[0];
    column -= w->before[1];
    return row < w->in[0] && column < w->in[1] ? widen(w->x[(row * w->in[1] + column) * w->cin + c])
                                               : 0;
}

/* The direct sum for one output, and a size that that of the contract is never less than: |Bt|,
 * |G| and |At| add up at most four values each, twice. */
static void exact(const takt_winograd_bf16 *w, const float *weights, const size_t at[3],
                  double *sum, double *size)
{
    const size_t row = at[0] / 2 * 2, column = at[1] / 2 * 2;
    *sum = *size = 0;
    for (size_t c = 0; c < w->cin; c++) {
        double wide = 0, most = 0;
        for (size_t t = 0; t < 9; t++) {
            const double v = weights[(at[2] * 9 + t) * w->cin + c];
            *sum += v * (double)x_at(w, at[0] + t / 3, at[1] + t % 3, c);
            wide += fabs(v);
        }
        for (size_t t = 0; t < 16; t++)
            most += fabs((double)x_at(w, row + t / 4, column + t % 4, c));
        *size += wide * most;
    }
}

static void hold(takt_check *c, const takt_winograd_bf16 *w, const float *weights)
{
    c->cases++;
    for (size_t i = 0; i < w->out[0] * w->out[1] * w->cout; i++) {
        const size_t at[3] = {i / w->cout / w->out[1], i / w->cout % w->out[1], i % w->cout};
        double sum, size;
        exact(w, weights, at, &sum, &size);
        sum += w->bias != NULL ? w->bias[at[2]] : 0;
        sum += w->residual != NULL ? widen(w->residual[i]) : 0;
        const double want = fmin(fmax(sum, w->lo), w->hi), got = widen(w->y[i]);
        if (!(fabs(got - want) <=
              takt_winograd_bf16_bound(w->cin) * (size + 16) + fabs(want) / 255)) {
            check_fail(c, "[%zu, %zu, %zu] is %.9g; exactly %.9g", at[0], at[1], at[2], got, want);
            return;
        }
    }
}

/* All units, in two calls. Small whole numbers are exact: then every result must be. */
static void one(takt_check *c, takt_winograd_bf16 w, unsigned round)
{
    const size_t in = w.in[0] * w.in[1] * w.cin, out = w.out[0] * w.out[1] * w.cout;
    const size_t weights = w.cout * 9 * w.cin, units = takt_winograd_bf16_units(w.out);
    const takt_gemm_bf16_info *pack = &info_of(c)->pack;
    check_case(c, "%zux%zux%zu to %zux%zux%zu, round %u", w.in[0], w.in[1], w.cin, w.out[0],
               w.out[1], w.cout, round);
    uint16_t *x = check_place(c, X, in * sizeof *x, CHECK_AT_END);
    float *plain = check_place(c, W, weights * sizeof *plain, CHECK_AT_END);
    uint16_t *u =
        check_place(c, U, takt_winograd_bf16_count(pack, w.cin, w.cout) * sizeof *u, CHECK_AT_END);
    float *bias = check_place(c, BIAS, w.cout * sizeof *bias, CHECK_AT_END);
    uint16_t *residual = check_place(c, RESIDUAL, out * sizeof *residual, CHECK_AT_END);
    uint16_t *zeros = check_place(c, ZEROS, w.cin * sizeof *zeros, CHECK_AT_END);
    fill(c, x, in);
    fill(c, residual, out);
    check_fill_f32(c, plain, weights, CHECK_PLAIN);
    check_fill_f32(c, bias, w.cout, CHECK_PLAIN);
    memset(zeros, 0, w.cin * sizeof *zeros);
    for (size_t i = 0; round % 4 == 3 && i < in; i++)
        x[i] = takt_bf16_round((float)check_below(c, 5) - 2);
    for (size_t i = 0; round % 4 == 3 && i < weights; i++)
        plain[i] = 4 * ((float)check_below(c, 3) - 1);
    takt_winograd_bf16_pack(
        pack, &(takt_winograd_bf16_weights){w.cin, w.cout, plain, 9 * w.cin, w.cin, 1}, u);
    w.x = x;
    w.u = u;
    w.zeros = zeros;
    w.bias = round & 1 ? bias : NULL;
    w.residual = round & 2 ? residual : NULL;
    w.lo = round & 4 ? 0 : -INFINITY;
    w.hi = round & 8 ? 6 : INFINITY;
    w.y = check_place(c, Y, out * sizeof *w.y, CHECK_AT_END);
    memset(w.y, 0x5a, out * sizeof *w.y);
    w.scratch = check_scratch(c, SCRATCH, info_of(c)->scratch_bytes(w.cin, w.cout));
    w.count = units / 3;
    CHECK_CALL(c, takt_kernel_as_winograd_bf16(c->kernel)(&w));
    w.first = w.count;
    w.count = units - w.first;
    CHECK_CALL(c, takt_kernel_as_winograd_bf16(c->kernel)(&w));
    hold(c, &w, plain);
    for (int slot = X; slot <= SCRATCH; slot++)
        check_intact(c, slot);
}

/* A NaN reaches the tiles that read it and no other. */
static void special(takt_check *c)
{
    enum { N = 8, C = 4 };
    static uint16_t x[N * N * C], y[N * N * C], u[16 * 8 * 16], zeros[C];
    static float weights[C * 9 * C];
    check_case(c, "NaN");
    for (size_t i = 0; i < N * N * C; i++)
        x[i] = 0x3f80;
    for (size_t i = 0; i < C * 9 * C; i++)
        weights[i] = 1;
    x[0] = 0xffff;
    takt_winograd_bf16_pack(&info_of(c)->pack,
                            &(takt_winograd_bf16_weights){C, C, weights, 9 * C, C, 1}, u);
    takt_winograd_bf16 w = {.cin = C,
                            .cout = C,
                            .in = {N, N},
                            .out = {N, N},
                            .before = {1, 1},
                            .count = takt_winograd_bf16_units((size_t[2]){N, N}),
                            .x = x,
                            .zeros = zeros,
                            .u = u,
                            .hi = 6,
                            .y = y};
    w.scratch = check_scratch(c, SCRATCH, info_of(c)->scratch_bytes(C, C));
    CHECK_CALL(c, takt_kernel_as_winograd_bf16(c->kernel)(&w));
    c->cases++;
    for (size_t i = 0; i < N * N; i++)
        if (isnan(widen(y[i * C])) != (i / N < 2 && i % N < 2))
            check_fail(c, "[%zu, %zu] is %x", i / N, i % N, y[i * C]);
}

static void bench(takt_check *c)
{
    enum { N = 64 };
    const size_t side = c->kernel->rank > 0 ? 56 : 14, all = side * side * N;
    takt_winograd_bf16 w = {.cin = N, .cout = N, .in = {side, side}, .before = {1, 1}};
    uint16_t *x = check_place(c, X, all * sizeof *x, CHECK_AT_START);
    const size_t count = takt_winograd_bf16_count(&info_of(c)->pack, N, N);
    uint16_t *u = check_place(c, U, count * sizeof *u, CHECK_AT_START);
    uint16_t *zeros = check_place(c, ZEROS, N * sizeof *zeros, CHECK_AT_START);
    fill(c, x, all);
    fill(c, u, count);
    memset(zeros, 0, N * sizeof *zeros);
    w.out[0] = w.out[1] = side;
    w.x = x;
    w.u = u;
    w.zeros = zeros;
    w.hi = 6;
    w.y = check_place(c, Y, all * sizeof *x, CHECK_AT_START);
    w.scratch = check_scratch(c, SCRATCH, info_of(c)->scratch_bytes(N, N));
    w.count = takt_winograd_bf16_units(w.out);
    CHECK_BENCH(c, side == 56 ? "56x56x64" : "14x14x64", 0, 18.0 * (double)all * N,
                takt_kernel_as_winograd_bf16(c->kernel)(&w));
}

void check_winograd_bf16(takt_check *c, const takt_kernel *reference)
{
    (void)reference; /* held to exact sums instead */
    for (unsigned round = 0; round < 64; round++) {
        takt_winograd_bf16 w = {.cin = 1 + check_below(c, 21),
                                .cout = 1 + check_below(c, 29),
                                .in = {1 + check_below(c, 12), 1 + check_below(c, 20)},
                                .before = {check_below(c, 3), check_below(c, 3)}};
        for (int d = 0; d < 2; d++) {
            const size_t all = w.in[d] + 2 * w.before[d];
            w.before[d] += all < 3;
            w.out[d] = w.in[d] + 2 * w.before[d] - 2;
        }
        one(c, w, round);
    }
    one(c, (takt_winograd_bf16){.cin = 160, .cout = 40, .in = {20, 34}, .out = {18, 32}}, 15);
    special(c);
    if (c->bench)
        bench(c);
}
