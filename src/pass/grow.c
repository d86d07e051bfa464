/* grow.c - caches that grow become state.
 *
 * Exporters write a decoder's cache as an input, past, and an output, concat(past, new). Here both
 * are one state with room for more rows: new ones are written after those in use, and the former
 * output is the part in use. The axis that grows comes first, so that this part is contiguous. The
 * concatenation may be done in another axis order than that of input and output, with a transpose
 * before and after it: the state is then stored in its order. The number of rows in use follows
 * from the sizes of other inputs, such as an attention mask; if none gives it, another state counts
 * them. */
#include "pass/grow.h"
#include "op/ops.h"
#include "op/util/length.h"
#include "pass/copier.h"

static const char counter_name[] = "rows in use";

/* ---- nodes out of their order ---- */

/* Why nothing was built: the failure of the graph, or of an earlier stage. */
static takt_status failed(const takt_growth *w)
{
    return w->c.out->status != TAKT_OK ? w->c.out->status : w->c.in->ctx->error.status;
}

/* Copies what `id` is computed from, and `id`, unless that has been done. */
static takt_status bring(takt_growth *w, takt_id id)
{
    takt_copier *c = &w->c;
    size_t depth = 0;
    w->stack[depth++] = id;
    while (depth > 0) {
        const takt_id at = w->stack[depth - 1];
        const takt_node *from = &c->in->nodes[at];
        uint32_t k = 0;
        while (k < from->in_count && (from->in[k] == TAKT_NONE || c->map[from->in[k]] != TAKT_NONE))
            k++;
        if (c->map[at] == TAKT_NONE && k < from->in_count) {
            w->stack[depth++] = from->in[k]; /* a path in the graph, so it is short enough */
            continue;
        }
        depth--;
        if (c->map[at] != TAKT_NONE)
            continue;
        if (takt_growth_has(w, at) || takt_growth_input(c->in, at) < c->in->input_count)
            return takt_fail(c->in->ctx, TAKT_E_ARGUMENT,
                             "which branch is taken depends on a cache that would be state");
        const takt_node n = takt_copier_node(c, at);
        c->map[at] = takt_graph_copy_node(c->out, &n, n.in);
        TAKT_TRY(c->out->status);
    }
    return TAKT_OK;
}

/* ---- rows in use ---- */

static bool mentions(takt_growth *w, takt_dim d, int64_t *sizes, size_t count)
{
    takt_dim a = 0, b = 0;
    takt_dims *dims = w->c.in->dims;
    sizes[w->name] = 0;
    if (takt_dim_substitute(dims, d, sizes, count, &a) != TAKT_OK)
        return false;
    sizes[w->name] = 1;
    return takt_dim_substitute(dims, d, sizes, count, &b) == TAKT_OK && a != b;
}

/* Whether the size of a remaining input gives the number of rows. */
static takt_status has_count(takt_growth *w, bool *is)
{
    const takt_graph *g = w->c.in;
    const size_t count = takt_dims_name_count(g->dims);
    int64_t *sizes = takt_arena_array(&w->c.arena, count + 1, sizeof *sizes);
    *is = false;
    if (sizes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        sizes[i] = -1;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_type *type = takt_type_of(g, g->inputs[i].id);
        for (int d = 0; d < type->rank && !takt_growth_has(w, g->inputs[i].id); d++)
            *is = *is || mentions(w, type->dim[d], sizes, count);
    }
    return TAKT_OK;
}

/* Rows that this run reads: none where a branch is taken that has no cache. */
static takt_id rows_read(takt_growth *w)
{
    takt_graph *g = w->c.out;
    const takt_growing *x = &w->list[0];
    const takt_dim one = 1;
    if (!x->is_gated)
        return w->counter;
    const takt_id rows = takt_reshape(g, w->counter, NULL, 0);
    if (rows == TAKT_NONE || bring(w, x->gate.choice) != TAKT_OK)
        return TAKT_NONE;
    const takt_id read = takt_gate_select(g, &x->gate, w->c.map[x->gate.choice], rows);
    return read != TAKT_NONE ? takt_reshape(g, read, &one, 1) : read;
}

/* Memory is planned for the most rows that leave room for the new ones. */
static takt_status count_rows(takt_growth *w)
{
    takt_graph *g = w->c.out;
    const takt_type one = {.dtype = TAKT_I64, .rank = 1, .dim = {1}};
    const takt_init zero = {.kind = TAKT_INIT_CONSTANT};
    const takt_node *all = &w->c.in->nodes[w->list[0].all];
    const takt_dim more = takt_type_of(w->c.in, all->in[1])->dim[w->list[0].axis];
    const takt_dim most = w->room;
    takt_dim top;
    TAKT_TRY(takt_dim_make(g->dims, TAKT_DIM_SUB, most, more, &top));
    w->counter = takt_graph_slot(g, counter_name, &one, &zero, false);
    const takt_id rows = w->counter != TAKT_NONE ? rows_read(w) : TAKT_NONE;
    if (rows == TAKT_NONE)
        return failed(w);
    const takt_named_attr attrs[] = {{"names", takt_attr_shape(&w->rows, 1)},
                                     {"bounds", takt_attr_shape(&most, 1)},
                                     {"tops", takt_attr_shape(&top, 1)}};
    (void)takt_graph_call(g, &takt_op_length, 1, &rows, 3, attrs);
    return g->status;
}

/* ---- the new graph ---- */

/* Axis `axis` first, or back to where it was. */
static takt_id moved(takt_graph *g, takt_id x, int axis, bool is_back)
{
    int64_t perm[TAKT_MAX_RANK];
    const int rank = takt_type_of(g, x)->rank;
    if (axis == 0)
        return x;
    for (int d = 0; d < rank; d++)
        if (is_back)
            perm[d] = d == axis ? 0 : d < axis ? d + 1 : d;
        else
            perm[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
    return takt_transpose(g, x, perm, (size_t)rank);
}

/* The first `rows` of a cache, in the model's axis order. */
static takt_id part(takt_graph *g, takt_id cache, takt_dim rows, int axis)
{
    takt_type t = *takt_type_of(g, cache);
    t.dim[0] = rows;
    const takt_named_attr attr = {"shape", takt_attr_shape(t.dim, (size_t)t.rank)};
    const takt_id cut = takt_graph_call(g, &takt_op_sized, 1, &cache, 1, &attr);
    return cut == TAKT_NONE ? cut : moved(g, cut, axis, true);
}

static takt_status make_slot(takt_growth *w, takt_growing *x)
{
    takt_graph *g = w->c.out;
    const takt_id joined = x->is_gated ? x->past : w->c.in->nodes[x->all].in[0];
    const takt_type *from = takt_type_of(w->c.in, joined);
    const takt_init zero = {.kind = TAKT_INIT_CONSTANT};
    takt_type type = {.dtype = from->dtype, .rank = from->rank, .dim = {w->room}};
    for (int d = 0, k = 1; d < from->rank; d++)
        if (d != x->axis)
            type.dim[k++] = from->dim[d];
    takt_graph_inherit(g, &w->c.in->nodes[x->past]);
    x->slot = takt_graph_slot(g, w->c.in->inputs[x->input].name, &type, &zero, false);
    x->view = x->slot != TAKT_NONE ? part(g, x->slot, w->rows, x->axis) : TAKT_NONE;
    w->c.map[joined] = x->view;
    if (joined != x->past)
        w->c.map[x->past] = takt_transpose(g, x->view, x->perm, (size_t)from->rank);
    return g->status;
}

/* New rows: of the concatenation, or of whichever branch is taken. */
static takt_id new_rows(takt_growth *w, const takt_growing *x)
{
    takt_graph *g = w->c.out;
    const takt_id own = w->c.in->nodes[x->all].in[1];
    if (!x->is_gated)
        return w->c.map[own];
    takt_type type = *takt_type_of(w->c.in, own);
    type.dim[0] = takt_type_of(w->c.in, x->past)->dim[0];
    if (bring(w, x->gate.other) != TAKT_OK)
        return TAKT_NONE;
    const takt_id a = w->c.map[own], b = w->c.map[x->gate.other];
    return x->gate.is_last ? takt_gate_join(g, b, a, &type) : takt_gate_join(g, a, b, &type);
}

/* All rows in use, in the shape of `type`: without samples where its branch is not taken. */
static takt_id all_rows(takt_growth *w, const takt_growing *x, const takt_type *type)
{
    takt_graph *g = w->c.out;
    takt_type t = *takt_type_of(g, x->next);
    const takt_dim rows = type->dim[x->axis];
    if (!x->is_gated)
        return part(g, x->next, rows, x->axis);
    t.dim[0] = rows;
    const takt_named_attr attr = {"shape", takt_attr_shape(t.dim, (size_t)t.rank)};
    const takt_id used = takt_graph_call(g, &takt_op_sized, 1, &x->next, 1, &attr);
    t.dim[1] = type->dim[0];
    const takt_id cut = used != TAKT_NONE ? takt_gate_cut(g, used, &t) : used;
    return cut != TAKT_NONE ? moved(g, cut, x->axis, true) : cut;
}

static takt_status append(takt_growth *w, takt_growing *x)
{
    takt_graph *g = w->c.out;
    const takt_node *n = &w->c.in->nodes[x->all];
    const takt_named_attr axis = {"axis", takt_attr_i64(x->axis)},
                          first = {"axis", takt_attr_i64(0)};
    const takt_id more = new_rows(w, x);
    if (more == TAKT_NONE)
        return failed(w);
    takt_graph_inherit(g, n);
    const takt_id start = takt_graph_call(g, &takt_op_dim, 1, &x->view, 1, &axis);
    const takt_id in[] = {x->slot, moved(g, more, x->axis, false), start};
    if (in[1] == TAKT_NONE || start == TAKT_NONE)
        return g->status;
    x->next = takt_graph_call(g, &takt_op_update_slice, 3, in, 1, &first);
    w->c.map[x->all] = x->next != TAKT_NONE ? all_rows(w, x, n->type) : TAKT_NONE;
    return w->c.map[x->all] != TAKT_NONE ? g->status : failed(w);
}

static takt_status edges(takt_growth *w)
{
    takt_copier *c = &w->c;
    bool tells;
    TAKT_TRY(has_count(w, &tells));
    for (size_t i = 0; i < c->in->input_count; i++) {
        const takt_port *p = &c->in->inputs[i];
        takt_graph_inherit(c->out, &c->in->nodes[p->id]);
        if (!takt_growth_has(w, p->id))
            c->map[p->id] = takt_graph_input(c->out, p->name, takt_type_of(c->in, p->id));
    }
    for (size_t i = 0; i < c->in->slot_count; i++) {
        const takt_slot *s = &c->in->slots[i];
        takt_graph_inherit(c->out, &c->in->nodes[s->value]);
        c->map[s->value] = takt_graph_slot(c->out, s->name, &s->type, &s->init, s->is_trainable);
    }
    if (!tells)
        TAKT_TRY(count_rows(w));
    for (size_t i = 0; i < w->count; i++)
        TAKT_TRY(make_slot(w, &w->list[i]));
    return c->out->status;
}

/* Rows in use after the run, if a state counts them. */
static takt_id counted(takt_growth *w)
{
    takt_graph *g = w->c.out;
    const takt_dim one = 1;
    const takt_growing *x = &w->list[0];
    const takt_named_attr axis = {"axis", takt_attr_i64(x->axis)};
    const takt_id rows = takt_graph_call(g, &takt_op_dim, 1, &w->c.map[x->all], 1, &axis);
    return rows == TAKT_NONE ? rows : takt_reshape(g, rows, &one, 1);
}

static takt_status finish(takt_growth *w)
{
    const takt_graph *in = w->c.in;
    takt_graph *g = w->c.out;
    for (size_t i = 0; i < in->output_count; i++)
        if (!takt_growth_has(w, in->outputs[i].id))
            takt_graph_output(g, in->outputs[i].name, w->c.map[in->outputs[i].id]);
    for (size_t i = 0; i < in->slot_count; i++)
        if (in->slots[i].next != TAKT_NONE)
            takt_graph_set_next(g, in->slots[i].name, w->c.map[in->slots[i].next]);
    for (size_t i = 0; i < w->count; i++)
        takt_graph_set_next(g, in->inputs[w->list[i].input].name, w->list[i].next);
    if (w->counter != TAKT_NONE)
        takt_graph_set_next(g, counter_name, counted(w));
    for (size_t i = 0; i < in->check_count; i++) {
        takt_check check = in->checks[i];
        check.id = w->c.map[check.id];
        takt_graph_check(g, check);
    }
    return g->status;
}

static takt_status copy(takt_growth *w)
{
    takt_copier *c = &w->c;
    for (size_t i = 0; i < c->in->count; i++) {
        size_t k = 0;
        if (!c->live[i] || c->map[i] != TAKT_NONE)
            continue;
        while (k < w->count && w->list[k].all != i)
            k++;
        if (k < w->count) {
            TAKT_TRY(append(w, &w->list[k]));
            continue;
        }
        const takt_node n = takt_copier_node(c, (takt_id)i);
        c->map[i] = takt_graph_copy_node(c->out, &n, n.in);
        TAKT_TRY(c->out->status);
    }
    return finish(w);
}

takt_status takt_graph_grow(const takt_graph *in, int64_t room, takt_graph **out)
{
    takt_growth w = {.room = room, .counter = TAKT_NONE};
    *out = NULL;
    takt_status status = takt_copier_init(&w.c, in);
    if (status == TAKT_OK) {
        w.stack = takt_arena_array(&w.c.arena, in->count + 1, sizeof *w.stack);
        status = w.stack != NULL ? takt_growth_find(&w) : TAKT_ERR_MEMORY;
    }
    if (status == TAKT_OK)
        status = edges(&w);
    if (status == TAKT_OK)
        status = copy(&w);
    takt_arena_deinit(&w.c.arena);
    if (status != TAKT_OK)
        takt_graph_destroy(w.c.out);
    else
        *out = w.c.out;
    return status;
}
