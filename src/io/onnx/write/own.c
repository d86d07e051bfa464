/* own.c - nodes of domain "takt", for ops that ONNX lacks. Takt reads them back. */
#include "io/onnx/write/emit.h"

static bool numbers(takt_emit *e, const takt_attr *a, int64_t *out)
{
    for (uint32_t i = 0; i < a->count; i++) {
        takt_dim d;
        if (takt_dim_resolve(e->root->dims, a->dims[i], &d) != TAKT_OK || !takt_dim_is_number(d))
            return false;
        out[i] = d;
    }
    return true;
}

static void shape(takt_emit *e, const char *name, const takt_attr *a)
{
    int64_t dims[TAKT_MAX_RANK];
    if (a->count > TAKT_MAX_RANK || !numbers(e, a, dims))
        takt_emit_fail(e, "its %s has named dimensions, and ONNX has no such operator", name);
    else if (a->count > 0)
        takt_emit_ints(e, name, dims, a->count);
}

static void attribute(takt_emit *e, const takt_attr_def *def, const takt_attr *a)
{
    switch (def->type) {
    case TAKT_ATTR_I64: takt_emit_i(e, def->name, a->i64); break;
    case TAKT_ATTR_BOOL: takt_emit_i(e, def->name, a->boolean); break;
    case TAKT_ATTR_F64: takt_emit_attr_tensor(e, def->name, a->f64); break;
    case TAKT_ATTR_STRING: takt_emit_s(e, def->name, a->string); break;
    case TAKT_ATTR_ENUM: takt_emit_s(e, def->name, def->names[a->i64]); break;
    case TAKT_ATTR_DTYPE: takt_emit_i(e, def->name, takt_onnx_elem(a->dtype)); break;
    case TAKT_ATTR_I64S: takt_emit_ints(e, def->name, a->i64s, a->count); break;
    case TAKT_ATTR_SHAPE: shape(e, def->name, a); break;
    case TAKT_ATTR_STRINGS:
        if (a->count == 0) /* ONNX has no empty lists */
            break;
        takt_emit_fail(e, "its attribute %s cannot be written", def->name);
        break;
    default: takt_emit_fail(e, "its attribute %s cannot be written", def->name);
    }
}

void takt_emit_own(takt_emit *e, const takt_node *n)
{
    const char **in = takt_arena_array(&e->arena, n->in_count + 1, sizeof *in);
    if (in == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return;
    }
    for (uint32_t i = 0; i < n->in_count; i++)
        in[i] = takt_emit_in(e, i);
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++)
        if (n->attr[i].is_set)
            attribute(e, &n->op->attrs[i], &n->attr[i]);
    e->uses_own = true;
    takt_emit_call_many(e, n->op->name, "takt", (takt_emit_list){n->out_count, e->outs},
                        (takt_emit_list){n->in_count, in});
}
