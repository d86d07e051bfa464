/* grow.c - caches that grow become state.
 *
 * Exporters write a decoder's cache as an input, past, and an output, concat(past, new). Here both
 * are one state with room for more rows: new ones are written after those in use, and the former
 * output is the part in use. The axis that grows comes first, so that this part is contiguous. The
 * number of rows in use follows from the sizes of other inputs, such as an attention mask; if none
 * gives it, another state counts them. */
#include <string.h>

#include "op/ops.h"
#include "op/util/length.h"
#include "pass/copier.h"

typedef struct grown {
    takt_id past, all; /* the input, and the concatenation */
    size_t input;
    int axis;
    takt_id slot, view, next; /* in the new graph: the state, its part in use, what it becomes */
} grown;

typedef struct growth {
    takt_copier c;
    int64_t room;
    grown *list;
    size_t count;
    size_t name; /* of the dimension: rows in use */
    takt_dim rows;
    takt_id counter; /* in the new graph; TAKT_NONE: given by other inputs */
} growth;

static const char counter_name[] = "rows in use";

/* ---- what grows ---- */

static size_t input_of(const takt_graph *g, takt_id id)
{
    size_t i = 0;
    while (i < g->input_count && g->inputs[i].id != id)
        i++;
    return i;
}

/* Whether output `id` is an input with rows appended. */
static bool is_grown(growth *w, takt_id id, grown *out)
{
    const takt_graph *g = w->c.in;
    const takt_node *n = &g->nodes[id];
    size_t name;
    if (n->op != &takt_op_concat || n->in_count != 2 || n->in[0] == n->in[1])
        return false;
    const int64_t given = takt_node_int(n, "axis");
    *out = (grown){.past = n->in[0], .all = id, .input = input_of(g, n->in[0])};
    out->axis = (int)(given < 0 ? given + n->type->rank : given);
    const takt_type *type = takt_type_of(g, n->in[0]);
    if (out->input == g->input_count || takt_dtype_bits(type->dtype) < 8 ||
        !takt_dim_is_name(g->dims, type->dim[out->axis], &name) ||
        (w->count > 0 && name != w->name))
        return false;
    w->name = name;
    w->rows = type->dim[out->axis];
    return true;
}

static takt_status list_grown(growth *w)
{
    const takt_graph *g = w->c.in;
    w->list = takt_arena_array(&w->c.arena, g->output_count + 1, sizeof *w->list);
    if (w->list == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->output_count; i++) {
        grown *next = &w->list[w->count];
        size_t k = 0;
        if (!is_grown(w, g->outputs[i].id, next))
            continue;
        while (k < w->count && w->list[k].past != next->past)
            k++;
        w->count += k == w->count;
    }
    if (w->count > 0)
        return TAKT_OK;
    takt_fail(g->ctx, TAKT_E_ARGUMENT, "no output of the model is an input with rows appended");
    return takt_fail_hint(g->ctx, "an exporter's past_key_values and present have to be there");
}

static bool is_cache(const growth *w, takt_id id)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->list[i].past == id || w->list[i].all == id)
            return true;
    return false;
}

/* ---- rows in use ---- */

static bool mentions(growth *w, takt_dim d, int64_t *sizes, size_t count)
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
static takt_status is_told(growth *w, bool *is)
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
        for (int d = 0; d < type->rank && !is_cache(w, g->inputs[i].id); d++)
            *is = *is || mentions(w, type->dim[d], sizes, count);
    }
    return TAKT_OK;
}

/* Memory is planned for the most rows that leave room for the new ones. */
static takt_status count_rows(growth *w)
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
    if (w->counter == TAKT_NONE)
        return g->status;
    const takt_named_attr attrs[] = {{"names", takt_attr_shape(&w->rows, 1)},
                                     {"bounds", takt_attr_shape(&most, 1)},
                                     {"tops", takt_attr_shape(&top, 1)}};
    (void)takt_graph_call(g, &takt_op_length, 1, &w->counter, 3, attrs);
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

static takt_status make_slot(growth *w, grown *x)
{
    takt_graph *g = w->c.out;
    const takt_type *from = takt_type_of(w->c.in, x->past);
    const takt_init zero = {.kind = TAKT_INIT_CONSTANT};
    takt_type type = {.dtype = from->dtype, .rank = from->rank, .dim = {w->room}};
    for (int d = 0, k = 1; d < from->rank; d++)
        if (d != x->axis)
            type.dim[k++] = from->dim[d];
    takt_graph_inherit(g, &w->c.in->nodes[x->past]);
    x->slot = takt_graph_slot(g, w->c.in->inputs[x->input].name, &type, &zero, false);
    x->view = x->slot != TAKT_NONE ? part(g, x->slot, w->rows, x->axis) : TAKT_NONE;
    w->c.map[x->past] = x->view;
    return g->status;
}

static takt_status append(growth *w, grown *x)
{
    takt_graph *g = w->c.out;
    const takt_node *n = &w->c.in->nodes[x->all];
    const takt_named_attr axis = {"axis", takt_attr_i64(x->axis)},
                          first = {"axis", takt_attr_i64(0)};
    takt_graph_inherit(g, n);
    const takt_id start = takt_graph_call(g, &takt_op_dim, 1, &x->view, 1, &axis);
    const takt_id in[] = {x->slot, moved(g, w->c.map[n->in[1]], x->axis, false), start};
    if (in[1] == TAKT_NONE || start == TAKT_NONE)
        return g->status;
    x->next = takt_graph_call(g, &takt_op_update_slice, 3, in, 1, &first);
    w->c.map[x->all] =
        x->next != TAKT_NONE ? part(g, x->next, n->type->dim[x->axis], x->axis) : TAKT_NONE;
    return g->status;
}

static takt_status edges(growth *w)
{
    takt_copier *c = &w->c;
    bool tells;
    TAKT_TRY(is_told(w, &tells));
    for (size_t i = 0; i < c->in->input_count; i++) {
        const takt_port *p = &c->in->inputs[i];
        takt_graph_inherit(c->out, &c->in->nodes[p->id]);
        if (!is_cache(w, p->id))
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
static takt_id counted(growth *w)
{
    takt_graph *g = w->c.out;
    const takt_dim one = 1;
    const grown *x = &w->list[0];
    const takt_named_attr axis = {"axis", takt_attr_i64(x->axis)};
    const takt_id rows = takt_graph_call(g, &takt_op_dim, 1, &w->c.map[x->all], 1, &axis);
    return rows == TAKT_NONE ? rows : takt_reshape(g, rows, &one, 1);
}

static takt_status finish(growth *w)
{
    const takt_graph *in = w->c.in;
    takt_graph *g = w->c.out;
    for (size_t i = 0; i < in->output_count; i++)
        if (!is_cache(w, in->outputs[i].id))
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

static takt_status copy(growth *w)
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
    growth w = {.room = room, .counter = TAKT_NONE};
    *out = NULL;
    takt_status status = takt_copier_init(&w.c, in);
    if (status == TAKT_OK)
        status = list_grown(&w);
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
