/* specialize.c - substitutes numbers for named dimensions, everywhere in a graph. */
#include <string.h>

#include "ir/attr.h"
#include "ir/leaves.h"
#include "op/util/length.h"
#include "pass/branch.h"
#include "pass/copier.h"

typedef struct sizes {
    const int64_t *of;
    size_t count;
    const int64_t *tops; /* sizes to plan with where each iteration finds its own; NULL: none */
} sizes;

static takt_status put_dim(takt_dims *dims, takt_dim from, const sizes *s, takt_dim *to)
{
    TAKT_TRY(takt_dim_resolve(dims, from, to));
    return takt_dim_substitute(dims, *to, s->of, s->count, to);
}

static takt_status put_type(takt_dims *dims, const takt_type *from, const sizes *s, takt_type *to)
{
    *to = *from;
    for (int d = 0; d < from->rank; d++)
        TAKT_TRY(put_dim(dims, from->dim[d], s, &to->dim[d]));
    return TAKT_OK;
}

static takt_status put_shape(takt_copier *c, const takt_attr *from, const sizes *s, takt_attr *to)
{
    takt_dim *dims = takt_arena_array(&c->arena, from->count, sizeof *dims);
    if (dims == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < from->count; i++)
        TAKT_TRY(put_dim(c->in->dims, from->dims[i], s, &dims[i]));
    to->dims = dims;
    return TAKT_OK;
}

/* A bound that the model does not give is the caller's. */
static void put_bounds(const takt_copier *c, const takt_node *n, const sizes *s, takt_attr *attrs)
{
    const takt_attr *names = &n->attr[TAKT_LENGTH_NAMES];
    size_t name;
    for (uint32_t k = 0; k < names->count; k++) {
        takt_dim *bound = (takt_dim *)(uintptr_t)attrs[TAKT_LENGTH_BOUNDS].dims; /* put_shape's */
        takt_dim *top = (takt_dim *)(uintptr_t)attrs[TAKT_LENGTH_TOPS].dims;
        if (!takt_dim_is_name(c->in->dims, names->dims[k], &name) || name >= s->count ||
            s->tops[name] < 0)
            continue;
        bound[k] = bound[k] == TAKT_LENGTH_OPEN ? s->tops[name] : bound[k];
        top[k] = top[k] == TAKT_LENGTH_OPEN ? s->tops[name] : top[k];
    }
}

static takt_status copy(takt_copier *c, takt_id id, const sizes *s)
{
    const takt_node n = takt_copier_node(c, id);
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_graph *children[TAKT_MAX_ATTRS];
    const size_t count = takt_op_attr_count(n.op);
    takt_status status = takt_specialize_children(c->in, &n, s->of, s->count, children);
    for (size_t i = 0; i < count && status == TAKT_OK; i++) {
        attrs[i] = n.attr[i];
        if (n.attr[i].is_set && n.op->attrs[i].type == TAKT_ATTR_SHAPE)
            status = put_shape(c, &n.attr[i], s, &attrs[i]);
        if (children[i] != NULL)
            attrs[i].graph = children[i];
    }
    if (status == TAKT_OK && n.op == &takt_op_length && s->tops != NULL)
        put_bounds(c, &n, s, attrs);
    if (status == TAKT_OK) {
        c->map[id] = takt_graph_append(c->out, n.op, n.in_count, n.in, attrs);
        status = c->out->status;
    }
    for (size_t i = 0; i < count; i++)
        takt_graph_destroy(children[i]); /* the new node holds its own reference */
    return status;
}

static takt_status edges(takt_copier *c, const sizes *s)
{
    takt_type type;
    for (size_t i = 0; i < c->in->input_count; i++) {
        const takt_port *p = &c->in->inputs[i];
        TAKT_TRY(put_type(c->in->dims, takt_type_of(c->in, p->id), s, &type));
        takt_graph_inherit(c->out, &c->in->nodes[p->id]);
        c->map[p->id] = takt_graph_input(c->out, p->name, &type);
    }
    for (size_t i = 0; i < c->in->slot_count; i++) {
        const takt_slot *slot = &c->in->slots[i];
        TAKT_TRY(put_type(c->in->dims, &slot->type, s, &type));
        takt_graph_inherit(c->out, &c->in->nodes[slot->value]);
        c->map[slot->value] =
            takt_graph_slot(c->out, slot->name, &type, &slot->init, slot->is_trainable);
    }
    return c->out->status;
}

takt_status takt_graph_specialize_body(const takt_graph *in, const int64_t *of, const int64_t *tops,
                                       size_t count, takt_graph **out)
{
    const sizes s = {of, count, tops};
    takt_copier c;
    takt_status status = takt_copier_init(&c, in);
    if (status == TAKT_OK)
        status = edges(&c, &s);
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++)
        if (c.live[i] && c.map[i] == TAKT_NONE)
            status = copy(&c, (takt_id)i, &s);
    return takt_copier_done(&c, status, out);
}

takt_status takt_graph_specialize(const takt_graph *in, const int64_t *of, size_t count,
                                  takt_graph **out)
{
    return takt_graph_specialize_body(in, of, NULL, count, out);
}
