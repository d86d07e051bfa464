/* weight.c - initializers: weights, and the small tensors that nodes need. */
#include <string.h>

#include "base/mem.h"
#include "io/onnx/write/emit.h"

void takt_emit_weigh(takt_emit *e, const char *name, const takt_type *type, const void *data)
{
    size_t bytes;
    void *at = e->weights;
    if (e->status != TAKT_OK)
        return;
    if (!takt_type_bytes(type, &bytes)) {
        takt_emit_fail(e, "the size of %s is not known", name);
        return;
    }
    e->status =
        takt_mem_grow(e->ctx, &at, &e->weight_capacity, e->weight_count + 1, sizeof *e->weights);
    e->weights = at;
    if (e->status == TAKT_OK)
        e->weights[e->weight_count++] =
            (takt_emit_weight){.name = name, .type = *type, .data = data, .bytes = bytes};
}

static bool is_read_elsewhere(const takt_emit *e, takt_id id)
{
    const takt_graph *g = e->frame->g;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] == id && i != e->id)
                return true;
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i].id == id)
            return true;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next == id)
            return true;
    return false;
}

void takt_emit_unweigh(takt_emit *e, size_t i)
{
    const char *name = takt_emit_in(e, i);
    size_t at = 0;
    while (at < e->weight_count && strcmp(e->weights[at].name, name) != 0)
        at++;
    if (at == e->weight_count || is_read_elsewhere(e, e->node->in[i]))
        return;
    e->weight_count--;
    memmove(e->weights + at, e->weights + at + 1, (e->weight_count - at) * sizeof *e->weights);
}

static const char *small(takt_emit *e, const takt_type *type, const void *data)
{
    size_t bytes;
    const char *name = takt_emit_fresh(e);
    const void *copy =
        takt_type_bytes(type, &bytes) ? takt_arena_copy(&e->arena, data, bytes) : NULL;
    if (copy == NULL)
        e->status = TAKT_ERR_MEMORY;
    takt_emit_weigh(e, name, type, copy);
    return name;
}

const char *takt_emit_vector(takt_emit *e, const int64_t *values, size_t count)
{
    static const int64_t none = 0;
    const takt_type type = {.dtype = TAKT_I64, .rank = 1, .dim = {(int64_t)count}};
    return small(e, &type, count > 0 ? values : &none);
}

const char *takt_emit_number(takt_emit *e, int64_t value)
{
    return small(e, &(takt_type){.dtype = TAKT_I64}, &value);
}

const char *takt_emit_scalar(takt_emit *e, takt_dtype dtype, double value)
{
    uint64_t raw = 0;
    if (takt_dtype_is_float(dtype))
        takt_dtype_put_f(dtype, &raw, 0, value);
    else
        takt_dtype_put_i(dtype, &raw, 0, takt_dtype_from_double(dtype, value));
    return small(e, &(takt_type){.dtype = dtype}, &raw);
}
