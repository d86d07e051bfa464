/* gated.c - large branches of an If whose results differ in size: merged decoders.
 *
 * Steps of a branch that is planned for itself cannot be given other sizes where they lie, and a
 * decoder has another size at every token. So both branches become part of the graph around them,
 * and the one that is not taken gets an empty batch: whatever it reads is cut to `gate` samples,
 * which a run finds to be all or none. A vector without a batch is read whole. What a sample
 * becomes must not depend on others, or a node finds none where it needs one. Of each result one
 * branch has all elements and the other none, so the two in a row are what is asked for.
 */
#include "base/mem.h"
#include "io/onnx/branches.h"
#include "io/onnx/control.h"
#include "io/onnx/lengths.h"
#include "io/onnx/split.h"

enum { FEWEST = 16 /* nodes that pay off */, MOST = 256 /* captured names */, PAIRS = 6 };

typedef struct gated {
    takt_call *c;
    takt_span names[MOST]; /* of values with a batch that the branches read */
    size_t count;
    takt_dim batch; /* the common beginning of their names */
    bool has_batch, is_bad;
    bool is_first;                       /* only the batch dimension is considered */
    takt_dim gate[2];                    /* of either branch */
    takt_dim pair[PAIRS][2], now[PAIRS]; /* sizes that differ, and the resulting one */
    size_t pair_count;
    int64_t *sizes; /* of names, to be substituted */
    size_t size_count;
} gated;

/* ---- what the branches read ---- */

static bool is_listed(const gated *a, takt_span name)
{
    for (size_t i = 0; i < a->count; i++)
        if (takt_onnx_same(a->names[i], name))
            return true;
    return false;
}

static void list(gated *a, takt_span name)
{
    takt_scope *owner = NULL;
    size_t index;
    const takt_onnx_value *v = name.length > 0 ? takt_scope_find(a->c->scope, name, &owner) : NULL;
    if (v == NULL || v->kind == TAKT_ONNX_INITIALIZER || is_listed(a, name))
        return;
    a->is_bad = a->is_bad || v->kind != TAKT_ONNX_TENSOR || owner->room != a->c->scope->room;
    if (a->is_bad || takt_node_at(a->c->g, v->id)->op == &takt_op_constant)
        return;
    const takt_type *t = takt_type_of(a->c->g, v->id);
    const bool may_lack = t->rank == 1 && (a->is_first || a->has_batch);
    if (t->rank == 0 || (may_lack && !takt_dim_same(a->c->g->dims, a->batch, t->dim[0])))
        return; /* positions of tokens are the same for all samples */
    if (!a->has_batch)
        a->batch = t->dim[0];
    a->has_batch = true;
    if (a->is_first)
        return;
    a->is_bad = !takt_dim_is_name(a->c->g->dims, t->dim[0], &index) || a->count == MOST ||
                !takt_dim_same(a->c->g->dims, a->batch, t->dim[0]);
    if (!a->is_bad)
        a->names[a->count++] = name;
}

static void list_all(gated *a, const takt_pb_graph *graph)
{
    for (size_t i = 0; i < graph->node_count && !a->is_bad; i++) {
        const takt_pb_node *n = &graph->nodes[i];
        for (size_t k = 0; k < n->input_count; k++)
            list(a, n->inputs[k]);
        for (size_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].g != NULL)
                list_all(a, n->attrs[k].g);
    }
    for (size_t i = 0; i < graph->output_count && !a->is_bad; i++)
        list(a, graph->outputs[i].name);
}

/* ---- sizes ---- */

static size_t find_pair(gated *a, takt_dim x, takt_dim y)
{
    size_t i = 0;
    while (i < a->pair_count && (!takt_dim_same(a->c->g->dims, a->pair[i][0], x) ||
                                 !takt_dim_same(a->c->g->dims, a->pair[i][1], y)))
        i++;
    if (i == a->pair_count && i < PAIRS) {
        a->pair[i][0] = x;
        a->pair[i][1] = y;
        a->pair_count++;
    }
    return i;
}

/* Sizes that differ between the branches, without duplicate pairs. */
static void list_pairs(gated *a, const takt_graph *yes, const takt_graph *no)
{
    for (size_t i = 0; i < yes->output_count; i++) {
        const takt_type *x = takt_type_of(yes, yes->outputs[i].id),
                        *y = takt_type_of(no, no->outputs[i].id);
        for (int d = 0; d < x->rank && !a->is_bad; d++)
            if (!takt_dim_same(a->c->g->dims, x->dim[d], y->dim[d]))
                a->is_bad = find_pair(a, x->dim[d], y->dim[d]) == PAIRS;
    }
}

static takt_id number(takt_call *c, takt_dim d)
{
    const takt_id x = takt_dim_is_number(d) ? TAKT_NONE : takt_onnx_counted(c, d);
    return takt_dim_is_number(d) ? takt_scalar_i64(c->g, d)
           : x == TAKT_NONE      ? x
                                 : takt_onnx_size(c, x, 0);
}

/* 1 if a branch can be taken; 0 if an input that only it reads is too small. */
static takt_status may_take(gated *a, const takt_pb_graph *branch, takt_dim *may)
{
    takt_dims *dims = a->c->g->dims;
    *may = 1;
    for (const takt_onnx_split *s = a->c->im->splits; s != NULL; s = s->next) {
        takt_dim own, said;
        if (s->branch != branch || s->own == s->said)
            continue;
        TAKT_TRY(takt_dim_make(dims, TAKT_DIM_ADD, s->own, 1, &own));
        TAKT_TRY(takt_dim_make(dims, TAKT_DIM_ADD, s->said, 1, &said));
        TAKT_TRY(takt_dim_make(dims, TAKT_DIM_FLOORDIV, own, said, &own));
        TAKT_TRY(takt_dim_make(dims, TAKT_DIM_MIN, *may, own, may));
    }
    return TAKT_OK;
}

/* The larger of two sizes, of branches that can be taken. */
static takt_status larger(gated *a, const takt_dim may[2], const takt_dim pair[2], takt_dim *top)
{
    takt_dims *dims = a->c->g->dims;
    takt_dim x, y;
    TAKT_TRY(takt_dim_make(dims, TAKT_DIM_MUL, may[0], pair[0], &x));
    TAKT_TRY(takt_dim_make(dims, TAKT_DIM_MUL, may[1], pair[1], &y));
    return takt_dim_make(dims, TAKT_DIM_MAX, x, y, top);
}

/* Whether the list has the same size again, for another input. */
static bool is_repeated(const takt_onnx_split *s)
{
    for (const takt_onnx_split *p = s->next; p != NULL; p = p->next)
        if (p->own == s->own)
            return true;
    return false;
}

/* Inputs that only one branch reads have the file's sizes if it is taken. */
static takt_status compare(const gated *a, takt_id condition, const takt_pb_graph *const from[2])
{
    takt_call *c = a->c;
    for (const takt_onnx_split *s = c->im->splits; s != NULL; s = s->next) {
        const takt_id own = number(c, s->own), said = number(c, s->said);
        const takt_id is = s->branch == from[0]   ? takt_select(c->g, condition, own, said)
                           : s->branch == from[1] ? takt_select(c->g, condition, said, own)
                                                  : TAKT_NONE;
        takt_dim most, one = 1;
        if (is == TAKT_NONE || s->own == s->said || is_repeated(s))
            continue;
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MAX, s->own, s->said, &most));
        const takt_named_attr attrs[] = {{"names", takt_attr_shape(&s->said, 1)},
                                         {"bounds", takt_attr_shape(&most, 1)},
                                         {"tops", takt_attr_shape(&s->said, 1)}};
        (void)takt_onnx_op1(c, &takt_op_length, takt_reshape(c->g, is, &one, 1), 3, attrs);
    }
    return c->status != TAKT_OK ? c->status : c->g->status;
}

/* One step of the run determines all of them. */
static takt_status find_sizes(gated *a, takt_id condition, const takt_pb_graph *const from[2])
{
    takt_call *c = a->c;
    takt_onnx_bound bounds[2 + PAIRS];
    takt_id asked[2 + PAIRS];
    takt_dim found[2 + PAIRS];
    const takt_id all = number(c, a->batch), none = takt_scalar_i64(c->g, 0);
    asked[0] = takt_select(c->g, condition, all, none);
    asked[1] = takt_select(c->g, condition, none, all);
    TAKT_TRY(compare(a, condition, from));
    takt_dim may[2];
    for (int branch = 0; branch < 2; branch++) {
        TAKT_TRY(may_take(a, from[branch], &may[branch]));
        bounds[branch].most = a->batch;
        TAKT_TRY(
            takt_dim_make(c->g->dims, TAKT_DIM_MUL, a->batch, may[branch], &bounds[branch].top));
    }
    for (size_t i = 0; i < a->pair_count; i++) {
        takt_dim most;
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MAX, a->pair[i][0], a->pair[i][1], &most));
        bounds[2 + i].most = most;
        TAKT_TRY(larger(a, may, a->pair[i], &bounds[2 + i].top));
        asked[2 + i] =
            takt_select(c->g, condition, number(c, a->pair[i][0]), number(c, a->pair[i][1]));
    }
    takt_onnx_lengths(c, takt_onnx_pack(c, asked, 2 + a->pair_count), bounds, 2 + a->pair_count,
                      found);
    a->gate[0] = found[0];
    a->gate[1] = found[1];
    for (size_t i = 0; i < a->pair_count; i++)
        a->now[i] = found[2 + i];
    return c->status != TAKT_OK ? c->status : c->g->status;
}

/* ---- samples ---- */

static takt_dim product(takt_call *c, const takt_type *t)
{
    takt_dim all = 1;
    for (int d = 0; d < t->rank && c->status == TAKT_OK; d++)
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, t->dim[d], &all);
    return all;
}

/* Whether `d` is 0 where `samples`, a name, is. */
static bool vanishes(gated *a, takt_dim samples, takt_dim d)
{
    takt_call *c = a->c;
    size_t name;
    takt_dim left = -1;
    const size_t count = takt_dims_name_count(c->g->dims);
    if (a->size_count < count) {
        a->sizes = takt_onnx_get(c, count, sizeof *a->sizes);
        a->size_count = count;
    }
    if (a->sizes == NULL || !takt_dim_is_name(c->g->dims, samples, &name) || name >= count)
        return false;
    for (size_t i = 0; i < count; i++)
        a->sizes[i] = i == name ? 0 : -1;
    return takt_dim_substitute(c->g->dims, d, a->sizes, count, &left) == TAKT_OK && left == 0;
}

static bool is_empty(gated *a, const takt_type *t)
{
    return vanishes(a, a->batch, product(a->c, t));
}

/* Whether the node gives an empty result for an empty batch, and divides by nothing that could be
 * 0. */
static bool is_harmless(gated *a, const takt_graph *g, const takt_node *n)
{
    bool is_fed = true, is_left = false;
    for (size_t i = 0; i < n->in_count; i++)
        is_fed = is_fed && (n->in[i] == TAKT_NONE || !is_empty(a, takt_type_of(g, n->in[i])));
    for (size_t i = 0; i < n->out_count; i++)
        is_left = is_left || !is_empty(a, &n->type[i]);
    for (size_t i = 0; i < TAKT_MAX_ATTRS && n->op->attrs[i].type != TAKT_ATTR_NONE; i++)
        if (n->op->attrs[i].type == TAKT_ATTR_GRAPH)
            return false;
    if (n->op == &takt_op_dim) {
        const takt_type *t = takt_type_of(g, n->in[0]);
        const int64_t axis = takt_node_int(n, "axis");
        return !vanishes(a, a->batch, t->dim[axis < 0 ? axis + t->rank : axis]);
    }
    if ((n->op == &takt_op_div || n->op == &takt_op_mod) && takt_dtype_is_int(n->type->dtype) &&
        is_left && g->nodes[n->in[1]].op != &takt_op_constant)
        return false;
    return is_fed || !is_left;
}

static bool is_per_sample(gated *a, const takt_graph *g)
{
    unsigned char *live = takt_onnx_get(a->c, g->count, 1);
    if (live == NULL)
        return false;
    takt_graph_live(g, live);
    for (size_t i = 0; i < g->count; i++)
        if (live[i] && !is_harmless(a, g, &g->nodes[i]))
            return false;
    return true;
}

/* ---- a branch ---- */

/* The samples that the gate lets through, as the file says their sizes. */
static takt_id cut(const gated *a, int branch, takt_id x)
{
    takt_type type = takt_split_type(a->c->scope->room, x);
    bool is_said = true;
    for (int d = 1; d < type.rank; d++)
        is_said = is_said && type.dim[d] == takt_type_of(a->c->g, x)->dim[d];
    if (is_said)
        return takt_onnx_sized(a->c, x, a->gate[branch]);
    type.dim[0] = a->gate[branch];
    return takt_onnx_as_stated(a->c, x, type.dim, (size_t)type.rank);
}

/* Opens the scope of a branch, where each outer name is cut that way. */
static takt_status open_gate(const gated *a, int branch, takt_scope *s)
{
    const takt_scope *outer = a->c->scope;
    *s = *outer;
    s->parent = a->c->scope;
    s->depth = outer->depth + 1;
    s->value_count = 0;
    TAKT_TRY(takt_scope_init(s, a->count));
    for (size_t i = 0; i < a->count; i++) {
        takt_onnx_value *v, *from;
        TAKT_TRY(takt_scope_use(a->c->scope, a->names[i], &from));
        TAKT_TRY(takt_scope_add(s, a->names[i], 0, &v));
        v->kind = TAKT_ONNX_TENSOR;
        v->id = cut(a, branch, from->id);
        if (v->id == TAKT_NONE)
            return a->c->status != TAKT_OK ? a->c->status : a->c->g->status;
    }
    return TAKT_OK;
}

static takt_status enter(const gated *a, int branch, const takt_pb_graph *graph,
                         takt_onnx_value *out)
{
    takt_scope s, *outer = a->c->scope;
    TAKT_TRY(open_gate(a, branch, &s));
    a->c->scope = &s;
    const size_t held = takt_dims_hold(a->c->g->dims);
    const takt_status status = takt_subgraph_inline(a->c, graph, NULL, 0, out);
    takt_dims_let_go(a->c->g->dims, held);
    a->c->scope = outer;
    return status;
}

/* ---- results ---- */

/* `x` and `y`: the result of either branch if it is taken. */
static takt_id join(gated *a, const takt_id in[2], const takt_type *x, const takt_type *y)
{
    takt_call *c = a->c;
    takt_id parts[2];
    takt_dim dims[TAKT_MAX_RANK], all = 1;
    size_t count = 0;
    for (int branch = 0; branch < 2; branch++) {
        const takt_dim elements = product(c, takt_type_of(c->g, in[branch]));
        if (c->status != TAKT_OK || !vanishes(a, a->gate[branch], elements))
            return TAKT_NONE;
        if (elements != 0)
            parts[count++] = takt_reshape(c->g, in[branch], &elements, 1);
    }
    for (int d = 0; d < x->rank && c->status == TAKT_OK; d++) {
        dims[d] = takt_dim_same(c->g->dims, x->dim[d], y->dim[d])
                      ? x->dim[d]
                      : a->now[find_pair(a, x->dim[d], y->dim[d])];
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, dims[d], &all);
    }
    if (c->status != TAKT_OK || count == 0)
        return count == 0 && c->status == TAKT_OK ? in[0] : TAKT_NONE;
    const takt_id row = count == 2 ? takt_concat(c->g, parts, 2, 0) : parts[0];
    const takt_id part = row != TAKT_NONE ? takt_onnx_sized(c, row, all) : TAKT_NONE;
    return part == TAKT_NONE ? part : takt_reshape(c->g, part, dims, (size_t)x->rank);
}

static takt_status set_results(gated *a, takt_id condition, const takt_onnx_value *const out[2],
                               const takt_graph *const branch[2])
{
    takt_call *c = a->c;
    for (size_t i = 0; i < c->out_count; i++) {
        if (out[0][i].kind != TAKT_ONNX_TENSOR || out[1][i].kind != TAKT_ONNX_TENSOR)
            return takt_onnx_refuse(c, "a node of a branch is refused");
        const takt_id in[2] = {out[0][i].id, out[1][i].id};
        takt_id y = join(a, in, takt_type_of(branch[0], branch[0]->outputs[i].id),
                         takt_type_of(branch[1], branch[1]->outputs[i].id));
        if (y == TAKT_NONE && c->status == TAKT_OK && c->g->status == TAKT_OK)
            y = takt_branches_choose(c, condition, in[0], in[1]);
        takt_onnx_set(c, i, y);
        if (c->status != TAKT_OK)
            break;
    }
    return c->status;
}

takt_status takt_onnx_gate_if(takt_call *c, takt_id condition, const takt_pb_graph *const from[2],
                              const takt_graph *const branch[2], bool *is_done)
{
    gated *a = takt_onnx_get(c, 1, sizeof *a);
    takt_onnx_value *out[2] = {takt_onnx_get(c, c->out_count + 1, sizeof **out),
                               takt_onnx_get(c, c->out_count + 1, sizeof **out)};
    *is_done = false;
    if (c->scope->room->outer != NULL || from[0]->node_count + from[1]->node_count < FEWEST)
        return TAKT_OK;
    if (a == NULL || out[0] == NULL || out[1] == NULL)
        return c->status;
    *a = (gated){.c = c, .is_first = true};
    list_all(a, from[0]);
    list_all(a, from[1]);
    a->is_first = false;
    list_all(a, from[0]);
    list_all(a, from[1]);
    list_pairs(a, branch[0], branch[1]);
    if (a->is_bad || !a->has_batch || !is_per_sample(a, branch[0]) || !is_per_sample(a, branch[1]))
        return c->status;
    *is_done = true;
    TAKT_TRY(find_sizes(a, condition, from));
    TAKT_TRY(enter(a, 0, from[0], out[0]));
    TAKT_TRY(enter(a, 1, from[1], out[1]));
    return set_results(a, condition, (const takt_onnx_value *const[2]){out[0], out[1]}, branch);
}
