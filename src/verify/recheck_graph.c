/* recheck_graph.c - the nodes of a graph as the checker sees them, and the sum of each element. */
#include <math.h>
#include <string.h>

#include "interp/interp.h"
#include "ir/leaves.h"
#include "op/util/bound.h"
#include "op/util/conv.h"
#include "op/util/matrix.h"
#include "op/util/pool.h"
#include "verify/recheck.h"

static size_t size_of(const takt_type *t)
{
    size_t count = 1;
    for (int i = 0; i < t->rank; i++)
        count *= (size_t)t->dim[i];
    return count;
}

static const takt_type *type_of(const takt_recheck *k, uint32_t id)
{
    return &k->graph->nodes[id].type[0];
}

static takt_status refuse(const takt_recheck *k, const takt_node *n)
{
    return takt_fail(k->ctx, TAKT_E_VERIFY_MODEL, "the checker does not know %s", n->op->name);
}

/* ---- kinds ---- */

static bool is_known(const takt_recheck *k, const takt_node *n)
{
    for (uint32_t i = 0; i < n->in_count; i++)
        if (n->in[i] != TAKT_NONE && k->nodes[n->in[i]].kind != TAKT_CHECK_KNOWN)
            return false;
    return n->op != &takt_op_input && n->op != &takt_op_state;
}

static takt_status evaluate(takt_recheck *k, const takt_node *n, takt_array *out)
{
    takt_array in[8];
    if (n->in_count > 8 || n->out_count != 1 ||
        (!k->is_real && (n->op->error.ulps > 0 || n->op->error.roundings != NULL)))
        return refuse(k, n);
    if (n->op == &takt_op_constant)
        return takt_array_from_tensor(k->ctx, n->attr[0].tensor, out);
    for (uint32_t i = 0; i < n->in_count; i++)
        in[i] = n->in[i] != TAKT_NONE ? k->nodes[n->in[i]].known : (takt_array){.rank = -1};
    return takt_interpret_node(k->ctx, k->graph, n, in, out);
}

/* Depends on which input is known; a product or quotient needs a constant. */
static bool is_linear(const takt_recheck *k, const takt_node *n)
{
    const takt_op *op = n->op;
    const bool first = n->in_count > 0 && k->nodes[n->in[0]].kind == TAKT_CHECK_KNOWN;
    const bool second = n->in_count > 1 && k->nodes[n->in[1]].kind == TAKT_CHECK_KNOWN;
    if (op == &takt_op_reshape || op == &takt_op_transpose || op == &takt_op_neg ||
        op == &takt_op_add || op == &takt_op_sub ||
        (op == &takt_op_avg_pool && !n->attr[TAKT_POOL_COUNT_PAD].boolean))
        return true;
    if (op == &takt_op_div || op == &takt_op_conv || op == &takt_op_matmul)
        return second && !first;
    return op == &takt_op_mul && (first || second);
}

/* The kernel's error, from the op's record. */
static void set_error(const takt_recheck *k, const takt_node *n, takt_check_node *c)
{
    const takt_grid grid = takt_grid_of(n->type[0].dtype);
    if (k->is_real)
        return;
    c->share = n->op->error.ulps * grid.ulp;
    c->tiny = n->op->error.ulps > 0 ? grid.tiny * fmax(n->op->error.ulps, 1) : 0;
    if (n->op->error.roundings != NULL) {
        c->gamma = takt_grid_gamma(n->type[0].dtype, n->op->error.roundings(k->graph, n));
        c->tiny += 0x1p-120;
    }
}

static takt_status classify(takt_recheck *k, uint32_t id)
{
    const takt_node *n = &k->graph->nodes[id];
    takt_check_node *c = &k->nodes[id];
    c->count = size_of(&n->type[0]);
    if (is_known(k, n)) {
        TAKT_TRY(evaluate(k, n, &c->known));
        c->kind = TAKT_CHECK_KNOWN;
        return TAKT_OK;
    }
    if (n->type[0].dtype != TAKT_F32 && n->type[0].dtype != TAKT_F64)
        return refuse(k, n);
    if (n->op == &takt_op_input)
        c->kind = TAKT_CHECK_INPUT;
    else if (n->op == &takt_op_max_pool && n->out_count == 1)
        c->kind = TAKT_CHECK_MAX;
    else if (n->op == &takt_op_relu || n->op == &takt_op_sigmoid)
        c->kind = n->op == &takt_op_relu ? TAKT_CHECK_RELU : TAKT_CHECK_SIGMOID;
    else if (is_linear(k, n))
        c->kind = TAKT_CHECK_LINEAR;
    else
        return refuse(k, n);
    if (c->kind >= TAKT_CHECK_MAX) {
        c->source = n->in[0];
        k->nodes[n->in[0]].is_read = true;
    }
    if (c->kind != TAKT_CHECK_INPUT)
        set_error(k, n, c);
    double **each[] = {&c->lo,        &c->hi,     &c->error,      &c->row,
                       &c->low_slope, &c->low_at, &c->high_slope, &c->high_at};
    if (c->kind == TAKT_CHECK_MAX) {
        c->from = takt_arena_array(&k->arena, c->count, sizeof *c->from);
        if (c->from == NULL)
            return TAKT_ERR_MEMORY;
    }
    for (size_t i = 0; i < (c->kind >= TAKT_CHECK_MAX ? 8U : 4U); i++) {
        *each[i] = takt_arena_array(&k->arena, c->count, sizeof(double));
        if (*each[i] == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

/* The most runs that an element has: a window's taps. */
static size_t runs_of(const takt_recheck *k, const takt_node *n)
{
    size_t count = 2;
    if (n->op == &takt_op_conv)
        count = size_of(type_of(k, n->in[1]));
    const bool is_pool = n->op == &takt_op_avg_pool || n->op == &takt_op_max_pool;
    for (uint32_t i = 0; is_pool && i < n->attr[TAKT_POOL_KERNEL].count; i++)
        count *= (size_t)n->attr[TAKT_POOL_KERNEL].i64s[i];
    return count;
}

takt_status takt_recheck_read(takt_recheck *k)
{
    const takt_graph *g = k->graph;
    double elements = 0;
    k->nodes = takt_arena_array(&k->arena, g->count, sizeof *k->nodes);
    unsigned char *live = takt_arena_array(&k->arena, g->count, 1);
    if (k->nodes == NULL || live == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_live(g, live);
    for (size_t i = 0; i < g->input_count; i++)
        live[g->inputs[i].id] = 1;
    for (size_t i = 0; i < g->count; i++) {
        if (!live[i])
            continue;
        TAKT_TRY(classify(k, (uint32_t)i));
        elements += k->nodes[i].kind == TAKT_CHECK_KNOWN ? 0 : (double)k->nodes[i].count;
        const size_t room = runs_of(k, &g->nodes[i]);
        k->run_room = room > k->run_room ? room : k->run_room;
    }
    k->runs = takt_arena_array(&k->arena, k->run_room, sizeof *k->runs);
    for (size_t i = 0; i < g->input_count; i++)
        k->input_count += k->nodes[g->inputs[i].id].count;
    for (size_t i = 0; i < g->output_count; i++) {
        if (k->nodes[g->outputs[i].id].kind == TAKT_CHECK_KNOWN)
            return refuse(k, &g->nodes[g->outputs[i].id]);
        k->output_count += k->nodes[g->outputs[i].id].count;
    }
    k->lo = takt_arena_array(&k->arena, k->input_count, sizeof *k->lo);
    k->hi = takt_arena_array(&k->arena, k->input_count, sizeof *k->hi);
    /* Sums have at most this many terms; each term is rounded a few times. */
    k->slack = (elements + 16) * 0x1p-50;
    return k->runs == NULL || k->lo == NULL || k->hi == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
}

void takt_recheck_release(takt_recheck *k)
{
    for (size_t i = 0; k->nodes != NULL && i < k->graph->count; i++)
        if (k->nodes[i].known.count > 0)
            takt_array_release(k->ctx, &k->nodes[i].known);
    takt_arena_deinit(&k->arena);
}

/* ---- sums ---- */

/* Coordinates of element j. */
static void unravel(const takt_type *t, size_t j, size_t *at)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        at[i] = j % (size_t)t->dim[i];
        j /= (size_t)t->dim[i];
    }
}

/* The element of `t` at the last coordinates of `at`, axes of size 1 being repeated. */
static size_t ravel(const takt_type *t, const size_t *at, int rank)
{
    size_t flat = 0;
    for (int i = 0; i < t->rank; i++)
        flat = flat * (size_t)t->dim[i] + (t->dim[i] == 1 ? 0 : at[rank - t->rank + i]);
    return flat;
}

static size_t element_wise(takt_recheck *k, const takt_node *n, size_t j, double *bias)
{
    size_t at[TAKT_MAX_RANK], count = 0;
    unravel(&n->type[0], j, at);
    const bool is_sum = n->op == &takt_op_add || n->op == &takt_op_sub;
    double factor = n->op == &takt_op_neg ? -1 : 1;
    for (uint32_t i = 0; i < n->in_count; i++) {
        const takt_check_node *c = &k->nodes[n->in[i]];
        const size_t flat = ravel(type_of(k, n->in[i]), at, n->type[0].rank);
        const double sign = n->op == &takt_op_sub && i == 1 ? -1 : 1;
        if (c->kind != TAKT_CHECK_KNOWN)
            k->runs[count++] =
                (takt_run){.node = n->in[i], .first = flat, .count = 1, .factor = sign};
        else if (is_sum)
            *bias += sign * c->known.f[flat];
        else
            factor = n->op == &takt_op_div ? 1 / c->known.f[flat] : c->known.f[flat];
    }
    for (size_t i = 0; i < count && !is_sum; i++)
        k->runs[i].factor = factor;
    return count;
}

static size_t transposed(takt_recheck *k, const takt_node *n, size_t j)
{
    const takt_type *x = type_of(k, n->in[0]);
    size_t at[TAKT_MAX_RANK], from[TAKT_MAX_RANK];
    const takt_attr *perm = &n->attr[0];
    unravel(&n->type[0], j, at);
    for (int i = 0; i < x->rank; i++)
        from[perm->count > 0 ? perm->i64s[i] : x->rank - 1 - i] = at[i];
    size_t flat = 0;
    for (int i = 0; i < x->rank; i++)
        flat = flat * (size_t)x->dim[i] + from[i];
    k->runs[0] = (takt_run){.node = n->in[0], .first = flat, .count = 1, .factor = 1};
    return 1;
}

/* Distance of neighbours along an axis. */
static size_t stride_of(const takt_type *t, int axis)
{
    size_t step = 1;
    for (int i = axis + 1; i < t->rank; i++)
        step *= (size_t)t->dim[i];
    return step;
}

static size_t product(takt_recheck *k, const takt_node *n, size_t j)
{
    const takt_type *x = type_of(k, n->in[0]), *w = type_of(k, n->in[1]), *y = &n->type[0];
    const takt_matrix m = takt_matrix_of(x->rank, w->rank, n->attr[0].boolean, n->attr[1].boolean);
    size_t at[TAKT_MAX_RANK], first = 0, from = 0;
    unravel(y, j, at);
    const int batch = m.a_batch > m.b_batch ? m.a_batch : m.b_batch;
    for (int i = 0; i < m.a_batch; i++)
        first += (x->dim[i] == 1 ? 0 : at[batch - m.a_batch + i]) * stride_of(x, i);
    for (int i = 0; i < m.b_batch; i++)
        from += (w->dim[i] == 1 ? 0 : at[batch - m.b_batch + i]) * stride_of(w, i);
    if (m.a_row >= 0)
        first += at[batch] * stride_of(x, m.a_row);
    if (m.b_column >= 0)
        from += at[y->rank - 1] * stride_of(w, m.b_column);
    const size_t inner = (size_t)x->dim[m.a_inner];
    const double *transposed = k->nodes[n - k->graph->nodes].transposed;
    k->runs[0] = (takt_run){.node = n->in[0],
                            .first = first,
                            .step = stride_of(x, m.a_inner),
                            .count = inner,
                            .stride = transposed != NULL ? 1 : stride_of(w, m.b_inner),
                            .w = transposed != NULL ? transposed + from * inner
                                                    : k->nodes[n->in[1]].known.f + from};
    return 1;
}

/* The beginning of the window of output position `at` (spatial axes), per axis; may be negative. */
typedef struct geometry {
    int spatial, first, channel;
    int64_t stride[3], dilation[3], pad[3], kernel[3];
} geometry;

static int64_t entry(const takt_attr *a, int i, int64_t fallback)
{
    return a->count > (uint32_t)i ? a->i64s[i] : fallback;
}

/* conv: stride, dilation, pad, groups, layout; pools: kernel, stride, dilation, pad, layout. */
static geometry geometry_of(const takt_node *n, int rank)
{
    const bool is_conv = n->op == &takt_op_conv;
    const takt_attr *a = n->attr;
    const int layout = is_conv ? TAKT_CONV_LAYOUT : TAKT_POOL_LAYOUT;
    geometry g = {.spatial = rank - 2};
    g.first = a[layout].i64 == TAKT_NHWC ? 1 : 2;
    g.channel = a[layout].i64 == TAKT_NHWC ? rank - 1 : 1;
    for (int i = 0; i < g.spatial; i++) {
        g.stride[i] = entry(&a[is_conv ? TAKT_CONV_STRIDE : TAKT_POOL_STRIDE], i, 1);
        g.dilation[i] = entry(&a[is_conv ? TAKT_CONV_DILATION : TAKT_POOL_DILATION], i, 1);
        g.pad[i] = entry(&a[is_conv ? TAKT_CONV_PAD : TAKT_POOL_PAD], i, 0);
        g.kernel[i] = is_conv ? 1 : a[TAKT_POOL_KERNEL].i64s[i];
    }
    return g;
}

/* Tap `tap` (row-major over the kernel) of output `at`: the element of x without its channel; false
 * in the padding. */
static bool tap_at(const geometry *g, const takt_type *x, const size_t *at, size_t tap,
                   size_t *flat)
{
    *flat = at[0] * stride_of(x, 0);
    for (int i = g->spatial - 1; i >= 0; i--) {
        const int64_t t = (int64_t)(tap % (size_t)g->kernel[i]);
        const int64_t from =
            (int64_t)at[g->first + i] * g->stride[i] + t * g->dilation[i] - g->pad[i];
        tap /= (size_t)g->kernel[i];
        if (from < 0 || from >= x->dim[g->first + i])
            return false;
        *flat += (size_t)from * stride_of(x, g->first + i);
    }
    return true;
}

static size_t convolution(takt_recheck *k, const takt_node *n, size_t j)
{
    const takt_type *x = type_of(k, n->in[0]), *w = type_of(k, n->in[1]);
    geometry g = geometry_of(n, x->rank);
    size_t at[TAKT_MAX_RANK], taps = 1, count = 0, flat;
    unravel(&n->type[0], j, at);
    for (int i = 0; i < g.spatial; i++) {
        g.kernel[i] = w->dim[g.first + i];
        taps *= (size_t)g.kernel[i];
    }
    const size_t depth = (size_t)w->dim[g.channel], out = at[g.channel];
    const size_t per_group = (size_t)w->dim[0] / (size_t)n->attr[TAKT_CONV_GROUPS].i64;
    const size_t tap_step = stride_of(w, g.first + g.spatial - 1);
    for (size_t t = 0; t < taps; t++) {
        if (!tap_at(&g, x, at, t, &flat))
            continue;
        k->runs[count++] =
            (takt_run){.node = n->in[0],
                       .first = flat + out / per_group * depth * stride_of(x, g.channel),
                       .step = stride_of(x, g.channel),
                       .count = depth,
                       .stride = stride_of(w, g.channel),
                       .w = k->nodes[n->in[1]].known.f + out * stride_of(w, 0) + t * tap_step};
    }
    return count;
}

/* The elements of a window, each with the same factor. */
static size_t window(takt_recheck *k, const takt_node *n, size_t j)
{
    const takt_type *x = type_of(k, n->in[0]);
    const geometry g = geometry_of(n, x->rank);
    size_t at[TAKT_MAX_RANK], taps = 1, count = 0, flat;
    unravel(&n->type[0], j, at);
    for (int i = 0; i < g.spatial; i++)
        taps *= (size_t)g.kernel[i];
    for (size_t t = 0; t < taps; t++)
        if (tap_at(&g, x, at, t, &flat))
            k->runs[count++] = (takt_run){.node = n->in[0],
                                          .first = flat + at[g.channel] * stride_of(x, g.channel),
                                          .count = 1};
    for (size_t i = 0; i < count; i++)
        k->runs[i].factor = n->op == &takt_op_avg_pool ? 1 / (double)count : 1;
    return count;
}

size_t takt_recheck_runs(takt_recheck *k, uint32_t id, size_t j, double *bias)
{
    const takt_node *n = &k->graph->nodes[id];
    const takt_check_node *c = &k->nodes[id];
    if (c->kept != NULL) {
        *bias = c->kept_bias[j];
        k->found = c->kept + TAKT_CHECK_KEPT * j;
        return c->kept_count[j];
    }
    *bias = 0;
    k->found = k->runs;
    if (n->op == &takt_op_matmul)
        return product(k, n, j);
    if (n->op == &takt_op_conv)
        return convolution(k, n, j);
    if (n->op == &takt_op_avg_pool || n->op == &takt_op_max_pool)
        return window(k, n, j);
    if (n->op == &takt_op_transpose)
        return transposed(k, n, j);
    if (n->op != &takt_op_reshape)
        return element_wise(k, n, j, bias);
    k->runs[0] = (takt_run){.node = n->in[0], .first = j, .count = 1, .factor = 1};
    return 1;
}
