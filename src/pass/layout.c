/* layout.c - convolutions and pools compute with channels last, whatever the model's layout.
 *
 * One sweep. A value may have two forms: the model's own, and one with channels last; each is made
 * on first use. A convolution or pool with channels first takes the second form of its operands and
 * makes the second form of its result. Later ops that do not depend on the order of axes
 * (element-wise operations, quantisation, concat, pad, slice, gather, reductions over space) are
 * computed on the second form too, so chains need no transposes inside; everything else takes the
 * first. An enlarged picture that nothing asks for with channels last is made in the model's own
 * form: what is transposed is then the small one. So is a pool of floats between nodes that need no
 * channels last.
 *
 * Sums keep their order: that of a convolution does not depend on the layout, and a reduction is
 * only moved if its axes keep theirs. So no bit changes. */
#include "pass/layout.h"
#include "op/util/conv.h"
#include "op/util/integer.h"
#include "op/util/pool.h"
#include "pass/match.h"
#include "pass/passes.h"

/* ---- forms of values ---- */

int64_t takt_layout_axis(int64_t axis, int rank)
{
    axis += axis < 0 ? rank : 0;
    return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

/* `x` with its axes in the order `perm`; a reshape if only axes of size 1 move. */
static takt_id permute(takt_graph *g, takt_id x, const int64_t *perm, int rank)
{
    if (x == TAKT_NONE)
        return TAKT_NONE;
    const takt_type *type = takt_type_of(g, x);
    takt_dim dims[TAKT_MAX_RANK];
    int64_t latest = -1;
    bool in_order = true;
    for (int d = 0; d < rank; d++) {
        dims[d] = type->dim[perm[d]];
        if (dims[d] == 1)
            continue;
        in_order = in_order && perm[d] > latest;
        latest = perm[d];
    }
    return in_order ? takt_reshape(g, x, dims, (size_t)rank)
                    : takt_transpose(g, x, perm, (size_t)rank);
}

static takt_id to_last(takt_graph *g, takt_id x, int rank)
{
    int64_t perm[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++)
        perm[takt_layout_axis(d, rank)] = d;
    return permute(g, x, perm, rank);
}

static takt_id to_first(takt_graph *g, takt_id x, int rank)
{
    int64_t perm[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++)
        perm[d] = takt_layout_axis(d, rank);
    return permute(g, x, perm, rank);
}

takt_id takt_layout_plain(takt_layout *l, takt_id id)
{
    if (id == TAKT_NONE)
        return TAKT_NONE;
    if (l->c.map[id] == TAKT_NONE)
        l->c.map[id] = to_first(l->c.out, l->last[id], takt_type_of(l->c.in, id)->rank);
    return l->c.map[id];
}

static takt_id operand(takt_layout *l, takt_id id, int rank);

/* A broadcast value is broadcast in the other form: its source is small. */
static takt_id spread_last(takt_layout *l, const takt_node *n)
{
    const int rank = n->type->rank;
    takt_dim dims[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++)
        dims[takt_layout_axis(d, rank)] = n->type->dim[d];
    return takt_broadcast(l->c.out, operand(l, n->in[0], rank), dims, (size_t)rank);
}

takt_id takt_layout_last(takt_layout *l, takt_id id)
{
    if (id == TAKT_NONE)
        return TAKT_NONE;
    const takt_node *n = &l->c.in->nodes[id];
    if (l->last[id] == TAKT_NONE)
        l->last[id] = n->op == &takt_op_broadcast
                          ? spread_last(l, n)
                          : to_last(l->c.out, l->c.map[id], takt_type_of(l->c.in, id)->rank);
    return l->last[id];
}

/* An operand that broadcasts against values of `rank` axes, for use against their other form. */
static takt_id operand(takt_layout *l, takt_id id, int rank)
{
    const takt_type *type = takt_type_of(l->c.in, id);
    takt_dim dims[TAKT_MAX_RANK];
    bool is_one = true;
    for (int d = 0; d < type->rank; d++)
        is_one = is_one && type->dim[d] == 1;
    if (type->rank == rank && !is_one)
        return takt_layout_last(l, id);
    if (is_one)
        return takt_layout_plain(l, id);
    for (int d = 0; d < rank; d++)
        dims[d] = d < rank - type->rank ? 1 : type->dim[d - (rank - type->rank)];
    return to_last(l->c.out, takt_reshape(l->c.out, takt_layout_plain(l, id), dims, (size_t)rank),
                   rank);
}

/* ---- nodes ---- */

void takt_layout_moved(takt_layout *l, takt_id id, const takt_id *in, const takt_attr *attr,
                       const char *law)
{
    const takt_node *n = &l->c.in->nodes[id];
    takt_graph_inherit(l->c.out, n);
    l->last[id] = takt_graph_append(l->c.out, n->op, n->in_count, in, attr);
    l->is_moved[id] = 1;
    takt_pass_fired(l->report, takt_pass_layout.name, law, n);
}

static bool has_window(const takt_op *op)
{
    const takt_op *const ops[] = {
        &takt_op_conv,        &takt_op_conv_dx,       &takt_op_conv_dw,
        &takt_op_max_pool,    &takt_op_avg_pool,      &takt_op_max_pool_dx,
        &takt_op_avg_pool_dx, &takt_op_max_pool_pick, &takt_op_integer_conv};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i] == op)
            return true;
    return false;
}

/* A pool of floats that is read, and whose operand was made, in the model's own form: backends have
 * kernels for it, and two transposes would take longer than the pool. */
static bool stays_first(const takt_layout *l, takt_id id, const takt_node *n)
{
    return (n->op == &takt_op_max_pool || n->op == &takt_op_avg_pool) &&
           n->type->dtype == TAKT_F32 && !l->is_asked[id] && l->last[n->in[0]] == TAKT_NONE;
}

/* Convolutions, pools and their gradients: operands, result and the shape attribute are permuted
 * alike. */
static bool window(takt_layout *l, takt_id id, const takt_node *n)
{
    const int rank = n->type->rank, at = takt_op_attr_index(n->op, "layout"),
              shape = takt_op_attr_index(n->op, "shape");
    if (!has_window(n->op) || n->attr[at].i64 != TAKT_NCHW || stays_first(l, id, n))
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_dim dims[TAKT_MAX_RANK];
    takt_id in[TAKT_INTEGER_ALL];
    takt_node_attrs(n, attrs);
    attrs[at] = takt_attr_i64(TAKT_NHWC);
    for (int d = 0; shape >= 0 && d < rank; d++)
        dims[takt_layout_axis(d, rank)] = n->attr[shape].dims[d];
    if (shape >= 0)
        attrs[shape] = takt_attr_shape(dims, (size_t)rank);
    for (uint32_t k = 0; k < n->in_count; k++) /* beyond two: vectors over channels */
        in[k] = k < 2 ? takt_layout_last(l, n->in[k]) : takt_layout_plain(l, n->in[k]);
    takt_layout_moved(l, id, in, attrs,
                      "conv(x) = transpose(conv(transpose(x))), channels last inside");
    /* A weight's gradient is combined with the weight and its optimiser's slots, which are not
     * moved. */
    l->is_moved[id] = n->op != &takt_op_conv_dw;
    return true;
}

/* Ops with a layout attribute and per-channel vectors, after a moved node. */
static bool normalise(takt_layout *l, takt_id id, const takt_node *n)
{
    const bool is_known = n->op == &takt_op_batch_norm || n->op == &takt_op_instance_norm ||
                          n->op == &takt_op_global_avg_pool || n->op == &takt_op_global_max_pool;
    const int at = is_known ? takt_op_attr_index(n->op, "layout") : -1;
    if (!is_known || n->attr[at].i64 != TAKT_NCHW)
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_id in[8];
    takt_node_attrs(n, attrs);
    attrs[at] = takt_attr_i64(TAKT_NHWC);
    in[0] = takt_layout_last(l, n->in[0]);
    for (uint32_t k = 1; k < n->in_count; k++)
        in[k] = takt_layout_plain(l, n->in[k]);
    takt_layout_moved(l, id, in, attrs,
                      "f(transpose(x)) = transpose(f(x)) for a function of channels");
    return true;
}

static bool elementwise(takt_layout *l, takt_id id, const takt_node *n)
{
    if ((n->op->traits & TAKT_ELEMENTWISE) == 0 || n->in_count > TAKT_LAYOUT_MOST ||
        n->out_count != 1)
        return false;
    takt_id in[TAKT_LAYOUT_MOST];
    for (uint32_t k = 0; k < n->in_count; k++) {
        if (n->in[k] == TAKT_NONE)
            return false;
        in[k] = operand(l, n->in[k], n->type->rank);
    }
    takt_layout_moved(l, id, in, n->attr, "f(transpose(x)) = transpose(f(x))");
    return true;
}

/* The axes of a reduction where channels come last, ascending; 0: they would change their order. */
static size_t moved_axes(const takt_attr *axes, int rank, int64_t *out)
{
    bool is_reduced[TAKT_MAX_RANK] = {0}, channel = false, space = false;
    for (uint32_t i = 0; i < axes->count; i++) {
        const int64_t axis = axes->i64s[i] < 0 ? axes->i64s[i] + rank : axes->i64s[i];
        channel = channel || axis == 1;
        space = space || axis > 1;
        is_reduced[takt_layout_axis(axis, rank)] = true;
    }
    size_t count = 0;
    for (int d = 0; d < rank && !(channel && space); d++)
        if (is_reduced[d])
            out[count++] = d;
    return count;
}

/* Without `keep` the remaining axes are put in the model's order at once. */
static takt_id remaining(takt_layout *l, takt_id x, const int64_t *axes, size_t count, int rank)
{
    int64_t order[TAKT_MAX_RANK], perm[TAKT_MAX_RANK];
    int left = 0;
    for (int d = 0; d < rank; d++) { /* the position of the model's axis d among the remaining
                                      * ones */
        const int64_t at = takt_layout_axis(d, rank);
        int64_t before = 0;
        bool is_reduced = false;
        for (size_t i = 0; i < count; i++) {
            before += axes[i] < at;
            is_reduced = is_reduced || axes[i] == at;
        }
        if (!is_reduced)
            order[left++] = at - before;
    }
    for (int d = 0; d < left; d++)
        perm[d] = order[d];
    return permute(l->c.out, x, perm, left);
}

static bool reduction(takt_layout *l, takt_id id, const takt_node *n)
{
    const int at = takt_op_attr_index(n->op, "axes"), keep = takt_op_attr_index(n->op, "keep");
    if ((n->op->traits & TAKT_REDUCES) == 0 || at < 0 || keep < 0 || n->in_count != 1)
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    int64_t axes[TAKT_MAX_RANK];
    const int rank = takt_type_of(l->c.in, n->in[0])->rank;
    const size_t count = moved_axes(&n->attr[at], rank, axes);
    if (count == 0)
        return false;
    takt_node_attrs(n, attrs);
    attrs[at] = takt_attr_i64s(axes, count);
    takt_layout_moved(l, id, (const takt_id[]){takt_layout_last(l, n->in[0])}, attrs,
                      "reduce(transpose(x)) = transpose(reduce(x)) if the axes keep their order");
    if (n->attr[keep].boolean)
        return true;
    l->c.map[id] = remaining(l, l->last[id], axes, count, rank);
    l->last[id] = TAKT_NONE;
    l->is_moved[id] = 0;
    return true;
}

/* ---- the sweep ---- */

/* Some operand of full rank was computed with channels last. */
static bool follows(const takt_layout *l, const takt_node *n)
{
    if (n->in_count == 0 || n->out_count != 1)
        return false;
    const bool shrinks = (n->op->traits & TAKT_REDUCES) != 0;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && l->is_moved[n->in[k]] &&
            (shrinks || takt_type_of(l->c.in, n->in[k])->rank == n->type->rank))
            return true;
    return false;
}

static takt_status visit(takt_layout *l, takt_id id)
{
    const takt_node *n = &l->c.in->nodes[id];
    takt_graph_inherit(l->c.out, n);
    l->c.out->next_name = NULL; /* the name is for the node, not for what its operands need */
    if (!window(l, id, n) && !takt_layout_shuffle(l, id, n) &&
        (!follows(l, n) || !(elementwise(l, id, n) || normalise(l, id, n) ||
                             takt_layout_move(l, id, n) || reduction(l, id, n)))) {
        for (uint32_t k = 0; k < n->in_count; k++)
            l->c.inputs[k] = takt_layout_plain(l, n->in[k]);
        takt_graph_inherit(l->c.out, n);
        l->c.map[id] = takt_graph_copy_node(l->c.out, n, l->c.inputs);
    }
    return l->c.out->status;
}

/* Outputs and next values are the model's: they take the first form. */
static void ports(takt_layout *l)
{
    const takt_graph *in = l->c.in;
    for (size_t i = 0; i < in->output_count; i++)
        (void)takt_layout_plain(l, in->outputs[i].id);
    for (size_t i = 0; i < in->slot_count; i++)
        if (in->slots[i].next != TAKT_NONE)
            (void)takt_layout_plain(l, in->slots[i].next);
    for (size_t i = 0; i < in->check_count; i++)
        (void)takt_layout_plain(l, in->checks[i].id);
}

static takt_status run(const takt_graph *in, const takt_pass_given *given, takt_pass_report *report,
                       takt_graph **out)
{
    (void)given;
    takt_layout l = {.report = report};
    takt_status status = takt_copier_init(&l.c, in);
    if (status == TAKT_OK) {
        l.last = takt_arena_array(&l.c.arena, in->count, sizeof *l.last);
        l.is_moved = takt_arena_array(&l.c.arena, in->count, 1);
        l.is_asked = takt_arena_array(&l.c.arena, in->count, 1);
        status = l.last == NULL || l.is_moved == NULL || l.is_asked == NULL
                     ? TAKT_ERR_MEMORY
                     : takt_graph_begin_copy(in, l.c.out, l.c.map);
    }
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++)
        l.last[i] = TAKT_NONE;
    if (status == TAKT_OK)
        takt_layout_ask(&l);
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++)
        if (l.c.live[i] && l.c.map[i] == TAKT_NONE)
            status = visit(&l, (takt_id)i);
    if (status == TAKT_OK) {
        ports(&l);
        status = l.c.out->status;
    }
    return takt_copier_done(&l.c, status, out);
}

const takt_pass takt_pass_layout = {
    .name = "layout",
    .summary = "compute convolutions and what follows them with channels last",
    .run = run,
};
