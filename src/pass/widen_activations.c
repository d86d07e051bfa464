/* widen_activations.c - values in 16 bits between products are f32 that were rounded to 16 bits.
 *
 * Products of f16 and bf16 are computed in f32 and rounded once, and so is arithmetic after them.
 * Left in 16 bits each value would be narrowed to memory and widened again by the next step. Here
 * a value is kept as the f32 that its reader would see: `widen(round(y))`, a pair of casts that is
 * fused into the step of y like any other arithmetic. Every rounding stays, so no bit changes.
 * What computes nothing, or only chooses among values, needs no rounding. */
#include "op/ops.h"
#include "op/util/formula.h"
#include "pass/copier.h"
#include "pass/match.h"
#include "pass/passes.h"

typedef struct widening {
    takt_copier c;
    takt_id *wide; /* per node of `in`: its value in f32, or TAKT_NONE */
    takt_pass_report *report;
} widening;

static bool is_half(takt_dtype dtype)
{
    return dtype == TAKT_F16 || dtype == TAKT_BF16;
}

static bool is_one_of(const takt_op *op, const takt_op *const *ops, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || op == ops[i];
    return found;
}

/* They sum in f32 and round once. */
static bool is_product(const takt_op *op)
{
    static const takt_op *const ops[] = {&takt_op_conv, &takt_op_conv_dx, &takt_op_matmul};
    return is_one_of(op, ops, sizeof ops / sizeof *ops);
}

/* Each element of the result is one of the operands', or its magnitude. */
static bool is_exact(const takt_op *op)
{
    static const takt_op *const ops[] = {
        &takt_op_relu,   &takt_op_max,      &takt_op_min,       &takt_op_abs,   &takt_op_neg,
        &takt_op_select, &takt_op_reshape,  &takt_op_transpose, &takt_op_slice, &takt_op_concat,
        &takt_op_pad,    &takt_op_max_pool, &takt_op_broadcast, &takt_op_gather};
    return is_one_of(op, ops, sizeof ops / sizeof *ops);
}

/* Sums are rounded once, as products are. */
static bool is_sum(const takt_op *op)
{
    return op == &takt_op_reduce_sum || op == &takt_op_avg_pool;
}

/* `id` of the new graph in f32. Constants are widened before they are moved: the steps of
 * convolutions would otherwise keep such weights in 16 bits, for which they have fewer kernels. */
static takt_id widened(takt_graph *g, takt_id id)
{
    const takt_node n = g->nodes[id]; /* a copy: the graph grows */
    const bool moves = n.op == &takt_op_transpose || n.op == &takt_op_reshape;
    if (!moves || !takt_match_is_fixed(g, id))
        return takt_cast(g, id, TAKT_F32);
    const takt_id in = widened(g, n.in[0]);
    return takt_graph_append(g, n.op, 1, &in, n.attr);
}

static bool is_wide(const widening *w, takt_id id)
{
    return id != TAKT_NONE && w->wide[id] != TAKT_NONE;
}

/* The value in its own type. */
static takt_id narrow(widening *w, takt_id id)
{
    takt_id *made = &w->c.map[id];
    if (*made == TAKT_NONE && is_wide(w, id))
        *made = takt_cast(w->c.out, w->wide[id], w->c.in->nodes[id].type->dtype);
    return *made;
}

/* Input k as f32; others than those of 16 bits as they are. */
static takt_id input(widening *w, const takt_node *n, uint32_t k)
{
    const takt_id id = n->in[k];
    if (id == TAKT_NONE)
        return TAKT_NONE;
    if (is_wide(w, id))
        return w->wide[id];
    if (!is_half(w->c.in->nodes[id].type->dtype))
        return w->c.map[id];
    takt_graph *g = w->c.out;
    const bool is_weight = k == 1 && (n->op == &takt_op_conv || n->op == &takt_op_conv_dx);
    return is_weight ? widened(g, w->c.map[id]) : takt_cast(g, w->c.map[id], TAKT_F32);
}

static takt_id append(widening *w, const takt_node *n)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    const int added = n->op == &takt_op_pad ? takt_op_attr_index(n->op, "value") : -1;
    for (uint32_t k = 0; k < n->in_count; k++)
        w->c.inputs[k] = input(w, n, k);
    takt_node_attrs(n, attrs);
    if (added >= 0) /* elements of 16 bits, too */
        attrs[added].f64 = takt_dtype_round(n->type->dtype, attrs[added].f64);
    takt_graph_inherit(w->c.out, n);
    return takt_graph_append(w->c.out, n->op, n->in_count, w->c.inputs, attrs);
}

/* The other operands of arithmetic are widened as they are read; joined or moved values must be f32
 * already, since widening them would be a step. */
static bool reads_wide(const widening *w, const takt_node *n)
{
    const bool is_any = (n->op->traits & TAKT_ELEMENTWISE) != 0;
    const uint32_t count = n->op == &takt_op_concat || is_any ? n->in_count : 1;
    bool any = false, all = count > 0;
    for (uint32_t k = 0; k < count; k++) {
        any = any || is_wide(w, n->in[k]);
        all = all && is_wide(w, n->in[k]);
    }
    return is_any ? any : all;
}

static takt_id rounded(widening *w, takt_id id, takt_dtype dtype)
{
    return takt_cast(w->c.out, takt_cast(w->c.out, id, dtype), TAKT_F32);
}

static void visit_cast(widening *w, takt_id id, const takt_node *n)
{
    const takt_id in = n->in[0];
    const takt_dtype to = n->type->dtype, from = w->c.in->nodes[in].type->dtype;
    if (is_half(to) && from == TAKT_F32 && !takt_match_is_fixed(w->c.in, in))
        w->wide[id] = rounded(w, w->c.map[in], to);
    else if (is_wide(w, in) && to == TAKT_F32)
        w->c.map[id] = w->wide[in];
    else if (is_wide(w, in) && !is_half(to))
        w->c.map[id] = append(w, n);
}

/* Leaves both replacements open where the node stays as it is. */
static void visit(widening *w, takt_id id, const takt_node *n)
{
    static const char law[] = "round(f(x)) = round(f(widen(x))), kept as f32";
    const bool is_map = (n->op->traits & TAKT_ELEMENTWISE) != 0;
    takt_graph_inherit(w->c.out, n);
    if (n->op == &takt_op_cast) {
        visit_cast(w, id, n);
        return;
    }
    if (n->out_count != 1 || n->in_count == 0)
        return;
    const bool is_predicate = is_map && n->type->dtype == TAKT_BOOL;
    if (is_predicate && reads_wide(w, n))
        w->c.map[id] = append(w, n);
    if (!is_half(n->type->dtype))
        return;
    const bool is_known = is_map || is_exact(n->op) || is_sum(n->op);
    if (!is_product(n->op) && !(is_known && reads_wide(w, n)))
        return;
    const takt_id made = append(w, n);
    w->wide[id] = is_exact(n->op) ? made : rounded(w, made, n->type->dtype);
    takt_pass_fired(w->report, takt_pass_widen_activations.name, law, n);
}

static void copy(widening *w, takt_id id, const takt_node *n)
{
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE)
            (void)narrow(w, n->in[k]);
    const takt_node same = takt_copier_node(&w->c, id);
    w->c.map[id] = takt_graph_append(w->c.out, same.op, same.in_count, same.in, same.attr);
}

static void narrow_results(widening *w)
{
    const takt_graph *in = w->c.in;
    for (size_t i = 0; i < in->output_count; i++)
        (void)narrow(w, in->outputs[i].id);
    for (size_t i = 0; i < in->check_count; i++)
        (void)narrow(w, in->checks[i].id);
    for (size_t i = 0; i < in->slot_count; i++)
        if (in->slots[i].next != TAKT_NONE)
            (void)narrow(w, in->slots[i].next);
}

static takt_status run(const takt_graph *in, const takt_pass_given *given, takt_pass_report *report,
                       takt_graph **out)
{
    widening w = {.report = report};
    (void)given;
    takt_status status = takt_copier_init(&w.c, in);
    if (status == TAKT_OK) {
        w.wide = takt_arena_array(&w.c.arena, in->count, sizeof *w.wide);
        status = w.wide == NULL ? TAKT_ERR_MEMORY : takt_graph_begin_copy(in, w.c.out, w.c.map);
    }
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++)
        w.wide[i] = TAKT_NONE;
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++) {
        if (!w.c.live[i] || w.c.map[i] != TAKT_NONE)
            continue;
        visit(&w, (takt_id)i, &in->nodes[i]);
        if (w.c.map[i] == TAKT_NONE && w.wide[i] == TAKT_NONE)
            copy(&w, (takt_id)i, &in->nodes[i]);
        status = w.c.out->status;
    }
    if (status == TAKT_OK)
        narrow_results(&w);
    return takt_copier_done(&w.c, status, out);
}

bool takt_widen_activations_suits(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (is_product(g->nodes[i].op) && is_half(g->nodes[i].type->dtype))
            return true;
    return false;
}

const takt_pass takt_pass_widen_activations = {
    .name = "widen-activations",
    .summary = "keep values of 16 bits between products as f32, rounded",
    .run = run,
};
