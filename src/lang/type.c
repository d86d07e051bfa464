/* type.c - types as they are written: f32[batch, 10], [10], i64. */
#include "lang/elab.h"

static bool sizes(takt_frame *f, const takt_ast *at, const takt_value *items, size_t count,
                  takt_type *type)
{
    char text[TAKT_VALUE_TEXT];
    if (count > TAKT_MAX_RANK) {
        takt_complain(f, at, TAKT_E_RANK, NULL, "a tensor has at most %d dimensions, not %zu",
                      TAKT_MAX_RANK, count);
        return false;
    }
    type->rank = (int)count;
    for (size_t i = 0; i < count; i++) {
        const takt_value *v = &items[i];
        if (v->kind == TAKT_V_POISON)
            return false;
        if (!takt_value_is_size(v)) {
            takt_complain(f, at, TAKT_E_DIM,
                          "sizes are numbers, names such as batch, and sums and "
                          "products of them",
                          "%s is not a size", takt_value_text(f->graph, v, text));
            return false;
        }
        type->dim[i] = v->dim;
    }
    return true;
}

takt_value takt_eval_sizes(takt_frame *f, const takt_ast *a, takt_dtype dtype)
{
    takt_type type = {.dtype = dtype};
    takt_value items[TAKT_MAX_RANK + 1];
    size_t count = 0;
    const bool before = f->e->takes_dims;
    f->e->takes_dims = true;
    for (const takt_ast *i = a->b; i != NULL && count <= TAKT_MAX_RANK; i = i->next)
        items[count++] = takt_eval_expr(f, i);
    f->e->takes_dims = before;
    if (!sizes(f, a, items, count, &type))
        return takt_value_poison();
    const takt_type *kept = takt_arena_copy(&f->arena, &type, sizeof type);
    return kept != NULL ? (takt_value){.kind = TAKT_V_TYPE, .type = kept} : takt_out_of_memory(f);
}

bool takt_eval_type(takt_frame *f, const takt_ast *a, takt_type *type)
{
    const bool before = f->e->takes_dims;
    char text[TAKT_VALUE_TEXT];
    *type = (takt_type){.dtype = TAKT_F32};
    f->e->takes_dims = a->kind == TAKT_A_LIST;
    const takt_value v = takt_eval_expr(f, a);
    f->e->takes_dims = before;
    if (v.kind == TAKT_V_TYPE)
        *type = *v.type;
    else if (v.kind == TAKT_V_DTYPE)
        type->dtype = v.dtype;
    else if (v.kind == TAKT_V_LIST)
        return sizes(f, a, v.items, v.count, type);
    else if (v.kind != TAKT_V_POISON)
        takt_complain(f, a, TAKT_E_CALL,
                      "a type is an element type and sizes, such as f32[batch, 10]",
                      "%s is not a type", takt_value_text(f->graph, &v, text));
    return v.kind == TAKT_V_TYPE || v.kind == TAKT_V_DTYPE;
}
