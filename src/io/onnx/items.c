/* items.c - inputs that are sequences or optionals.
 *
 * Each item is an input with its own sizes: "name.0", "name.1", … How many there are, and whether
 * an optional holds something, is part of the model as ranks are (docs/decisions/0040). It follows
 * from the inputs that are given, or from the sizes: "name=3".
 */
#include "base/size.h"
#include "io/onnx/import.h"

enum { MOST = 4096 };

static const char *item_name(takt_import *im, takt_span name, size_t index)
{
    return takt_arena_format(&im->arena, "%.*s.%zu", (int)name.length, name.at, index);
}

/* How many items were given: "name.0", "name.1", … */
static takt_status given(takt_import *im, takt_span name, int64_t *count)
{
    for (*count = 0; *count < MOST; ++*count) {
        const char *item = item_name(im, name, (size_t)*count);
        if (item == NULL)
            return TAKT_ERR_MEMORY;
        if (takt_import_fixed(im, takt_span_of(item)) == NULL)
            break;
    }
    return TAKT_OK;
}

/* The type without names of dimensions: items have different lengths. */
static takt_status without_names(takt_import *im, const takt_pb_type *type, takt_pb_type **out)
{
    *out = takt_arena_array(&im->arena, 1, sizeof **out);
    if (*out == NULL)
        return TAKT_ERR_MEMORY;
    **out = *type;
    if (type->tensor == NULL || type->tensor->shape == NULL)
        return TAKT_OK;
    takt_pb_tensor_type *t = takt_arena_array(&im->arena, 1, sizeof *t);
    takt_pb_shape *shape = takt_arena_array(&im->arena, 1, sizeof *shape);
    takt_pb_dim *dims =
        takt_arena_array(&im->arena, type->tensor->shape->dim_count + 1, sizeof *dims);
    if (t == NULL || shape == NULL || dims == NULL)
        return TAKT_ERR_MEMORY;
    *t = *type->tensor;
    *shape = *t->shape;
    for (size_t i = 0; i < shape->dim_count; i++) {
        dims[i] = shape->dims[i];
        dims[i].param = (takt_span){NULL, 0};
    }
    shape->dims = dims;
    t->shape = shape;
    (*out)->tensor = t;
    return TAKT_OK;
}

static takt_status add_items(takt_scope *s, const takt_pb_value *in, const takt_pb_type *elem,
                             takt_onnx_value *v)
{
    takt_import *im = s->im;
    takt_id *items = takt_arena_array(&im->arena, v->item_count + 1, sizeof *items);
    takt_pb_value one = {.at = in->at};
    if (items == NULL)
        return TAKT_ERR_MEMORY;
    if (elem != NULL)
        TAKT_TRY(without_names(im, elem, &one.type));
    for (size_t i = 0; i < v->item_count; i++) {
        const char *name = item_name(im, in->name, i);
        takt_type type;
        if (name == NULL)
            return TAKT_ERR_MEMORY;
        one.name = takt_span_of(name);
        TAKT_TRY(takt_import_type(im, &one, &type));
        items[i] = takt_graph_input(s->room->g, name, &type);
    }
    v->items = items;
    return s->room->g->status;
}

/* How many items there are; of an optional, 0 or 1. */
static takt_status count_of(takt_import *im, const takt_pb_value *in, bool is_sequence,
                            int64_t *count)
{
    const int64_t stated = takt_import_size(im, in->name);
    *count = stated;
    if (stated > (is_sequence ? MOST : 1))
        return takt_fail(im->ctx, TAKT_E_SHAPE, "input %.*s: %lld items are more than %d",
                         (int)in->name.length, in->name.at, (long long)stated,
                         is_sequence ? (int)MOST : 1);
    if (stated >= 0)
        return TAKT_OK;
    if (im->source->fixed == NULL)
        return takt_fail(im->ctx, TAKT_E_ONNX_STATIC,
                         "input %.*s is %s: how many items it has must be known when the model is "
                         "loaded (-D %.*s=N, or the items themselves)",
                         (int)in->name.length, in->name.at,
                         is_sequence ? "a sequence" : "an optional", (int)in->name.length,
                         in->name.at);
    if (is_sequence)
        return given(im, in->name, count);
    *count = takt_import_fixed(im, in->name) != NULL;
    return TAKT_OK;
}

takt_status takt_import_items(takt_scope *s, const takt_pb_value *in, takt_onnx_value *v,
                              const takt_pb_type **tensor)
{
    const takt_pb_type *t = in->type;
    int64_t count;
    *tensor = t;
    if (t == NULL || (t->optional == NULL && t->sequence == NULL))
        return TAKT_OK;
    const bool is_optional = t->optional != NULL;
    *tensor = NULL;
    t = is_optional ? t->optional->elem : t;
    const bool is_sequence = t != NULL && t->sequence != NULL;
    TAKT_TRY(count_of(s->im, in, is_sequence, &count));
    v->kind = TAKT_ONNX_NOTHING;
    if (is_optional && count == 0)
        return TAKT_OK;
    if (!is_sequence) {
        *tensor = t;
        return TAKT_OK;
    }
    v->kind = TAKT_ONNX_SEQUENCE;
    v->item_count = (size_t)count;
    return add_items(s, in, t->sequence->elem, v);
}
