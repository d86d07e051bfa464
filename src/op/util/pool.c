/* pool.c - type inference and the iteration over windows that all pools share. */
#include "op/util/pool.h"

#include <math.h>

#include "base/size.h"
#include "op/util/check.h"
#include "op/util/make.h"
#include "op/util/stops.h"

static const takt_window_attrs at = {.kernel = TAKT_POOL_KERNEL,
                                     .stride = TAKT_POOL_STRIDE,
                                     .dilation = TAKT_POOL_DILATION,
                                     .pad = TAKT_POOL_PAD,
                                     .layout = TAKT_POOL_LAYOUT,
                                     .ceil = TAKT_POOL_CEIL};

takt_window takt_pool_window(const takt_attr *attr, int rank)
{
    return takt_window_read(attr, &at, rank);
}

takt_status takt_pool_infer(takt_infer *in, const takt_type *x, takt_type *y)
{
    if (x->rank < 3 || x->rank > 2 + TAKT_SPATIAL) {
        char type[TAKT_TYPE_TEXT];
        takt_fail(in->ctx, TAKT_E_RANK, "%s: x must have rank 3 to %d, got %s", in->op->name,
                  2 + TAKT_SPATIAL, takt_type_text(in->dims, x, type));
        return takt_fail_hint(in->ctx,
                              "x has a batch axis, a channel axis and 1 to 3 spatial axes");
    }
    TAKT_TRY(takt_window_check(in, &at, x->rank));
    const takt_window w = takt_pool_window(in->attr, x->rank);
    int64_t taps = 1;
    *y = *x;
    for (int i = 0; i < w.spatial; i++) {
        if (w.kernel[i] > TAKT_CHECK_BIG / taps)
            return takt_infer_fail(in, TAKT_E_ATTR, "a window has more than %lld elements",
                                   (long long)TAKT_CHECK_BIG);
        taps *= w.kernel[i];
        const int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
        if (w.before[i] >= reach || w.after[i] >= reach)
            return takt_fail(in->ctx, TAKT_E_ATTR,
                             "%s: pad %lld and %lld on spatial axis %d would "
                             "make windows of nothing but padding; the window spans %lld",
                             in->op->name, (long long)w.before[i], (long long)w.after[i], i,
                             (long long)reach);
        if (x->dim[w.first + i] == 0)
            return takt_infer_fail(in, TAKT_E_SHAPE, "spatial axis %d is empty", i);
        TAKT_TRY(takt_window_out(in, &w, i, x->dim[w.first + i], &y->dim[w.first + i]));
    }
    return TAKT_OK;
}

/* ---- iteration over windows ---- */

typedef struct walk {
    takt_window win;
    int64_t size[TAKT_SPATIAL];
    const takt_array *x, *y;
    bool count_pad;
    size_t *taps;
} walk;

/* Whether a tap is in the input or its declared padding; with `ceil` it may be beyond both. */
static bool is_padded(const walk *k, const int64_t from[TAKT_SPATIAL])
{
    for (int i = 0; i < TAKT_SPATIAL; i++)
        if (from[i] >= k->size[i] + k->win.after[i])
            return false;
    return true;
}

static takt_pool_visit window_at(const walk *k, int64_t n, int64_t c, const int64_t *where)
{
    takt_pool_visit v = {.y = takt_window_flat(&k->win, k->y, n, c, where), .taps = k->taps};
    int64_t tap[TAKT_SPATIAL] = {0}, from[TAKT_SPATIAL];
    size_t padded = 0;
    do {
        if (takt_window_tap(&k->win, k->size, where, tap, from))
            k->taps[v.tap_count++] = takt_window_flat(&k->win, k->x, n, c, from);
        else if (is_padded(k, from))
            padded++;
    } while (takt_window_next(k->win.kernel, tap));
    v.divisor = (double)(v.tap_count + (k->count_pad ? padded : 0));
    return v;
}

takt_status takt_pool_each(takt_eval *e, const takt_array *x, const takt_array *y,
                           takt_pool_fn *visit, void *user)
{
    walk k = {.win = takt_pool_window(e->attr, x->rank), .x = x, .y = y};
    const takt_op *op = e->node->op;
    k.count_pad = op->attrs[TAKT_POOL_COUNT_PAD].type == TAKT_ATTR_BOOL &&
                  e->attr[TAKT_POOL_COUNT_PAD].boolean;
    takt_window_sizes(&k.win, x, k.size);
    int64_t positions[TAKT_SPATIAL];
    takt_window_sizes(&k.win, y, positions);
    if (y->count == 0 || x->count == 0)
        return TAKT_OK;
    size_t taps = 1; /* no more than this many can be inside */
    for (int i = 0; i < TAKT_SPATIAL; i++)
        taps *= (size_t)(k.win.kernel[i] < k.size[i] ? k.win.kernel[i] : k.size[i]);
    k.taps = takt_arena_array(e->scratch, taps, sizeof *k.taps);
    if (k.taps == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t n = 0; n < x->dim[0]; n++)
        for (int64_t c = 0; c < x->dim[k.win.channel]; c++) {
            int64_t where[TAKT_SPATIAL] = {0};
            do {
                const takt_pool_visit v = window_at(&k, n, c, where);
                visit(user, &v);
            } while (takt_window_next(positions, where) && !takt_eval_stops(e, taps));
        }
    return TAKT_OK;
}

static bool is_larger(const takt_array *x, size_t a, size_t b)
{
    if (takt_dtype_is_float(x->dtype))
        return !isnan(x->f[b]) && (isnan(x->f[a]) || x->f[a] > x->f[b]);
    return takt_dtype_is_unsigned(x->dtype) ? (uint64_t)x->i[a] > (uint64_t)x->i[b]
                                            : x->i[a] > x->i[b];
}

size_t takt_pool_largest(const takt_array *x, const takt_pool_visit *window)
{
    size_t best = window->taps[0];
    for (size_t t = 1; t < window->tap_count; t++)
        if (is_larger(x, window->taps[t], best))
            best = window->taps[t];
    return best;
}

/* ---- construction ---- */

takt_id takt_pool_make(takt_graph *g, const takt_op *op, const takt_node *n, size_t count,
                       const takt_id *in, const takt_type *shape)
{
    takt_attr attrs[TAKT_MAX_ATTRS] = {0};
    for (int i = 0; i <= TAKT_POOL_COUNT_PAD; i++)
        if (op->attrs[i].type != TAKT_ATTR_NONE && n->op->attrs[i].type == op->attrs[i].type)
            attrs[i] = n->attr[i];
    if (shape != NULL)
        attrs[TAKT_POOL_SHAPE] = takt_attr_shape(shape->dim, (size_t)shape->rank);
    return takt_graph_append(g, op, count, in, attrs);
}

void takt_pool_cost(const takt_graph *g, const takt_node *n, const takt_type *y, takt_cost *cost)
{
    const takt_window w = takt_pool_window(n->attr, y->rank);
    cost->flops = takt_make_count(y);
    for (int i = 0; i < w.spatial; i++)
        cost->flops *= (double)w.kernel[i];
    cost->bytes = takt_make_bytes(g, n);
}
