/* tensor.c - types of tensors, and the constants in the file. */
#include <string.h>

#include "base/size.h"
#include "io/tflite/import.h"

bool takt_tfl_is_constant(const takt_tfl_import *im, const takt_tfl_tensor *t)
{
    if (t->is_variable || t->buffer >= im->model.buffer_count)
        return false;
    if (im->model.buffers[t->buffer].length > 0)
        return true;
    /* A constant without elements has no bytes either; buffer 0 means no data. */
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] == 0)
            return t->buffer != 0;
    return false;
}

takt_status takt_tfl_type_of(takt_tfl_import *im, const takt_tfl_tensor *t, takt_type *type)
{
    const takt_dtype dtype = takt_tfl_dtype_of(t->type);
    *type = (takt_type){.dtype = dtype, .rank = t->rank};
    if (dtype == TAKT_DTYPE_COUNT) {
        (void)takt_fail(im->ctx, TAKT_E_TFLITE_UNSUPPORTED, "tensor %.*s has type %s",
                        (int)t->name.length, t->name.at, takt_tfl_dtype_name(t->type));
        (void)takt_fail_hint(im->ctx, "convert the part of the model that computes with numbers");
        return takt_fail_offset(im->ctx, t->at);
    }
    memcpy(type->dim, t->dim, sizeof type->dim);
    if (t->type != TAKT_TFL_COMPLEX64)
        return TAKT_OK;
    if (t->rank == TAKT_MAX_RANK)
        return takt_flat_fail(&im->model.flat, t->at, "a tensor has too many axes");
    type->dim[type->rank++] = 2;
    return TAKT_OK;
}

/* ---- constants ---- */

/* Elements smaller than a byte are packed two or four to a byte, as in Takt. */
static takt_status fill(takt_tfl_scope *s, const takt_tfl_tensor *t, const takt_tensor *to)
{
    takt_tfl_import *im = s->im;
    const takt_tfl_buffer *b = &im->model.buffers[t->buffer];
    const size_t want = takt_tensor_bytes(to);
    uint8_t *data = takt_tensor_data(to);
    if (t->sparsity.at != 0)
        return takt_tfl_densify(im, t, (size_t)takt_dtype_bits(to->type.dtype) / 8, data);
    if (b->length != want)
        return takt_flat_fail(&im->model.flat, t->at,
                              "tensor %.*s should have %zu bytes, its buffer has %zu",
                              (int)t->name.length, t->name.at, want, b->length);
    TAKT_TRY(takt_source_copy(im->source, im->model.flat.all.base + b->at, data, want));
    for (size_t i = 0; to->type.dtype == TAKT_BOOL && i < want; i++)
        data[i] = data[i] != 0;
    return TAKT_OK;
}

/* A name for a slot, different from all others. */
static const char *slot_name(takt_tfl_scope *s, const takt_tfl_tensor *t)
{
    takt_arena *arena = &s->im->arena;
    const char *name = t->name.length > 0 ? takt_arena_text(arena, t->name.at, t->name.length)
                                          : takt_arena_format(arena, "state_%zu", s->g->slot_count);
    for (size_t i = 1; name != NULL && takt_graph_find_slot(s->g, name) != NULL; i++)
        name = takt_arena_format(arena, "state_%zu_%zu", s->g->slot_count, i);
    return name;
}

/* Variables begin with their zero point, if they are bytes, and with 0 otherwise. */
static takt_status variable(takt_tfl_scope *s, const takt_tfl_tensor *t, const takt_type *type,
                            takt_id *id)
{
    const bool has_zero = type->dtype == TAKT_I8 && t->zero_count > 0;
    const takt_init init = {.kind = TAKT_INIT_CONSTANT, .a = has_zero ? (double)t->zero[0] : 0};
    const char *name = slot_name(s, t);
    if (s->outer != NULL) {
        (void)takt_fail(s->im->ctx, TAKT_E_TFLITE_UNSUPPORTED,
                        "tensor %.*s is a variable inside of a branch or loop", (int)t->name.length,
                        t->name.at);
        return takt_fail_offset(s->im->ctx, t->at);
    }
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    *id = takt_graph_slot(s->g, name, type, &init, false);
    return s->g->status;
}

takt_status takt_tfl_constant(takt_tfl_scope *s, const takt_tfl_tensor *t, takt_id *id)
{
    takt_type type;
    takt_tensor tensor;
    *id = TAKT_NONE;
    TAKT_TRY(takt_tfl_type_of(s->im, t, &type));
    if (t->is_variable)
        return variable(s, t, &type, id);
    TAKT_TRY(takt_tensor_create(s->im->ctx, &type, &tensor));
    const takt_status status = fill(s, t, &tensor);
    if (status == TAKT_OK)
        *id = takt_graph_constant(s->g, &tensor);
    takt_tensor_release(&tensor);
    return status == TAKT_OK ? s->g->status : status;
}
