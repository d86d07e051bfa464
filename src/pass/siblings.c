/* siblings.c - narrow 1x1 convolutions of one value become one, and so do the nodes after them.
 *
 * The heads of detectors have this form: each has a few channels, which fill no panel of weights,
 * and each reads all of x. With a bias, the depthwise convolution that is the only reader of each,
 * and its bias, they are computed side by side and split at the end. Every element is the same sum
 * as before, so no bit changes. */
#include <string.h>

#include "op/util/conv.h"
#include "pass/copier.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { NARROW = 16 }; /* channels that fill a panel of weights by themselves */
enum { MOST = 16 };   /* convolutions that are joined */
enum { CONV, BIAS, DEPTHWISE, DEPTHWISE_BIAS, STAGES };

typedef struct family {
    takt_copier c;
    takt_pass_report *report;
    uint32_t *uses;  /* by live nodes, outputs and next values */
    takt_id *user;   /* the last node that reads it */
    takt_id *first;  /* of the narrow convolutions that read it */
    takt_id *sister; /* of such a convolution: the next that reads the same */
    unsigned char *is_done;
} family;

/* One of the convolutions to be joined, and its followers. */
typedef struct member {
    takt_id node[STAGES], fixed[STAGES]; /* a stage's node, and its weights or bias */
    int64_t channels;
} member;

/* ---- what can be joined ---- */

/* Known before the first run, and not stored in another type, which the backend would read. */
static bool is_fixed(const takt_graph *g, takt_id id)
{
    if (!takt_match_is_fixed(g, id))
        return false;
    while (g->nodes[id].op == &takt_op_reshape || g->nodes[id].op == &takt_op_transpose)
        id = g->nodes[id].in[0];
    return g->nodes[id].op != &takt_op_cast && g->nodes[id].op != &takt_op_dequantize;
}

static bool same_list(const takt_attr *a, const takt_attr *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->i64s, b->i64s, a->count * sizeof *a->i64s) == 0);
}

static bool same_window(const takt_graph *g, takt_id a, takt_id b)
{
    const takt_attr *x = g->nodes[a].attr, *y = g->nodes[b].attr;
    const takt_type *v = takt_type_of(g, g->nodes[a].in[1]);
    const takt_type *w = takt_type_of(g, g->nodes[b].in[1]);
    for (int d = 1; d < v->rank; d++)
        if (v->rank != w->rank || v->dim[d] != w->dim[d])
            return false;
    return same_list(&x[TAKT_CONV_STRIDE], &y[TAKT_CONV_STRIDE]) &&
           same_list(&x[TAKT_CONV_DILATION], &y[TAKT_CONV_DILATION]) &&
           same_list(&x[TAKT_CONV_PAD], &y[TAKT_CONV_PAD]);
}

/* f32, channels last, and weights that are known. */
static bool is_plain_conv(const takt_graph *g, takt_id id)
{
    const takt_node *n = &g->nodes[id];
    return n->op == &takt_op_conv && n->type->dtype == TAKT_F32 &&
           n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC && is_fixed(g, n->in[1]) &&
           takt_dim_is_number(takt_type_of(g, n->in[1])->dim[0]);
}

static bool is_narrow(const takt_graph *g, takt_id id)
{
    if (!is_plain_conv(g, id) || g->nodes[id].attr[TAKT_CONV_GROUPS].i64 != 1)
        return false;
    const takt_type *w = takt_type_of(g, g->nodes[id].in[1]);
    for (int d = 1; d < w->rank - 1; d++)
        if (w->dim[d] != 1)
            return false;
    return w->dim[0] > 0 && w->dim[0] < NARROW;
}

/* One element for each channel, and none for anything else. */
static bool is_bias(const takt_graph *g, takt_id id, const member *m, const takt_type *y)
{
    const takt_type *type = takt_type_of(g, id);
    if (!is_fixed(g, id) || type->dtype != TAKT_F32 || type->rank == 0 || type->rank > y->rank)
        return false;
    for (int d = 0; d < type->rank; d++)
        if (type->dim[d] != (d == type->rank - 1 ? m->channels : 1))
            return false;
    return true;
}

/* Stage `stage` of the member, if the only reader of the previous stage is one. */
static bool find_stage(const family *f, member *m, int stage)
{
    const takt_graph *g = f->c.in;
    const takt_id before = m->node[stage - 1];
    if (f->uses[before] != 1 || f->user[before] == TAKT_NONE)
        return false;
    const takt_id id = f->user[before];
    const takt_node *n = &g->nodes[id];
    m->node[stage] = id;
    if (stage == DEPTHWISE && n->op == &takt_op_conv) {
        m->fixed[stage] = n->in[1];
        return is_plain_conv(g, id) && n->in[0] == before &&
               n->attr[TAKT_CONV_GROUPS].i64 == m->channels &&
               takt_type_of(g, n->in[1])->dim[0] == m->channels;
    }
    if (stage == DEPTHWISE || n->op != &takt_op_add || !takt_match_type(g, before, n->type))
        return false;
    m->fixed[stage] = n->in[n->in[0] == before ? 1 : 0];
    return is_bias(g, m->fixed[stage], m, n->type);
}

/* How many stages all members share. */
static int common_stages(const family *f, member *m, size_t count)
{
    for (int stage = BIAS; stage < STAGES; stage++)
        for (size_t i = 0; i < count; i++)
            if (!find_stage(f, &m[i], stage) ||
                (stage == DEPTHWISE && !same_window(f->c.in, m[0].node[stage], m[i].node[stage])))
                return stage;
    return STAGES;
}

/* ---- joining ---- */

/* The weights or biases of a stage, one after another. */
static takt_id fixed_of(family *f, const member *m, size_t count, int stage)
{
    takt_id all[MOST];
    for (size_t i = 0; i < count; i++) {
        const takt_dim channels = m[i].channels;
        all[i] = f->c.map[m[i].fixed[stage]];
        if (stage == BIAS || stage == DEPTHWISE_BIAS)
            all[i] = takt_reshape(f->c.out, all[i], &channels, 1);
    }
    return takt_concat(f->c.out, all, count, 0);
}

static takt_id join_stage(family *f, const member *m, size_t count, int stage, const takt_id *in)
{
    const takt_node *n = &f->c.in->nodes[m[0].node[stage]];
    takt_graph *out = f->c.out;
    takt_attr attrs[TAKT_MAX_ATTRS] = {0};
    takt_graph_inherit(out, n);
    out->next_name = NULL;
    if (n->op == &takt_op_conv) {
        takt_node_attrs(n, attrs);
        if (stage == DEPTHWISE)
            attrs[TAKT_CONV_GROUPS] = takt_attr_i64(takt_type_of(out, in[1])->dim[0]);
    }
    const takt_id y = takt_graph_append(out, n->op, 2, in, n->attr != NULL ? attrs : NULL);
    for (size_t i = 1; i < count && out->status == TAKT_OK; i++) {
        takt_graph_inherit(out, &f->c.in->nodes[m[i].node[stage]]);
        out->next_name = NULL;
        takt_graph_merge_origin(out, y, out->origin);
    }
    return y;
}

static void join(family *f, member *m, size_t count)
{
    const takt_graph *g = f->c.in;
    const int stages = common_stages(f, m, count);
    takt_id fixed[STAGES], y = f->c.map[g->nodes[m[0].node[CONV]].in[0]];
    for (int stage = CONV; stage < stages; stage++) /* before the convolution, or it is not
                                                     * joined */
        fixed[stage] = fixed_of(f, m, count, stage);
    for (int stage = CONV; stage < stages && f->c.out->status == TAKT_OK; stage++)
        y = join_stage(f, m, count, stage, (const takt_id[]){y, fixed[stage]});
    int64_t first = 0;
    for (size_t i = 0; i < count && f->c.out->status == TAKT_OK; i++) {
        const takt_id end = m[i].node[stages - 1];
        takt_graph_inherit(f->c.out, &g->nodes[end]);
        f->c.map[end] =
            takt_slice(f->c.out, y, g->nodes[end].type->rank - 1, first, first + m[i].channels, 1);
        first += m[i].channels;
        for (int stage = CONV; stage < stages; stage++)
            f->is_done[m[i].node[stage]] = 1;
        takt_pass_fired(f->report, takt_pass_siblings.name,
                        "conv(x, v), conv(x, w) = parts of conv(x, concat(v, w))",
                        &f->c.in->nodes[m[i].node[CONV]]);
    }
}

/* The convolution and its siblings; false if there are none like it. */
static bool join_from(family *f, takt_id id)
{
    member m[MOST];
    size_t count = 0;
    for (takt_id s = id; s != TAKT_NONE && count < MOST; s = f->sister[s]) {
        const takt_node *n = &f->c.in->nodes[s];
        if (!f->is_done[s] && same_window(f->c.in, id, s))
            m[count++] = (member){.node = {s},
                                  .fixed = {n->in[1]},
                                  .channels = takt_type_of(f->c.in, n->in[1])->dim[0]};
    }
    if (count > 1)
        join(f, m, count);
    return count > 1;
}

/* ---- the sweep ---- */

static void count_uses(family *f)
{
    const takt_graph *g = f->c.in;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; f->c.live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE) {
                f->uses[g->nodes[i].in[k]]++;
                f->user[g->nodes[i].in[k]] = (takt_id)i;
            }
    for (size_t i = 0; i < g->output_count; i++)
        f->uses[g->outputs[i].id]++;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            f->uses[g->slots[i].next]++;
    for (size_t i = 0; i < g->check_count; i++)
        f->uses[g->checks[i].id]++;
}

/* Chains of narrow convolutions by their input, each in order. */
static bool find_sisters(family *f)
{
    const takt_graph *g = f->c.in;
    bool any = false;
    for (size_t i = g->count; i-- > 0;) {
        if (!f->c.live[i] || !is_narrow(g, (takt_id)i))
            continue;
        takt_id *first = &f->first[g->nodes[i].in[0]];
        any = any || *first != TAKT_NONE;
        f->sister[i] = *first;
        *first = (takt_id)i;
    }
    return any;
}

static takt_status copy(family *f, takt_id id)
{
    const takt_node n = takt_copier_node(&f->c, id);
    f->c.map[id] = takt_graph_copy_node(f->c.out, &f->c.in->nodes[id], n.in);
    return f->c.out->status;
}

/* Weights come first, so that those of all siblings exist when the first is joined. */
static takt_status sweep(family *f)
{
    const takt_graph *g = f->c.in;
    const bool any = find_sisters(f);
    takt_status status = TAKT_OK;
    for (size_t i = 0; any && i < g->count && status == TAKT_OK; i++)
        if (f->c.live[i] && f->c.map[i] == TAKT_NONE && takt_match_is_fixed(g, (takt_id)i))
            status = copy(f, (takt_id)i);
    for (size_t i = 0; i < g->count && status == TAKT_OK; i++) {
        if (!f->c.live[i] || f->c.map[i] != TAKT_NONE || f->is_done[i])
            continue;
        const bool is_first = any && is_narrow(g, (takt_id)i);
        status = is_first && join_from(f, (takt_id)i) ? f->c.out->status : copy(f, (takt_id)i);
    }
    return status;
}

static takt_status make_tables(family *f)
{
    const size_t count = f->c.in->count;
    takt_arena *arena = &f->c.arena;
    f->uses = takt_arena_array(arena, count, sizeof *f->uses);
    f->user = takt_arena_array(arena, count, sizeof *f->user);
    f->first = takt_arena_array(arena, count, sizeof *f->first);
    f->sister = takt_arena_array(arena, count, sizeof *f->sister);
    f->is_done = takt_arena_array(arena, count, 1);
    if (f->uses == NULL || f->user == NULL || f->first == NULL || f->sister == NULL ||
        f->is_done == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        f->uses[i] = 0;
        f->is_done[i] = 0;
        f->user[i] = f->first[i] = f->sister[i] = TAKT_NONE;
    }
    count_uses(f);
    return TAKT_OK;
}

static takt_status run(const takt_graph *in, const takt_pass_given *given, takt_pass_report *report,
                       takt_graph **out)
{
    (void)given;
    family f = {.report = report};
    takt_status status = takt_copier_init(&f.c, in);
    if (status == TAKT_OK)
        status = make_tables(&f);
    if (status == TAKT_OK)
        status = takt_graph_begin_copy(in, f.c.out, f.c.map);
    if (status == TAKT_OK)
        status = sweep(&f);
    return takt_copier_done(&f.c, status, out);
}

const takt_pass takt_pass_siblings = {
    .name = "siblings",
    .summary = "compute narrow 1x1 convolutions of one value side by side",
    .run = run,
};
