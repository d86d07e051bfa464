/* call_op.c - an op with its inputs and attributes. */
#include <string.h>

#include "lang/elab.h"
#include "lang/foreign.h"
#include "op/ops.h"

/* Inputs are the positional arguments; those beyond the op's inputs are attributes in order, and
 * a leading string is the first attribute that is one: einsum("ij,jk->ik", a, b). */
typedef struct shape {
    size_t first, inputs;
} shape;

static shape shape_of(const takt_call *c, const takt_op *op)
{
    shape s = {.first = c->positional > 0 && c->value[0].kind == TAKT_V_STRING ? 1 : 0};
    s.inputs = c->positional - s.first;
    if (op->in_max != TAKT_VARIADIC && s.inputs > (size_t)op->in_max)
        s.inputs = (size_t)op->in_max;
    return s;
}

/* The input of that name; -1: none. */
static int input_index(const takt_op *op, const char *name)
{
    const int named = (int)(sizeof op->in_names / sizeof *op->in_names);
    for (int i = 0; i < op->in_max && i < named; i++)
        if (op->in_names[i] != NULL && strcmp(op->in_names[i], name) == 0 &&
            takt_op_attr_index(op, name) < 0)
            return i;
    return -1;
}

static bool is_kind(const takt_attr_def *def, const takt_value *v)
{
    switch (def->type) {
    case TAKT_ATTR_I64: return v->kind == TAKT_V_INT;
    case TAKT_ATTR_F64: return takt_value_is_number(v);
    case TAKT_ATTR_BOOL: return v->kind == TAKT_V_BOOL;
    case TAKT_ATTR_STRING: return v->kind == TAKT_V_STRING;
    case TAKT_ATTR_ENUM: return v->kind == TAKT_V_WORD;
    case TAKT_ATTR_DTYPE: return v->kind == TAKT_V_DTYPE;
    case TAKT_ATTR_I64S:
    case TAKT_ATTR_F64S:
    case TAKT_ATTR_STRINGS:
    case TAKT_ATTR_SHAPE: return v->kind == TAKT_V_LIST;
    case TAKT_ATTR_TYPE: return v->kind == TAKT_V_TYPE;
    case TAKT_ATTR_GRAPH: return v->kind == TAKT_V_GRAPH;
    case TAKT_ATTR_NONE:
    case TAKT_ATTR_TENSOR: return false;
    }
    return false;
}

static bool has_required(const takt_call *c, const takt_op *op)
{
    for (size_t k = 0; k < takt_op_attr_count(op); k++) {
        bool is_given = !op->attrs[k].is_required;
        for (size_t i = c->positional; i < c->count && !is_given; i++)
            is_given = strcmp(op->attrs[k].name, c->key[i]->text) == 0;
        if (!is_given)
            return false;
    }
    return true;
}

bool takt_call_fits_op(const takt_call *c, const takt_op *op)
{
    if (c->positional < (size_t)op->in_min || (c->positional < 2 && op->in_max > 1) ||
        (op->in_max != TAKT_VARIADIC && c->positional > (size_t)op->in_max) || !has_required(c, op))
        return false;
    for (size_t i = 0; i < c->count; i++) {
        const takt_value *v = &c->value[i];
        if (i < c->positional) {
            if (v->kind != TAKT_V_TENSOR && !takt_value_is_word(v, "none"))
                return false;
            continue;
        }
        const int index = takt_op_attr_index(op, c->key[i]->text);
        if (index < 0 && v->kind == TAKT_V_TENSOR && input_index(op, c->key[i]->text) >= 0)
            continue;
        if (index < 0 || !is_kind(&op->attrs[index], v))
            return false;
    }
    return true;
}

static bool unknown_attr(takt_frame *f, const takt_call *c, const takt_op *op, size_t i)
{
    char hint[TAKT_HINT_TEXT];
    takt_nearest near = takt_nearest_to(c->key[i]->text);
    for (size_t k = 0; k < takt_op_attr_count(op); k++)
        takt_foreign_keyword(&near, op->attrs[k].name);
    for (size_t k = 0; k < sizeof op->in_names / sizeof *op->in_names; k++)
        if (op->in_names[k] != NULL)
            takt_nearest_try(&near, op->in_names[k]);
    takt_ast word = *c->place[i];
    word.length = (uint32_t)c->key[i]->length;
    takt_complain(f, &word, TAKT_E_ATTR, takt_nearest_hint(&near, hint),
                  "%s: there is no attribute called %s", op->name, c->key[i]->text);
    return false;
}

static int string_attr(const takt_op *op)
{
    for (size_t i = 0; i < takt_op_attr_count(op); i++)
        if (op->attrs[i].type == TAKT_ATTR_STRING)
            return (int)i;
    return -1;
}

static bool set_attr(takt_frame *f, const takt_call *c, const takt_op *op, size_t i, int index,
                     takt_attr *attrs)
{
    if (attrs[index].is_set) {
        takt_complain(f, c->place[i], TAKT_E_DUPLICATE, NULL, "%s: attribute %s is given twice",
                      op->name, op->attrs[index].name);
        return false;
    }
    return takt_elab_attr(f, c->place[i], op, (size_t)index, &c->value[i], &attrs[index]);
}

static bool collect(takt_frame *f, const takt_call *c, const takt_op *op, shape s, takt_attr *attrs)
{
    const size_t count = takt_op_attr_count(op);
    bool good = true;
    if (s.first == 1) {
        const int index = string_attr(op);
        if (index < 0) {
            takt_complain(f, c->place[0], TAKT_E_CALL, NULL, "%s: takes no string", op->name);
            return false;
        }
        good = set_attr(f, c, op, 0, index, attrs);
    }
    size_t next = 0;
    for (size_t i = s.first + s.inputs; i < c->positional && good; i++, next++) {
        if (next >= count) {
            takt_complain(f, c->place[i], TAKT_E_ARITY, NULL, "%s: takes %d input%s, got %zu",
                          op->name, op->in_max, op->in_max == 1 ? "" : "s", c->positional);
            return false;
        }
        good = set_attr(f, c, op, i, (int)next, attrs);
    }
    for (size_t i = c->positional; i < c->count; i++) {
        const int index = takt_op_attr_index(op, c->key[i]->text);
        if (input_index(op, c->key[i]->text) >= 0)
            continue;
        good =
            (index < 0 ? unknown_attr(f, c, op, i) : set_attr(f, c, op, i, index, attrs)) && good;
    }
    return good;
}

/* The inputs in order: those given by position, then those given by name, with `none` in between.
 * NULL: a failure was reported. */
static takt_value *inputs_of(takt_frame *f, const takt_call *c, const takt_op *op, shape *s)
{
    static const takt_symbol none = {.text = "none", .length = 4};
    size_t count = s->inputs;
    for (size_t i = c->positional; i < c->count; i++) {
        const size_t end = (size_t)(input_index(op, c->key[i]->text) + 1);
        count = end > count ? end : count;
    }
    takt_value *all = takt_frame_items(f, count);
    if (all == NULL) {
        takt_out_of_memory(f);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = i < s->inputs ? c->value[s->first + i] : takt_value_word(&none);
    for (size_t i = c->positional; i < c->count; i++) {
        const int at = input_index(op, c->key[i]->text);
        if (at >= 0 && ((size_t)at < s->inputs || !takt_value_is_word(&all[at], "none"))) {
            takt_complain(f, c->place[i], TAKT_E_DUPLICATE, NULL, "%s: input %s is given twice",
                          op->name, c->key[i]->text);
            return NULL;
        }
        if (at >= 0)
            all[at] = c->value[i];
    }
    s->inputs = count;
    return all;
}

/* The model's layout, if the op has one and the call does not set it. */
static void default_layout(const takt_frame *f, const takt_op *op, takt_attr *attrs)
{
    const int index = takt_op_attr_index(op, "layout");
    if (f->e->layout == NULL || index < 0 || attrs[index].is_set ||
        op->attrs[index].type != TAKT_ATTR_ENUM)
        return;
    for (int i = 0; op->attrs[index].names[i] != NULL; i++)
        if (strcmp(op->attrs[index].names[i], f->e->layout->text) == 0)
            attrs[index] = (takt_attr){.is_set = true, .i64 = i};
}

takt_value takt_call_op(takt_frame *f, const takt_call *c, const takt_op *op)
{
    if (op == &takt_op_input || op == &takt_op_state || op == &takt_op_constant)
        return takt_complain(f, c->ast, TAKT_E_CALL,
                             "inputs stand in the model's header; states and parameters are "
                             "`state name: type = value` and `param ...`",
                             "%s is not called like an op", op->name);
    shape s = shape_of(c, op);
    takt_attr *attrs = takt_arena_array(&f->arena, TAKT_MAX_ATTRS, sizeof *attrs);
    if (attrs == NULL)
        return takt_out_of_memory(f);
    if (op == &takt_op_reshape && !takt_fill_shape(f, c))
        return takt_value_poison();
    if (!collect(f, c, op, s, attrs))
        return takt_value_poison();
    default_layout(f, op, attrs);
    const takt_value *inputs = inputs_of(f, c, op, &s);
    if (inputs == NULL)
        return takt_value_poison();
    const takt_id id = takt_elab_append(f, c->ast, op, inputs, s.inputs, attrs);
    if (id == TAKT_NONE)
        return takt_value_poison();
    const uint32_t results = takt_node_at(f->graph, id)->out_count;
    if (results == 1)
        return takt_value_tensor(id);
    return (takt_value){.kind = TAKT_V_RESULTS, .count = results, .id = id};
}
