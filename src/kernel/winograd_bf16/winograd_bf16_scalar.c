/* winograd_bf16_scalar.c - what Winograd's F(2x2, 3x3) of bf16 computes, one output at a time. */
#include <math.h>

#include "kernel/product_bf16/round.h"
#include "kernel/winograd_bf16/winograd_bf16.h"

enum { P = 16, IN = 4 };

static const takt_panels panels = {P, P};

/* Bt of four values that lie `step` apart, in place. */
static void into(float *x, size_t step)
{
    const float a = x[0], b = x[step], c = x[2 * step], d = x[3 * step];
    x[0] = a - c;
    x[step] = b + c;
    x[2 * step] = c - b;
    x[3 * step] = b - d;
}

/* At of four values that lie `step` apart, the first two of them in place. */
static void back(float *m, size_t step)
{
    const float a = m[0], b = m[step], c = m[2 * step], d = m[3 * step];
    m[0] = (a + b) + c;
    m[step] = (b - c) - d;
}

/* Bt x B of one channel of the tile whose first output is (row, column). */
static void inputs(const takt_winograd_bf16 *w, size_t row, size_t column, size_t c, float *v)
{
    for (size_t i = 0; i < IN; i++)
        for (size_t j = 0; j < IN; j++) {
            const size_t y = row + i - w->before[0], x = column + j - w->before[1]; /* may wrap */
            const bool is_inside = y < w->in[0] && x < w->in[1];
            v[IN * i + j] = is_inside ? widen(w->x[(y * w->in[1] + x) * w->cin + c]) : 0;
        }
    for (size_t j = 0; j < IN; j++)
        into(v + j, IN);
    for (size_t i = 0; i < IN; i++)
        into(v + IN * i, 1);
    for (size_t p = 0; p < P; p++)
        v[p] = widen(takt_bf16_round(v[p]));
}

static void tile(const takt_winograd_bf16 *w, size_t row, size_t column, size_t o)
{
    const size_t each = takt_panels_columns(panels, w->cout) * w->cin;
    float m[P] = {0}, v[P];
    for (size_t c = 0; c < w->cin; c++) {
        inputs(w, row, column, c, v);
        for (size_t p = 0; p < P; p++)
            m[p] = fmaf(v[p], widen(w->u[p * each + o / P * P * w->cin + c * P + o % P]), m[p]);
    }
    for (size_t j = 0; j < IN; j++)
        back(m + j, IN);
    for (size_t i = 0; i < 2; i++)
        back(m + IN * i, 1);
    for (size_t i = 0; i < 2 && row + i < w->out[0]; i++)
        for (size_t j = 0; j < 2 && column + j < w->out[1]; j++) {
            const size_t at = ((row + i) * w->out[1] + column + j) * w->cout + o;
            float y = m[IN * i + j] + (w->bias != NULL ? w->bias[o] : 0);
            y += w->residual != NULL ? widen(w->residual[at]) : 0;
            w->y[at] = takt_bf16_round(clip(y, w->lo, w->hi));
        }
}

static void run(const takt_winograd_bf16 *w)
{
    const size_t across = (w->out[1] + 3) / 4;
    for (size_t unit = w->first; unit < w->first + w->count; unit++)
        for (size_t t = 0; t < 2; t++)
            for (size_t o = 0; o < w->cout; o++)
                tile(w, unit / across * 2, unit % across * 4 + 2 * t, o);
}

static size_t scratch_bytes(size_t cin, size_t cout)
{
    (void)cin;
    (void)cout;
    return 0;
}

static const takt_winograd_bf16_info info = {
    {{1, {P, P}, NULL, 0, 0}, 1, TAKT_WINOGRAD_BF16_CIN, 0, 0, 0}, scratch_bytes};

TAKT_KERNELS(winograd_bf16, TAKT_KERNEL(winograd_bf16, "scalar", 0, run, &info));
