/* fix_inputs.c - inputs whose values are known become constants. */
#include <string.h>

#include "pass/copier.h"

static const takt_tensor *known(const takt_fixed_input *fixed, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(fixed[i].name, name) == 0)
            return &fixed[i].value;
    return NULL;
}

static bool same(const takt_type *a, const takt_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static takt_status edges(takt_copier *c, const takt_fixed_input *fixed, size_t count)
{
    char is[TAKT_TYPE_TEXT], want[TAKT_TYPE_TEXT];
    for (size_t i = 0; i < c->in->input_count; i++) {
        const takt_port *p = &c->in->inputs[i];
        const takt_type *type = takt_type_of(c->in, p->id);
        const takt_tensor *value = known(fixed, count, p->name);
        takt_graph_inherit(c->out, &c->in->nodes[p->id]);
        if (value != NULL && !same(&value->type, type)) {
            takt_fail(c->in->ctx, TAKT_E_BINDING, "input %s is %s, its static value is %s", p->name,
                      takt_type_text(c->in->dims, type, want),
                      takt_type_text(NULL, &value->type, is));
            return takt_fail_hint(c->in->ctx, "sizes of named dimensions come from -D and --shape");
        }
        c->map[p->id] = value != NULL ? takt_graph_constant(c->out, value)
                                      : takt_graph_input(c->out, p->name, type);
    }
    for (size_t i = 0; i < c->in->slot_count; i++) {
        const takt_slot *s = &c->in->slots[i];
        takt_graph_inherit(c->out, &c->in->nodes[s->value]);
        c->map[s->value] = takt_graph_slot(c->out, s->name, &s->type, &s->init, s->is_trainable);
    }
    return c->out->status;
}

takt_status takt_graph_fix_inputs(const takt_graph *in, const takt_fixed_input *fixed, size_t count,
                                  takt_graph **out)
{
    takt_copier c;
    takt_status status = takt_copier_init(&c, in);
    if (status == TAKT_OK)
        status = edges(&c, fixed, count);
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++) {
        if (!c.live[i] || c.map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(&c, (takt_id)i);
        c.map[i] = takt_graph_copy_node(c.out, &n, n.in);
        status = c.out->status;
    }
    return takt_copier_done(&c, status, out);
}
