/* shape.c - a convolution node as numbers and strides. */
#include "backend/cpu/conv/shape.h"

#include "op/util/conv.h"

/* Which of x, w and y are the node's inputs and result. */
static void find_types(const takt_graph *g, const takt_node *n, const takt_type **x,
                       const takt_type **w, const takt_type **y)
{
    const takt_type *a = takt_type_of(g, n->in[0]), *b = takt_type_of(g, n->in[1]);
    const takt_conv_result result = takt_conv_result_of(n->op);
    *x = result == TAKT_CONV_DX ? n->type : a;
    *w = result == TAKT_CONV_DW ? n->type : b;
    *y = result == TAKT_CONV_DX ? a : result == TAKT_CONV_DW ? b : n->type;
}

static void set_strides(takt_conv_shape *s)
{
    const size_t channels = s->groups * s->cin, outputs = s->groups * s->cout;
    s->x_channel = s->is_nhwc ? 1 : s->area;
    s->x_at[2] = s->is_nhwc ? channels : 1;
    s->x_at[1] = s->x_at[2] * s->in[2];
    s->x_at[0] = s->x_at[1] * s->in[1];
    s->x_sample = channels * s->area;
    s->y_channel = s->is_nhwc ? 1 : s->positions;
    s->y_position = s->is_nhwc ? outputs : 1;
    s->y_sample = outputs * s->positions;
    s->w_in = s->is_nhwc ? 1 : s->taps;
    s->w_tap = s->is_nhwc ? s->cin : 1;
    s->w_out = s->k;
}

takt_conv_shape takt_conv_shape_of(const takt_graph *g, takt_id node)
{
    static const takt_window_attrs at = {.kernel = -1,
                                         .stride = TAKT_CONV_STRIDE,
                                         .dilation = TAKT_CONV_DILATION,
                                         .pad = TAKT_CONV_PAD,
                                         .layout = TAKT_CONV_LAYOUT,
                                         .ceil = -1};
    const takt_node *n = &g->nodes[node];
    const takt_type *x, *w, *y;
    find_types(g, n, &x, &w, &y);
    const takt_window win = takt_window_read(n->attr, &at, x->rank);
    takt_conv_shape s = {.dtype = n->type->dtype,
                         .is_nhwc = win.first == 1,
                         .batch = (size_t)x->dim[0],
                         .groups = (size_t)n->attr[TAKT_CONV_GROUPS].i64,
                         .cin = (size_t)w->dim[win.channel],
                         .positions = 1,
                         .area = 1,
                         .taps = 1};
    s.cout = (size_t)w->dim[0] / s.groups;
    for (int i = 0; i < 3; i++) {
        const int from = i - (3 - win.spatial); /* the window's axes are left-aligned */
        const bool is_used = from >= 0;
        s.in[i] = is_used ? (size_t)x->dim[win.first + from] : 1;
        s.out[i] = is_used ? (size_t)y->dim[win.first + from] : 1;
        s.kernel[i] = is_used ? (size_t)w->dim[win.first + from] : 1;
        s.stride[i] = is_used ? (size_t)win.stride[from] : 1;
        s.dilation[i] = is_used ? (size_t)win.dilation[from] : 1;
        s.before[i] = is_used ? (size_t)win.before[from] : 0;
        s.positions *= s.out[i];
        s.area *= s.in[i];
        s.taps *= s.kernel[i];
    }
    s.k = s.taps * s.cin;
    s.k_row = (s.k + 3) / 4 * 4;
    set_strides(&s);
    return s;
}

takt_conv_shape takt_conv_shape_flipped(const takt_conv_shape *s)
{
    takt_conv_shape t = *s;
    t.is_flipped = true;
    t.cin = s->cout;
    t.cout = s->cin;
    t.positions = s->area;
    t.area = s->positions;
    for (int i = 0; i < 3; i++) {
        t.in[i] = s->out[i];
        t.out[i] = s->in[i];
        t.before[i] = s->kernel[i] - 1 - s->before[i];
    }
    t.k = t.taps * t.cin;
    t.k_row = (t.k + 3) / 4 * 4;
    set_strides(&t);
    t.w_in = s->w_out;
    t.w_out = s->w_in;
    t.w_tap = s->w_tap;
    return t;
}

static bool is_single(const takt_conv_shape *s)
{
    return s->is_nhwc && s->groups > 1 && s->cin == 1 && s->cout == 1;
}

bool takt_conv_is_depthwise(const takt_graph *g, takt_id node)
{
    const takt_conv_shape s = takt_conv_shape_of(g, node);
    return s.dtype == TAKT_F32 && is_single(&s);
}

bool takt_conv_is_narrow_depthwise(const takt_graph *g, takt_id node)
{
    const takt_conv_shape s = takt_conv_shape_of(g, node);
    return (s.dtype == TAKT_F16 || s.dtype == TAKT_BF16) && is_single(&s);
}

bool takt_conv_has_one_tap(const takt_conv_shape *s)
{
    for (int i = 0; i < 3; i++)
        if (s->kernel[i] != 1 || s->stride[i] != 1 || s->in[i] != s->out[i])
            return false;
    return true;
}

bool takt_conv_is_pointwise(const takt_conv_shape *s)
{
    return s->is_nhwc && takt_conv_has_one_tap(s);
}
