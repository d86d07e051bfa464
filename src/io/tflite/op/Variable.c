/* Variable.c - VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE: state between runs.
 *
 * The graph of CALL_ONCE assigns a variable's first value. A variable that is read before it is
 * assigned is state: its final value is kept for the next run.
 */
#include <string.h>

#include "io/tflite/adapt.h"

static takt_tfl_variable *variable_of(takt_tfl_call *c)
{
    if (!takt_tfl_has(c, 0)) {
        (void)takt_tfl_refuse(c, "no handle");
        return NULL;
    }
    const takt_tfl_value *v = &c->scope->values[c->op->inputs[0]];
    if (v->state != TAKT_TFL_HANDLE) {
        (void)takt_tfl_refuse(c, "its handle comes from no VAR_HANDLE");
        return NULL;
    }
    if (c->scope->outer != NULL && !c->scope->is_first) {
        (void)takt_tfl_refuse(c, "a variable inside of a branch or loop");
        return NULL;
    }
    return &c->im->variables[v->variable];
}

static takt_status handle(takt_tfl_call *c)
{
    enum { CONTAINER, NAME };
    const takt_flat_table *o = &c->op->options;
    const takt_span container = takt_flat_text(c->flat, o, CONTAINER),
                    name = takt_flat_text(c->flat, o, NAME);
    size_t index;
    if (c->op->output_count != 1 || !takt_tfl_good(c))
        return takt_tfl_refuse(c, "it has %zu results", c->op->output_count);
    TAKT_TRY(takt_tfl_variable_of(c->im, container, name, &index));
    c->scope->values[c->op->outputs[0]] =
        (takt_tfl_value){.state = TAKT_TFL_HANDLE, .variable = index};
    return c->status;
}

/* The initial value, or zeros if none was given. */
static takt_status add_slot(takt_tfl_call *c, takt_tfl_variable *v)
{
    takt_type type;
    takt_init init = {.kind = TAKT_INIT_CONSTANT};
    TAKT_TRY(takt_tfl_type_of(c->im, takt_tfl_tensor_out(c, 0), &type));
    if (v->first != TAKT_NONE) {
        const takt_node *n = takt_node_at(c->g, v->first);
        if (n->op != &takt_op_constant)
            return takt_tfl_refuse(c, "the first value of %s is computed", v->name);
        type = n->type[0];
        init = (takt_init){.kind = TAKT_INIT_TENSOR, .tensor = n->attr[0].tensor};
    }
    const char *name = v->name[0] != '\0' ? v->name : "variable";
    for (size_t i = 1; name != NULL && takt_graph_find_slot(c->g, name) != NULL; i++)
        name = takt_arena_format(&c->im->arena, "%s_%zu", v->name, i);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    v->slot = name;
    v->now = takt_graph_slot(c->g, name, &type, &init, false);
    return c->g->status;
}

static takt_status read(takt_tfl_call *c)
{
    takt_tfl_variable *v = variable_of(c);
    if (v == NULL)
        return c->status;
    if (c->scope->is_first)
        return takt_tfl_refuse(c, "a variable is read while variables get their first values");
    if (v->now == TAKT_NONE)
        TAKT_TRY(add_slot(c, v));
    return takt_tfl_done(c, v->now);
}

static takt_status assign(takt_tfl_call *c)
{
    takt_tfl_variable *v = variable_of(c);
    const takt_id x = takt_tfl_need(c, 1);
    if (v == NULL || x == TAKT_NONE)
        return takt_tfl_refuse(c, "nothing to assign");
    if (c->scope->is_first) {
        v->first = x;
        return c->status;
    }
    v->now = x;
    v->is_written = true;
    return c->status;
}

static takt_status once(takt_tfl_call *c)
{
    takt_tfl_scope s;
    const int32_t index = takt_tfl_i32(c, 0, 0);
    if (c->scope->outer != NULL)
        return takt_tfl_refuse(c, "it is inside of a branch or loop");
    TAKT_TRY(takt_tfl_open(c->im, c->scope, index, c->g, &s));
    s.is_first = true;
    const takt_status status = takt_tfl_operators(&s);
    takt_tfl_close(&s);
    return status;
}

static takt_status adapt(takt_tfl_call *c)
{
    return takt_tfl_is(c, "VAR_HANDLE")      ? handle(c)
           : takt_tfl_is(c, "READ_VARIABLE") ? read(c)
           : takt_tfl_is(c, "CALL_ONCE")     ? once(c)
                                             : assign(c);
}

const takt_tflite_op takt_tflite_Variable = {
    .names = {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"}, .adapt = adapt};
