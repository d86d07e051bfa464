/* fill_shape.c - reshape(x, shape=[-1, 10]): the remaining size, also of named dimensions. */
#include "lang/elab.h"

/* The shape among the arguments, if it has exactly one -1; `at` is its place in the list. */
static takt_value *open_shape(const takt_call *c, uint32_t *at)
{
    if (c->count != 2 || c->value[0].kind != TAKT_V_TENSOR || c->value[1].kind != TAKT_V_LIST)
        return NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->value[1].count; i++) {
        const takt_value *v = &c->value[1].items[i];
        if (v->kind != TAKT_V_INT || v->i != -1)
            continue;
        *at = i;
        count++;
    }
    return count == 1 ? &c->value[1] : NULL;
}

static bool multiply(takt_frame *f, takt_dim *product, takt_dim factor)
{
    return takt_dim_make(f->graph->dims, TAKT_DIM_MUL, *product, factor, product) == TAKT_OK;
}

bool takt_fill_shape(takt_frame *f, const takt_call *c)
{
    uint32_t at = 0;
    takt_value *shape = open_shape(c, &at);
    takt_dim total = 1, rest = 1, size = 0, back = 0;
    if (shape == NULL)
        return true;
    const takt_type type = *takt_type_of(f->graph, c->value[0].id);
    bool good = true;
    for (int i = 0; good && i < type.rank; i++)
        good = multiply(f, &total, type.dim[i]);
    for (uint32_t i = 0; good && i < shape->count; i++) {
        const takt_value *v = &shape->items[i];
        if (i != at && !takt_value_is_size(v))
            return true; /* the attribute's own check reports it */
        good = i == at || multiply(f, &rest, v->dim);
    }
    takt_dims *dims = f->graph->dims;
    if (good && rest != 0)
        good = takt_dim_make(dims, TAKT_DIM_FLOORDIV, total, rest, &size) == TAKT_OK;
    if (!good)
        return takt_complain_last(f, c->ast).b;
    back = size;
    char text[TAKT_TYPE_TEXT], wanted[TAKT_VALUE_TEXT];
    if (rest == 0 || !multiply(f, &back, rest) || !takt_dim_same(dims, back, total))
        return takt_complain(f, c->ast, TAKT_E_SHAPE, "the other sizes must divide the elements",
                             "reshape: no whole size fits -1 when %s becomes %s",
                             takt_type_text(dims, &type, text),
                             takt_value_text(f->graph, shape, wanted))
            .b;
    takt_value *items = takt_frame_items(f, shape->count);
    if (items == NULL)
        return false;
    for (uint32_t i = 0; i < shape->count; i++)
        items[i] = i == at ? takt_value_dim(size) : shape->items[i];
    shape->items = items;
    return true;
}
