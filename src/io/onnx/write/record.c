/* record.c - nodes that map to the ONNX operator named in the op's record. */
#include "io/onnx/write/emit.h"
#include "op/record/celu.h"

/* Ops for which ONNX supports fewer element types than we do, at the opsets written. */
static const struct {
    const takt_op *op;
    takt_dtype_set dtypes;
} narrower[] = {
    {&takt_op_celu, TAKT_IN(TAKT_F32)},
    {&takt_op_neg, TAKT_FLOATS | TAKT_SIGNED},
    {&takt_op_matmul,
     TAKT_FLOATS | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_U32) | TAKT_IN(TAKT_U64)},
    {&takt_op_pow, TAKT_FLOATS | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64)},
    {&takt_op_lt, TAKT_NUMBERS},
    {&takt_op_le, TAKT_NUMBERS},
    {&takt_op_gt, TAKT_NUMBERS},
    {&takt_op_ge, TAKT_NUMBERS},
    {&takt_op_global_max_pool, TAKT_FLOATS},
};

static bool fits(const takt_op *op, takt_dtype dtype)
{
    for (size_t i = 0; i < sizeof narrower / sizeof *narrower; i++)
        if (narrower[i].op == op)
            return (narrower[i].dtypes & TAKT_IN(dtype)) != 0;
    return true;
}

/* The wider type in which integer arithmetic wraps to the same bits; itself if there is none. */
static takt_dtype wider(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_I8:
    case TAKT_I16: return TAKT_I32;
    case TAKT_U8:
    case TAKT_U16: return TAKT_U32;
    case TAKT_BOOL: return TAKT_U8;
    default: return dtype;
    }
}

static const char *name_of(const takt_emit *e, const takt_node *n)
{
    const bool is_bool = n->in_count > 0 && takt_emit_type(e, 0)->dtype == TAKT_BOOL;
    for (size_t k = 0; k < 4 && n->op->onnx[k].name != NULL; k++) {
        const takt_onnx_name *o = &n->op->onnx[k];
        const bool bitwise = o->name[0] == 'B' && o->name[1] == 'i' && o->name[2] == 't';
        const bool has_bitwise = n->op->onnx[1].name != NULL;
        if ((o->until == 0 || e->opset <= o->until) && (!has_bitwise || bitwise != is_bool))
            return o->name;
    }
    return NULL;
}

/* ONNX attributes are floats: a value that does not fit is kept by writing the node's lowering. */
static bool loses(const takt_node *n, const takt_attr_def *def, const takt_attr *a)
{
    return def->type == TAKT_ATTR_F64 && n->type[0].dtype == TAKT_F64 && n->op->lower != NULL &&
           (double)(float)a->f64 != a->f64;
}

static bool check(const takt_node *n)
{
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++) {
        const takt_attr_def *def = &n->op->attrs[i];
        if (loses(n, def, &n->attr[i]))
            return false;
        if (def->type == TAKT_ATTR_ENUM && def->onnx == NULL && n->op != &takt_op_gelu &&
            n->attr[i].i64 != 0)
            return false; /* the layout nhwc */
    }
    return true;
}

static void attributes(takt_emit *e, const takt_node *n)
{
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++) {
        const takt_attr_def *def = &n->op->attrs[i];
        const takt_attr *a = &n->attr[i];
        const char *name = def->onnx != NULL ? def->onnx : def->name;
        if (!a->is_set)
            continue;
        if (def->type == TAKT_ATTR_I64)
            takt_emit_i(e, name, a->i64);
        else if (def->type == TAKT_ATTR_BOOL)
            takt_emit_i(e, name, a->boolean);
        else if (def->type == TAKT_ATTR_F64)
            takt_emit_f(e, name, a->f64);
        else if (def->type == TAKT_ATTR_STRING)
            takt_emit_s(e, name, a->string);
        else if (def->type == TAKT_ATTR_I64S)
            takt_emit_ints(e, name, a->i64s, a->count);
        else if (def->type == TAKT_ATTR_DTYPE)
            takt_emit_i(e, name, takt_onnx_elem(a->dtype));
        else if (def->type == TAKT_ATTR_ENUM && (def->onnx != NULL || n->op == &takt_op_gelu))
            takt_emit_s(e, name, def->names[a->i64]);
    }
}

bool takt_emit_record(takt_emit *e, const takt_node *n)
{
    const char *name = name_of(e, n), *in[64];
    if (name == NULL || n->in_count == 0 || n->in_count > 64 || n->out_count != 1 || !check(n))
        return false;
    const takt_dtype dtype = takt_emit_type(e, 0)->dtype;
    takt_dtype via = dtype;
    if (!fits(n->op, dtype)) {
        via = wider(dtype);
        if (via == dtype || !fits(n->op, via) || n->op == &takt_op_pow)
            return false;
    }
    for (uint32_t i = 0; i < n->in_count; i++) {
        in[i] = takt_emit_in(e, i);
        if (via != dtype)
            in[i] = takt_emit_cast(e, takt_emit_fresh(e), in[i], via);
    }
    attributes(e, n);
    if (via == dtype || n->type[0].dtype == TAKT_BOOL) {
        takt_emit_call(e, name, e->out, n->in_count, in);
        return true;
    }
    takt_emit_cast(e, e->out, takt_emit_call(e, name, takt_emit_fresh(e), n->in_count, in), dtype);
    return true;
}
