/* grown.c - carried values of a Loop that grow and that its body reads: a decoder's cache.
 *
 * Such a value changes size in every iteration. The loop carries a buffer for the maximum number of
 * rows, growing axis first, and the number in use; the body begins with a `length` that reads that
 * number, and writes new rows after them.
 */
#include <string.h>

#include "io/onnx/control.h"
#include "io/onnx/lengths.h"
#include "pass/copier.h"

/* The node of `g` that gives `name`, or NULL. */
static const takt_pb_node *maker_of(const takt_pb_graph *g, takt_span name)
{
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i].output_count; k++)
            if (takt_onnx_same(g->nodes[i].outputs[k], name))
                return &g->nodes[i];
    return NULL;
}

/* Whether carried value `i` becomes itself followed by rows along `*axis`. */
static bool is_grown(const takt_pb_graph *g, size_t i, int64_t *axis)
{
    const takt_pb_node *n = maker_of(g, g->outputs[1 + i].name);
    if (n == NULL || !takt_span_is(n->op, "Concat") || n->input_count < 2 ||
        (n->domain.length > 0 && !takt_span_is(n->domain, "ai.onnx")) ||
        !takt_onnx_same(n->inputs[0], g->inputs[2 + i].name))
        return false;
    for (size_t k = 0; k < n->attr_count; k++)
        if (takt_span_is(n->attrs[k].name, "axis") && n->attrs[k].ref.length == 0) {
            *axis = n->attrs[k].i;
            return true;
        }
    return false;
}

takt_status takt_onnx_grown(takt_call *c, const takt_pb_graph *body, takt_type *types,
                            size_t carried, takt_grown *out)
{
    *out = (takt_grown){.at = takt_onnx_get(c, carried + 1, sizeof *out->at)};
    if (out->at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < carried && body->input_count == 2 + carried; i++) {
        int64_t axis;
        takt_type *t = &types[2 + i];
        if (!is_grown(body, i, &axis) || t->rank == 0)
            continue;
        takt_grown_one *one = &out->at[out->count++];
        *one = (takt_grown_one){.which = i, .axis = takt_onnx_axis(c, axis, t->rank)};
        if (c->status != TAKT_OK)
            return c->status;
        one->first = t->dim[one->axis];
        TAKT_TRY(takt_dim_fresh(c->g->dims, "grown", &one->name));
        t->dim[one->axis] = one->name;
    }
    return TAKT_OK;
}

/* ---- maximum number of rows ---- */

static const takt_grown_one *find(const takt_grown *grown, size_t carried)
{
    for (size_t i = 0; i < grown->count; i++)
        if (grown->at[i].which == carried)
            return &grown->at[i];
    return NULL;
}

static takt_status refuse_rows(takt_call *c)
{
    return takt_onnx_refuse(c, "a carried value grows by rows whose number has no bound");
}

/* Upper bound of a size in the body: the size itself, or the bound of a size found at run time. */
static takt_status most_of(takt_call *c, const takt_graph *g, takt_dim d, takt_dim *most)
{
    takt_type t = {.dtype = TAKT_I64, .rank = 1, .dim = {d}};
    size_t name, own;
    TAKT_TRY(takt_dim_resolve(g->dims, d, most));
    t.dim[0] = *most;
    if (!takt_onnx_is_found(c, g, &t))
        return c->status;
    for (size_t i = 0; i < g->count && takt_dim_is_name(g->dims, *most, &name); i++)
        for (uint32_t k = 0;
             g->nodes[i].op == &takt_op_length && k < g->nodes[i].attr[TAKT_LENGTH_NAMES].count;
             k++)
            if (takt_length_names(g, &g->nodes[i], k, &own) && own == name) {
                *most = g->nodes[i].attr[TAKT_LENGTH_BOUNDS].dims[k];
                t.dim[0] = *most;
                if (*most != TAKT_LENGTH_OPEN && !takt_onnx_is_found(c, g, &t))
                    return c->status;
            }
    return refuse_rows(c);
}

/* Whether `d` depends on the current row count of a growing value: it may double. */
static bool is_of_grown(takt_call *c, const takt_graph *g, const takt_grown *grown, takt_dim d)
{
    const size_t count = takt_dims_name_count(g->dims);
    int64_t *sizes = takt_onnx_get(c, count + 1, sizeof *sizes);
    takt_dim is, with;
    size_t name;
    if (sizes == NULL)
        return true;
    for (size_t i = 0; i < count; i++)
        sizes[i] = -1;
    for (size_t i = 0; i < grown->count; i++)
        if (takt_dim_resolve(g->dims, grown->at[i].name, &is) == TAKT_OK &&
            takt_dim_is_name(g->dims, is, &name))
            sizes[name] = 1;
    return takt_dim_resolve(g->dims, d, &is) != TAKT_OK ||
           takt_dim_substitute(g->dims, is, sizes, count, &with) != TAKT_OK || is != with;
}

/* Whether the body made `one` as large as a value that does not grow with it. */
static bool is_bound(const takt_graph *g, const takt_grown *grown, const takt_grown_one *one)
{
    takt_dim is;
    bool is_own = false;
    if (takt_dim_resolve(g->dims, one->name, &is) != TAKT_OK)
        return true;
    for (size_t i = 0; i < grown->count; i++)
        is_own = is_own || is == grown->at[i].name;
    return !is_own;
}

/* Whether a value that does not grow has the length of a growing one. */
static bool is_as_long(takt_call *c, const takt_graph *g, const takt_grown *grown, takt_id id)
{
    const takt_type *t = takt_type_of(g, id);
    bool found = false;
    for (int d = 0; d < t->rank && !found; d++)
        found = is_of_grown(c, g, grown, t->dim[d]);
    return found;
}

/* Everything that the body reads and carries to the next iteration keeps its size, except growing
 * values. */
static takt_status check_sizes(takt_call *c, const takt_graph *g, const takt_grown *grown,
                               size_t carried)
{
    bool is_bad = false;
    for (size_t i = 0; i < grown->count; i++)
        is_bad = is_bad || is_bound(g, grown, &grown->at[i]);
    for (size_t i = 0; 2 + i < g->input_count && !is_bad; i++)
        if (find(grown, i) == NULL)
            is_bad = is_as_long(c, g, grown, g->inputs[2 + i].id) ||
                     (i < carried && is_as_long(c, g, grown, g->outputs[1 + i].id));
    if (c->status != TAKT_OK || !is_bad)
        return c->status;
    return takt_onnx_refuse(c, "a carried value grows, and another has to be as long as it");
}

static takt_status find_room(takt_call *c, const takt_graph *g, takt_dim trips,
                             const takt_grown *grown, takt_grown_one *one)
{
    const takt_type *t = takt_type_of(g, g->outputs[1 + one->which].id);
    takt_dim rows;
    TAKT_TRY(takt_dim_make(g->dims, TAKT_DIM_SUB, t->dim[one->axis], one->name, &rows));
    TAKT_TRY(most_of(c, g, rows, &rows));
    if (is_of_grown(c, g, grown, rows))
        return c->status != TAKT_OK ? c->status : refuse_rows(c);
    TAKT_TRY(takt_dim_make(g->dims, TAKT_DIM_MUL, rows, trips, &one->more));
    return takt_dim_make(g->dims, TAKT_DIM_ADD, one->first, one->more, &one->room);
}

/* ---- the axis first, and back ---- */

static takt_id move_axis(takt_graph *g, takt_id x, int axis, bool is_back)
{
    int64_t order[TAKT_MAX_RANK];
    if (x == TAKT_NONE || axis == 0)
        return x;
    const int rank = takt_type_of(g, x)->rank;
    for (int d = 0; d < rank; d++)
        order[d] = is_back ? (d < axis    ? d + 1
                              : d == axis ? 0
                                          : d)
                           : (d == 0      ? axis
                              : d <= axis ? d - 1
                                          : d);
    return takt_transpose(g, x, order, (size_t)rank);
}

static takt_type type_of_room(const takt_type *value, const takt_grown_one *one)
{
    takt_type t = *value;
    for (int d = one->axis; d > 0; d--)
        t.dim[d] = value->dim[d - 1];
    t.dim[0] = one->room;
    return t;
}

takt_id takt_grown_begin(takt_call *c, const takt_grown_one *one, takt_id value, takt_id *rows)
{
    takt_type t = type_of_room(takt_type_of(c->g, value), one);
    t.dim[0] = one->more;
    *rows = takt_onnx_size(c, value, one->axis);
    const takt_id parts[2] = {
        move_axis(c->g, value, one->axis, false),
        takt_broadcast(c->g, takt_onnx_scalar(c, t.dtype, 0), t.dim, (size_t)t.rank)};
    return parts[0] != TAKT_NONE && parts[1] != TAKT_NONE ? takt_concat(c->g, parts, 2, 0)
                                                          : TAKT_NONE;
}

takt_id takt_grown_end(takt_call *c, const takt_grown_one *one, takt_id room, takt_id rows)
{
    const takt_dim used = takt_onnx_length(c, rows, takt_onnx_at_most(one->room));
    return move_axis(c->g, takt_onnx_sized(c, room, used), one->axis, true);
}

/* ---- the body ---- */

typedef struct wrapper {
    takt_call *c;
    const takt_grown *grown;
    const takt_graph *in;
    takt_graph *g;
    takt_id *map;
    size_t carried;
    takt_id *rooms, *counts; /* one per grown value: inputs of the new body */
} wrapper;

/* The carried value that counts the rows of grown value `i`. */
static const char *count_name(const wrapper *w, size_t i)
{
    const char *name = takt_arena_format(&w->c->im->arena, "(rows %zu)", i);
    if (name == NULL)
        w->c->status = TAKT_ERR_MEMORY;
    return name != NULL ? name : "";
}

static void add_counts(const wrapper *w)
{
    const takt_type count = {.dtype = TAKT_I64};
    for (size_t i = 0; i < w->grown->count; i++)
        w->counts[i] = takt_graph_input(w->g, count_name(w, i), &count);
}

static void add_inputs(const wrapper *w)
{
    for (size_t i = 0; i < w->in->input_count; i++) {
        const takt_port *p = &w->in->inputs[i];
        const takt_type *t = takt_type_of(w->in, p->id);
        const takt_grown_one *one = i >= 2 ? find(w->grown, i - 2) : NULL;
        if (i == 2 + w->carried)
            add_counts(w);
        if (one == NULL) {
            w->map[p->id] = takt_graph_input(w->g, p->name, t);
            continue;
        }
        const takt_type room = type_of_room(t, one);
        w->rooms[one - w->grown->at] = takt_graph_input(w->g, p->name, &room);
    }
    if (w->in->input_count == 2 + w->carried)
        add_counts(w);
}

/* All sizes of this iteration at once, split into vectors no longer than the maximum rank. */
static void find_sizes(const wrapper *w)
{
    takt_dim names[TAKT_MAX_RANK], rooms[TAKT_MAX_RANK];
    for (size_t i = 0; i < w->grown->count && w->c->status == TAKT_OK;) {
        size_t count = 0;
        const size_t start = i;
        for (; count < TAKT_MAX_RANK && i < w->grown->count; i++, count++) {
            names[count] = w->grown->at[i].name;
            rooms[count] = w->grown->at[i].room;
        }
        const takt_named_attr attrs[] = {{"names", takt_attr_shape(names, count)},
                                         {"bounds", takt_attr_shape(rooms, count)},
                                         {"tops", takt_attr_shape(rooms, count)}};
        (void)takt_onnx_op1(w->c, &takt_op_length, takt_onnx_pack(w->c, w->counts + start, count),
                            3, attrs);
    }
}

/* The rows in use in this iteration. */
static void add_values(const wrapper *w)
{
    find_sizes(w);
    for (size_t i = 0; i < w->grown->count && w->c->status == TAKT_OK; i++) {
        const takt_grown_one *one = &w->grown->at[i];
        w->map[w->in->inputs[2 + one->which].id] =
            move_axis(w->g, takt_onnx_sized(w->c, w->rooms[i], one->name), one->axis, true);
    }
}

/* The rows that the body appends to the old ones; TAKT_NONE: all rows are written. */
static takt_id new_rows(const wrapper *w, const takt_grown_one *one)
{
    const takt_node *n = takt_node_at(w->in, w->in->outputs[1 + one->which].id);
    takt_id parts[TAKT_MAX_RANK];
    const size_t count = n->in_count - 1;
    if (n->op != &takt_op_concat || n->in[0] != w->in->inputs[2 + one->which].id || count == 0 ||
        count > TAKT_MAX_RANK)
        return TAKT_NONE;
    for (size_t i = 0; i < count; i++)
        parts[i] = w->map[n->in[1 + i]];
    return count == 1 ? parts[0] : takt_concat(w->g, parts, count, one->axis);
}

/* The next carried values: the buffer with the new rows in it. */
static takt_id next_room(const wrapper *w, const takt_grown_one *one)
{
    takt_id rows = new_rows(w, one), at = w->counts[one - w->grown->at];
    if (rows == TAKT_NONE) {
        rows = w->map[w->in->outputs[1 + one->which].id];
        at = takt_scalar_i64(w->g, 0);
    }
    const takt_id in[3] = {w->rooms[one - w->grown->at], move_axis(w->g, rows, one->axis, false),
                           at};
    return takt_graph_call(w->g, &takt_op_update_slice, 3, in, 1,
                           &(takt_named_attr){"axis", takt_attr_i64(0)});
}

static void add_outputs(const wrapper *w)
{
    for (size_t i = 0; i < w->in->output_count; i++) {
        const takt_port *p = &w->in->outputs[i];
        const takt_grown_one *one = i >= 1 && i <= w->carried ? find(w->grown, i - 1) : NULL;
        takt_graph_output(w->g, p->name, one != NULL ? next_room(w, one) : w->map[p->id]);
        for (size_t k = 0; i == w->carried && k < w->grown->count; k++) {
            const takt_grown_one *grown = &w->grown->at[k];
            const takt_id value = w->map[w->in->outputs[1 + grown->which].id];
            takt_graph_output(w->g, count_name(w, k), takt_onnx_size(w->c, value, grown->axis));
        }
    }
}

static takt_status rewrite(wrapper *w, takt_copier *copier)
{
    add_inputs(w);
    add_values(w);
    takt_status status = w->c->status != TAKT_OK ? w->c->status : w->g->status;
    for (size_t i = 0; i < w->in->count && status == TAKT_OK; i++) {
        if (!copier->live[i] || w->map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(copier, (takt_id)i);
        w->map[i] = takt_graph_append(w->g, n.op, n.in_count, n.in, n.attr);
        status = w->g->status;
    }
    if (status == TAKT_OK)
        add_outputs(w);
    return w->c->status != TAKT_OK ? w->c->status : w->g->status;
}

takt_status takt_grown_wrap(takt_call *c, takt_grown *grown, size_t carried, takt_dim trips,
                            takt_graph **body)
{
    takt_copier copier;
    takt_graph *outer = c->g, *g = *body;
    wrapper w = {.c = c,
                 .grown = grown,
                 .in = g,
                 .carried = carried,
                 .rooms = takt_onnx_get(c, grown->count, sizeof *w.rooms),
                 .counts = takt_onnx_get(c, grown->count, sizeof *w.counts)};
    if (w.rooms == NULL || w.counts == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(check_sizes(c, g, grown, carried));
    for (size_t i = 0; i < grown->count; i++)
        TAKT_TRY(find_room(c, g, trips, grown, &grown->at[i]));
    takt_status status = takt_copier_init(&copier, g);
    w.g = copier.out;
    w.map = copier.map;
    c->g = copier.out;
    if (status == TAKT_OK)
        status = rewrite(&w, &copier);
    c->g = outer;
    takt_arena_deinit(&copier.arena);
    if (status != TAKT_OK) {
        takt_graph_destroy(copier.out);
        return status;
    }
    takt_graph_destroy(g);
    *body = copier.out;
    return TAKT_OK;
}
