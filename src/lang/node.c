/* node.c - appending nodes: operands, numbers as scalars, names and complaints. */
#include <math.h>
#include <string.h>

#include "lang/elab.h"
#include "op/ops.h"

/* ---- numbers ---- */

static bool put_int(int64_t i, takt_dtype dtype, void *data, size_t index)
{
    const bool is_u64 = dtype == TAKT_U64;
    if (dtype == TAKT_BOOL ? i != 0 && i != 1 : takt_dtype_wrap(dtype, i) != i || (is_u64 && i < 0))
        return false;
    takt_dtype_put_i(dtype, data, index, i);
    return true;
}

bool takt_put_element(const takt_value *v, takt_dtype dtype, void *data, size_t index)
{
    if (v->kind == TAKT_V_BOOL) {
        if (dtype == TAKT_BOOL)
            takt_dtype_put_i(dtype, data, index, v->b);
        return dtype == TAKT_BOOL;
    }
    if (!takt_value_is_number(v))
        return false;
    if (takt_dtype_is_float(dtype)) {
        takt_dtype_put_f(dtype, data, index, takt_value_double(v));
        return true;
    }
    if (v->kind == TAKT_V_INT)
        return put_int(v->i, dtype, data, index);
    if (v->kind == TAKT_V_BIG) {
        if (dtype == TAKT_U64)
            takt_dtype_put_i(dtype, data, index, (int64_t)v->u);
        return dtype == TAKT_U64;
    }
    /* 2.0 is an integer too; beyond 2^53 it would be ambiguous. */
    return v->f == trunc(v->f) && fabs(v->f) <= 9007199254740992.0 &&
           put_int((int64_t)v->f, dtype, data, index);
}

takt_id takt_elab_scalar(takt_frame *f, const takt_ast *at, const takt_value *v, takt_dtype dtype)
{
    char text[TAKT_VALUE_TEXT];
    const takt_type type = {.dtype = dtype, .rank = 0};
    takt_tensor tensor = {0};
    if (v->kind == TAKT_V_DIM) {
        takt_complain(f, at, TAKT_E_DIM,
                      "take it from a tensor at run time: cast(dim(x, axis=0), "
                      "dtype=f32)",
                      "%s has no value while the model is built",
                      takt_value_text(f->graph, v, text));
        return TAKT_NONE;
    }
    if (!takt_value_is_number(v) && v->kind != TAKT_V_BOOL) {
        takt_complain(f, at, TAKT_E_CALL, NULL, "a tensor or a number is wanted here, not %s",
                      takt_value_kind_text(v));
        return TAKT_NONE;
    }
    if (takt_tensor_create(f->e->ctx, &type, &tensor) != TAKT_OK) {
        takt_complain_last(f, at);
        return TAKT_NONE;
    }
    takt_id id = TAKT_NONE;
    memset(takt_tensor_data(&tensor), 0, takt_tensor_bytes(&tensor));
    if (!takt_put_element(v, dtype, takt_tensor_data(&tensor), 0))
        takt_complain(f, at, TAKT_E_DTYPE, "cast the tensor first: cast(x, dtype=...)",
                      "%s is not a value of %s", takt_value_text(f->graph, v, text),
                      takt_dtype_name(dtype));
    else if ((id = takt_graph_constant(f->graph, &tensor)) == TAKT_NONE)
        takt_complain_last(f, at);
    takt_tensor_release(&tensor);
    return id;
}

/* ---- operands ---- */

static bool is_only(takt_dtype_set set)
{
    return set != 0 && (set & (set - 1)) == 0;
}

static takt_dtype only(takt_dtype_set set)
{
    int d = 0;
    while ((set & TAKT_IN(d)) == 0)
        d++;
    return (takt_dtype)d;
}

/* The element type that a number among the operands takes from the tensors. */
static takt_dtype number_dtype(const takt_frame *f, const takt_op *op, const takt_value *in,
                               size_t count, size_t index)
{
    const bool is_choice = op == &takt_op_select;
    if (is_only(op->dtypes))
        return only(op->dtypes);
    if (in[index].kind == TAKT_V_BOOL)
        return TAKT_BOOL;
    for (size_t i = is_choice ? 1 : 0; i < count; i++) {
        if (in[i].kind != TAKT_V_TENSOR)
            continue;
        const takt_dtype dtype = takt_type_of(f->graph, in[i].id)->dtype;
        if (!op->is_mixed || is_choice ||
            (in[index].kind == TAKT_V_FLOAT && takt_dtype_is_float(dtype)))
            return dtype;
    }
    return in[index].kind == TAKT_V_FLOAT || !op->is_mixed ? TAKT_F32 : TAKT_I64;
}

typedef struct operands {
    const takt_ast *at;
    const takt_op *op;
    takt_value *in;
    size_t count;
} operands;

static bool operand(takt_frame *f, const operands *all, size_t index, takt_id *id)
{
    const takt_ast *at = all->at;
    const takt_op *op = all->op;
    takt_value *v = &all->in[index];
    *id = TAKT_NONE;
    if (v->kind == TAKT_V_POISON)
        return false;
    if (takt_value_is_word(v, "none"))
        return true;
    if (v->kind == TAKT_V_RESULTS && op == &takt_op_get) {
        *id = v->id;
        return true;
    }
    if (v->kind == TAKT_V_RESULTS || v->kind == TAKT_V_TUPLE) {
        takt_complain(f, at, TAKT_E_ARITY, "name them first: `a, b = ...`",
                      "%s takes one tensor at a time, not %u results", op->name, v->count);
        return false;
    }
    if (v->kind != TAKT_V_TENSOR)
        *v = takt_value_tensor(
            takt_elab_scalar(f, at, v, number_dtype(f, op, all->in, all->count, index)));
    *id = v->kind == TAKT_V_TENSOR ? v->id : TAKT_NONE;
    return *id != TAKT_NONE;
}

const char *takt_elab_root_name(takt_frame *f, const takt_ast *at)
{
    if (f->e->root != at || f->e->root_name == NULL)
        return NULL;
    const char *name = takt_arena_text(&f->graph->arena, f->e->root_name, strlen(f->e->root_name));
    if (name == NULL)
        (void)takt_out_of_memory(f);
    return name;
}

takt_id takt_elab_append(takt_frame *f, const takt_ast *at, const takt_op *op, const takt_value *in,
                         size_t count, const takt_attr *attrs)
{
    takt_id *ids = takt_arena_array(&f->arena, count, sizeof *ids);
    takt_value *values = takt_frame_items(f, count);
    bool good = ids != NULL && values != NULL;
    if (!good)
        takt_out_of_memory(f);
    if (good && count > 0)
        memcpy(values, in, count * sizeof *in);
    for (size_t i = 0; good && i < count; i++)
        good = operand(f, &(operands){at, op, values, count}, i, &ids[i]);
    if (!good)
        return TAKT_NONE;
    f->graph->next_name = takt_elab_root_name(f, at);
    const takt_id id = takt_graph_append(f->graph, op, count, ids, attrs);
    if (id == TAKT_NONE)
        takt_complain_last(f, at);
    return id;
}

takt_value takt_elab_result(takt_frame *f, const takt_ast *at, const takt_value *v, uint32_t index)
{
    if (v->kind == TAKT_V_TUPLE)
        return v->items[index];
    f->graph->next_name = takt_elab_root_name(f, at);
    const takt_id id = takt_graph_get(f->graph, v->id, index);
    if (id == TAKT_NONE)
        return takt_complain_last(f, at);
    return takt_value_tensor(id);
}
