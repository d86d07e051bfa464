/* conv.c - inference, evaluation and construction of the three convolutions. */
#include "op/util/conv.h"

#include <math.h>

#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

static const takt_window_attrs at = {.kernel = -1,
                                     .stride = TAKT_CONV_STRIDE,
                                     .dilation = TAKT_CONV_DILATION,
                                     .pad = TAKT_CONV_PAD,
                                     .layout = TAKT_CONV_LAYOUT,
                                     .ceil = -1};

/* ---- inference ---- */

static takt_status check_ranks(takt_infer *in, const takt_type *x, const takt_type *w)
{
    if (x->rank >= 3 && x->rank <= 2 + TAKT_SPATIAL && w->rank == x->rank)
        return TAKT_OK;
    char tx[TAKT_TYPE_TEXT], tw[TAKT_TYPE_TEXT];
    takt_fail(in->ctx, TAKT_E_RANK,
              "%s: x and w must have the same rank, 3 to %d: x is %s, w is %s", in->op->name,
              2 + TAKT_SPATIAL, takt_type_text(in->dims, x, tx), takt_type_text(in->dims, w, tw));
    return takt_fail_hint(in->ctx, "x has a batch axis, a channel axis and 1 to 3 spatial axes");
}

static takt_status check_channels(takt_infer *in, const takt_type *x, const takt_type *w, int axis)
{
    const int64_t groups = in->attr[TAKT_CONV_GROUPS].i64;
    takt_dim channels = 0;
    bool agree = false;
    TAKT_TRY(takt_check_range(in, TAKT_CONV_GROUPS, 1, TAKT_CHECK_BIG));
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, w->dim[axis], groups, &channels));
    TAKT_TRY(takt_check_agree(in, x->dim[axis], channels, &agree));
    char tx[TAKT_TYPE_TEXT], tw[TAKT_TYPE_TEXT];
    if (!agree) {
        takt_fail(in->ctx, TAKT_E_SHAPE, "%s: channels differ: x is %s, w is %s with %lld group%s",
                  in->op->name, takt_type_text(in->dims, x, tx), takt_type_text(in->dims, w, tw),
                  (long long)groups, groups == 1 ? "" : "s");
        return takt_fail_hint(in->ctx, "dimension %d of x must be that of w times groups", axis);
    }
    if (takt_dim_is_number(w->dim[0]) && w->dim[0] % groups != 0)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "%s: %lld groups do not divide the %lld output "
                         "channels: w is %s",
                         in->op->name, (long long)groups, (long long)w->dim[0],
                         takt_type_text(in->dims, w, tw));
    return TAKT_OK;
}

takt_status takt_conv_infer(takt_infer *in, const takt_type *x, const takt_type *w, takt_type *y)
{
    TAKT_TRY(check_ranks(in, x, w));
    TAKT_TRY(takt_window_check(in, &at, x->rank));
    takt_window win = takt_window_read(in->attr, &at, x->rank);
    TAKT_TRY(check_channels(in, x, w, win.channel));
    *y = *x;
    y->dim[win.channel] = w->dim[0];
    for (int i = 0; i < win.spatial; i++) {
        const takt_dim kernel = w->dim[win.first + i];
        char tw[TAKT_TYPE_TEXT];
        if (!takt_dim_is_number(kernel) || kernel == 0 || kernel > TAKT_CHECK_BIG)
            return takt_fail(in->ctx, TAKT_E_SHAPE,
                             "%s: the kernel's size on spatial axis %d must "
                             "be a positive number: w is %s",
                             in->op->name, i, takt_type_text(in->dims, w, tw));
        win.kernel[i] = kernel;
        TAKT_TRY(takt_window_out(in, &win, i, x->dim[win.first + i], &y->dim[win.first + i]));
    }
    return TAKT_OK;
}

/* ---- evaluation ---- */

typedef struct sums {
    takt_window win;
    int64_t size[TAKT_SPATIAL]; /* of x */
    takt_conv_result which;
    const takt_array *x, *w, *y;
    takt_array *out;
} sums;

/* Adds one product; `inside` is false where x would be padding: zero, but still multiplied, so that
 * an infinite weight has its effect. */
static void add(const sums *s, bool inside, size_t ix, size_t iw, size_t iy)
{
    static const double zero_f = 0;
    static const int64_t zero_i = 0;
    const takt_array zero = {
        .dtype = s->out->dtype, .f = (double *)&zero_f, .i = (int64_t *)&zero_i};
    const takt_array *x = inside ? s->x : &zero;
    if (s->which == TAKT_CONV_Y)
        takt_index_add_product(s->out, iy, x, inside ? ix : 0, s->w, iw);
    else if (s->which == TAKT_CONV_DW)
        takt_index_add_product(s->out, iw, x, inside ? ix : 0, s->y, iy);
    else if (inside)
        takt_index_add_product(s->out, ix, s->y, iy, s->w, iw);
}

/* All products of one output position of one sample and channel. */
static void position(const sums *s, int64_t n, int64_t o, int64_t first_channel,
                     const int64_t where[TAKT_SPATIAL])
{
    const int64_t channels = s->w->dim[s->win.channel];
    const size_t iy = takt_window_flat(&s->win, s->y, n, o, where);
    int64_t tap[TAKT_SPATIAL] = {0}, from[TAKT_SPATIAL];
    do {
        const bool inside = takt_window_tap(&s->win, s->size, where, tap, from);
        for (int64_t c = 0; c < channels; c++) {
            const size_t ix =
                inside ? takt_window_flat(&s->win, s->x, n, first_channel + c, from) : 0;
            add(s, inside, ix, takt_window_flat(&s->win, s->w, o, c, tap), iy);
        }
    } while (takt_window_next(s->win.kernel, tap));
}

static bool is_finite(const takt_array *a)
{
    for (size_t i = 0; a->f != NULL && i < a->count; i++)
        if (!isfinite(a->f[i]))
            return false;
    return true;
}

/* Whether tap `tap` reaches `place` of x from beyond the border of y, where y would be zero;
 * places between strides reach nothing. */
static bool is_beyond(const sums *s, const int64_t *positions, const int64_t *place,
                      const int64_t *tap)
{
    bool beyond = false;
    for (int i = 0; i < s->win.spatial; i++) {
        const int64_t to = place[i] + s->win.before[i] - tap[i] * s->win.dilation[i];
        if (to % s->win.stride[i] != 0)
            return false;
        beyond = beyond || to < 0 || to / s->win.stride[i] >= positions[i];
    }
    return beyond;
}

/* dx in a second pass: zeros around y are multiplied too, so that an infinite weight has its
 * effect. */
static void add_border(const sums *s, const int64_t *positions, int64_t per_group)
{
    const takt_array *w = s->w;
    const int64_t channels = w->dim[s->win.channel];
    int64_t place[TAKT_SPATIAL] = {0};
    do {
        int64_t tap[TAKT_SPATIAL] = {0};
        do {
            if (!is_beyond(s, positions, place, tap))
                continue;
            for (int64_t n = 0; n < s->x->dim[0]; n++)
                for (int64_t oc = 0; oc < w->dim[0] * channels; oc++) {
                    const int64_t o = oc / channels, c = oc % channels;
                    const int64_t channel = o / per_group * channels + c;
                    s->out->f[takt_window_flat(&s->win, s->x, n, channel, place)] +=
                        0 * w->f[takt_window_flat(&s->win, w, o, c, tap)];
                }
        } while (takt_window_next(s->win.kernel, tap));
    } while (takt_window_next(s->size, place));
}

void takt_conv_eval(const takt_eval *e, takt_conv_result which, const takt_array *x,
                    const takt_array *w, const takt_array *y, takt_array *out)
{
    const takt_attr *attr = e->attr;
    sums s = {.win = takt_window_read(attr, &at, x->rank),
              .which = which,
              .x = x,
              .w = w,
              .y = y,
              .out = out};
    takt_window_sizes(&s.win, x, s.size);
    takt_window_sizes(&s.win, w, s.win.kernel);
    int64_t positions[TAKT_SPATIAL];
    takt_window_sizes(&s.win, y, positions);
    const int64_t outputs = w->dim[0], per_group = outputs / attr[TAKT_CONV_GROUPS].i64;
    if (x->count == 0 || w->count == 0 || y->count == 0)
        return;
    for (int64_t n = 0; n < x->dim[0]; n++)
        for (int64_t o = 0; o < outputs; o++) {
            int64_t where[TAKT_SPATIAL] = {0};
            do
                position(&s, n, o, o / per_group * w->dim[s.win.channel], where);
            while (takt_window_next(positions, where) &&
                   !takt_eval_stops(e, w->count / (size_t)outputs));
        }
    if (which == TAKT_CONV_DX && !is_finite(w))
        add_border(&s, positions, per_group);
}

/* ---- construction ---- */

static takt_id make(takt_graph *g, const takt_op *op, const takt_node *n, const takt_id *in,
                    const takt_type *shape)
{
    takt_attr attrs[TAKT_MAX_ATTRS] = {0};
    for (int i = 0; i < TAKT_CONV_SHAPE; i++)
        attrs[i] = n->attr[i];
    if (shape != NULL)
        attrs[TAKT_CONV_SHAPE] = takt_attr_shape(shape->dim, (size_t)shape->rank);
    return takt_graph_append(g, op, 2, in, attrs);
}

takt_id takt_conv_make(takt_graph *g, const takt_node *n, takt_id x, takt_id w)
{
    return make(g, &takt_op_conv, n, (const takt_id[]){x, w}, NULL);
}

takt_id takt_conv_make_dx(takt_graph *g, const takt_node *n, takt_id dy, takt_id w,
                          const takt_type *x)
{
    return make(g, &takt_op_conv_dx, n, (const takt_id[]){dy, w}, x);
}

takt_id takt_conv_make_dw(takt_graph *g, const takt_node *n, takt_id x, takt_id dy,
                          const takt_type *w)
{
    return make(g, &takt_op_conv_dw, n, (const takt_id[]){x, dy}, w);
}

void takt_conv_cost(const takt_graph *g, const takt_node *n, const takt_type *y, const takt_type *w,
                    takt_cost *cost)
{
    const double outputs = w->dim[0] > 0 ? (double)w->dim[0] : 1;
    cost->flops = 2 * takt_make_count(y) * takt_make_count(w) / outputs;
    cost->bytes = takt_make_bytes(g, n);
}

takt_status takt_conv_y_eval(takt_eval *e)
{
    takt_conv_eval(e, TAKT_CONV_Y, &e->in[0], &e->in[1], &e->out[0], &e->out[0]);
    return TAKT_OK;
}

void takt_conv_y_grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_conv_make_dx(g, &n, dy[0], n.in[1], takt_type_of(g, n.in[0]));
    dx[1] = takt_conv_make_dw(g, &n, n.in[0], dy[0], takt_type_of(g, n.in[1]));
}

void takt_conv_y_cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_conv_cost(g, n, &n->type[0], takt_type_of(g, n->in[1]), cost);
}

static bool all_ones(const takt_attr *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->i64s[i] != 1)
            return false;
    return true;
}

bool takt_conv_is_winograd(const takt_attr *attr, const takt_type *w)
{
    const int space = attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? 1 : 2;
    return w->rank == 4 && w->dim[space] == 3 && w->dim[space + 1] == 3 &&
           all_ones(&attr[TAKT_CONV_STRIDE]) && all_ones(&attr[TAKT_CONV_DILATION]) &&
           attr[TAKT_CONV_GROUPS].i64 == 1;
}

takt_status takt_conv_check_winograd(takt_infer *in, const char *name, const takt_type *w)
{
    char text[TAKT_TYPE_TEXT];
    if (takt_conv_is_winograd(in->attr, w))
        return TAKT_OK;
    takt_fail(in->ctx, TAKT_E_ATTR,
              "%s: only 3x3 kernels with stride, dilation and groups 1: w is %s", name,
              takt_type_text(in->dims, w, text));
    return takt_fail_hint(in->ctx, "%s takes every convolution", name + sizeof "winograd_" - 1);
}
