/* prune_importance.c - the value of channels, and of single weights. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "op/ops.h"
#include "pass/copier.h"
#include "shrink/prune.h"

/* ---- sets of channels ---- */

/* Adds f of every element of a leaf to the set that its index along `axis` belongs to. */
static void add_leaf(takt_pruning *p, takt_axis_ref at, const takt_tensor *t)
{
    const takt_type *type = &t->type;
    size_t inner = 1;
    for (int d = at.axis + 1; d < type->rank; d++)
        inner *= (size_t)type->dim[d];
    for (size_t i = 0; i < takt_tensor_count(t); i++) {
        const double v = takt_dtype_get_f(type->dtype, takt_tensor_data(t), i);
        const uint32_t index = (uint32_t)(i / inner % (size_t)type->dim[at.axis]);
        p->importance[takt_groups_unit(&p->sets, at, index)] += v * v;
    }
}

/* Whether this leaf is the scale of a batch normalisation. */
static bool is_scale(const takt_pruning *p, takt_id id)
{
    const takt_node *nodes = p->sets.nodes;
    for (const takt_id *user = p->sets.users[id]; *user != TAKT_NONE; user++)
        if (nodes[*user].op == &takt_op_batch_norm && nodes[*user].in[1] == id)
            return true;
    return false;
}

static bool counts(const takt_pruning *p, takt_id id, bool by_scale)
{
    const takt_node *n = &p->sets.nodes[id];
    if ((n->op != &takt_op_constant && n->op != &takt_op_state) ||
        !takt_dtype_is_float(n->type->dtype))
        return false;
    return by_scale ? is_scale(p, id) : n->type->rank >= 2;
}

static bool judge_group(takt_pruning *p, const takt_prune_group *group, bool by_scale)
{
    bool any = false;
    for (size_t k = 0; k < group->axes; k++) {
        const takt_axis_ref at = p->sets.axes[group->axis + k].at;
        const takt_tensor *value =
            counts(p, at.node, by_scale) ? takt_prune_value(p, at.node) : NULL;
        if (value != NULL)
            add_leaf(p, at, value);
        any = any || value != NULL;
    }
    return any;
}

takt_status takt_prune_judge(takt_pruning *p)
{
    const char *word = p->o.criterion != NULL ? p->o.criterion : "magnitude";
    const bool by_scale = strcmp(word, "bn") == 0;
    if (strcmp(word, "taylor") == 0)
        return takt_prune_taylor(p);
    if (!by_scale && strcmp(word, "magnitude") != 0) {
        takt_fail(p->ctx, TAKT_E_OPTION, "there is no criterion %s", word);
        return takt_fail_hint(p->ctx, "magnitude, bn or taylor");
    }
    bool has_scale = false;
    for (size_t i = 0; i < p->group_count; i++) { /* without a batch norm the weights decide */
        if (!p->groups[i].is_start)
            continue;
        if (by_scale && judge_group(p, &p->groups[i], true))
            has_scale = true;
        else
            judge_group(p, &p->groups[i], false);
    }
    if (has_scale || !by_scale || p->group_count == 0)
        return TAKT_OK;
    takt_fail(p->ctx, TAKT_E_SHRINK_NOTHING, "bn judges by batch norms, and the model has none");
    return takt_fail_hint(p->ctx, "judge by the weights: magnitude (--criterion magnitude)");
}

/* ---- single weights ---- */

static bool is_weight(const takt_graph *g, const unsigned char *live, takt_id id)
{
    const takt_node *n = &g->nodes[id];
    return live[id] && (n->op == &takt_op_constant || n->op == &takt_op_state) &&
           n->type->rank >= 2 && n->type->dtype == TAKT_F32;
}

/* The magnitude below which the fraction `amount` of a tensor's weights are, to a part in 2^30. */
static double threshold(const takt_tensor *t, double amount)
{
    const float *w = takt_tensor_data(t);
    const size_t count = takt_tensor_count(t), wanted = (size_t)(amount * (double)count);
    double low = 0, high = 0;
    /* Not fmax: gcc 12 for aarch64 fails on that with an internal error. */
    for (size_t i = 0; i < count; i++)
        high = fabs((double)w[i]) > high ? fabs((double)w[i]) : high;
    for (int step = 0; step < 30; step++) {
        const double middle = (low + high) / 2;
        size_t below = 0;
        for (size_t i = 0; i < count; i++)
            below += fabs((double)w[i]) < middle;
        *(below <= wanted ? &low : &high) = middle;
    }
    return low;
}

static takt_status zeroed(takt_pruning *p, const takt_tensor *from, takt_tensor *to)
{
    const double cut = threshold(from, p->o.amount);
    const float *w = takt_tensor_data(from);
    TAKT_TRY(takt_tensor_create(p->ctx, &from->type, to));
    float *out = takt_tensor_data(to);
    for (size_t i = 0; i < takt_tensor_count(from); i++) {
        const bool goes = fabs((double)w[i]) < cut;
        out[i] = goes ? 0 : w[i];
        p->summary.zeros += goes;
    }
    return TAKT_OK;
}

static takt_status zero_leaf(takt_pruning *p, takt_copier *c, takt_id id, const takt_slot *slot)
{
    takt_tensor t;
    const takt_tensor *value = takt_prune_value(p, id);
    if (value == NULL)
        return TAKT_OK;
    TAKT_TRY(zeroed(p, value, &t));
    const takt_init init = {.kind = TAKT_INIT_TENSOR, .tensor = &t};
    takt_graph_inherit(c->out, &c->in->nodes[id]);
    c->map[id] = slot != NULL
                     ? takt_graph_slot(c->out, slot->name, &slot->type, &init, slot->is_trainable)
                     : takt_graph_constant(c->out, &t);
    takt_tensor_release(&t);
    return c->out->status;
}

static takt_status zero_edges(takt_pruning *p, takt_copier *c)
{
    const takt_graph *in = c->in;
    for (size_t i = 0; i < in->input_count; i++)
        c->map[in->inputs[i].id] =
            takt_graph_input(c->out, in->inputs[i].name, takt_type_of(in, in->inputs[i].id));
    for (size_t i = 0; i < in->slot_count; i++) {
        const takt_slot *s = &in->slots[i];
        if (is_weight(in, c->live, s->value) && s->next == TAKT_NONE)
            TAKT_TRY(zero_leaf(p, c, s->value, s));
        if (c->map[s->value] == TAKT_NONE)
            c->map[s->value] =
                takt_graph_slot(c->out, s->name, &s->type, &s->init, s->is_trainable);
    }
    return c->out->status;
}

static takt_status no_weight(const takt_pruning *p)
{
    takt_fail(p->ctx, TAKT_E_SHRINK_NOTHING, "no weight can be set to zero");
    return takt_fail_hint(p->ctx, "weights are parameters or constants of f32 with two axes or "
                                  "more: ask for a larger amount (--amount), or for channels "
                                  "(--structured channels)");
}

takt_status takt_prune_zeros(takt_pruning *p)
{
    takt_copier c;
    const takt_graph *g = p->model->graph;
    takt_status status = takt_copier_init(&c, g);
    if (status == TAKT_OK)
        status = zero_edges(p, &c);
    for (size_t i = 0; status == TAKT_OK && i < g->count; i++) {
        if (!c.live[i] || c.map[i] != TAKT_NONE)
            continue;
        if (is_weight(g, c.live, (takt_id)i)) {
            status = zero_leaf(p, &c, (takt_id)i, NULL);
            continue;
        }
        const takt_node n = takt_copier_node(&c, (takt_id)i);
        c.map[i] = takt_graph_copy_node(c.out, &n, n.in);
        status = c.out->status;
    }
    if (status == TAKT_OK && p->summary.zeros == 0)
        status = no_weight(p);
    return takt_copier_done(&c, status, &p->pruned);
}
