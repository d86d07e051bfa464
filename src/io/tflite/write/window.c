/* window.c - windows of convolutions and pools in TensorFlow Lite. */
#include "io/tflite/write/window.h"

void takt_tflw_widen(takt_tflw *w, takt_tflw_window *v, int32_t *x)
{
    int64_t *const lists[] = {v->in, v->out, v->kernel, v->stride, v->dilation};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        lists[i][1] = lists[i][0];
        lists[i][0] = 1;
    }
    v->before[1] = v->before[0];
    v->after[1] = v->after[0];
    v->before[0] = v->after[0] = 0;
    v->axes = 2;
    const takt_type t = takt_tflw_at(w, *x)->type;
    *x = takt_tflw_reshaped(w, *x, (const int64_t[]){t.dim[0], 1, t.dim[1], t.dim[2]}, 4, -1);
}

int32_t takt_tflw_widened(takt_tflw *w, int32_t y)
{
    const takt_tflw_tensor t = *takt_tflw_at(w, y);
    const takt_type type = {
        .dtype = t.type.dtype, .rank = 4, .dim = {t.type.dim[0], 1, t.type.dim[1], t.type.dim[2]}};
    return takt_tflw_tensor_new(w, NULL, &type, &t.grid);
}

/* Number of elements by which the windows of axis `i` exceed the input, on both sides. */
static int64_t beyond(const takt_tflw_window *v, int i)
{
    const int64_t reach = (v->kernel[i] - 1) * v->dilation[i] + 1;
    const int64_t total = (v->out[i] - 1) * v->stride[i] + reach - v->in[i];
    return total > 0 ? total : 0;
}

static bool is_same(const takt_tflw_window *v)
{
    for (int i = 0; i < v->axes; i++)
        if (v->out[i] != (v->in[i] + v->stride[i] - 1) / v->stride[i] ||
            v->before[i] != beyond(v, i) / 2)
            return false;
    return true;
}

static bool is_valid(const takt_tflw_window *v)
{
    for (int i = 0; i < v->axes; i++)
        if (v->before[i] != 0 || beyond(v, i) != 0)
            return false;
    return true;
}

bool takt_tflw_window_is_odd(const takt_tflw_window *v)
{
    return !is_same(v) && !is_valid(v);
}

static void spread(takt_tflw *w, const takt_tflw_window *v, int32_t *x, const double *fill)
{
    int64_t before[5] = {0}, after[5] = {0};
    for (int i = 0; i < v->axes; i++) {
        const int64_t reach = (v->kernel[i] - 1) * v->dilation[i] + 1;
        const int64_t rest = (v->out[i] - 1) * v->stride[i] + reach - v->in[i] - v->before[i];
        before[1 + i] = v->before[i];
        after[1 + i] = rest > 0 ? rest : 0;
    }
    *x = takt_tflw_padded(w, *x, before, after, fill);
}

void takt_tflw_window_spread(takt_tflw *w, const takt_tflw_window *v, int32_t *x)
{
    spread(w, v, x, NULL);
}

int takt_tflw_window_pad(takt_tflw *w, const takt_tflw_window *v, int32_t *x, const double *fill)
{
    if (is_valid(v))
        return 1;
    if (is_same(v))
        return 0;
    spread(w, v, x, fill);
    return 1;
}
