/* fixed.c - static inputs: their values as tensors, copies for later plans, and their digest. */
#include "api/fixed.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/near.h"
#include "ir/normal.h"

static takt_status type_of(takt_ctx *ctx, const takt_known_input *known, takt_type *type,
                           size_t *bytes)
{
    const takt_tensor_view *v = &known->view;
    *type = (takt_type){.dtype = v->dtype, .rank = v->rank};
    for (int d = 0; d < v->rank && d < TAKT_MAX_RANK; d++)
        type->dim[d] = v->dims[d];
    if (known->name == NULL || v->data == NULL || v->rank < 0 || v->rank > TAKT_MAX_RANK ||
        !takt_type_bytes(type, bytes))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "static input %s has no valid value",
                         known->name != NULL ? known->name : "(null)");
    if (v->device != 0)
        return takt_fail(ctx, TAKT_E_DEVICE, "static input %s lies in the memory of device %d",
                         known->name, (int)v->device);
    return TAKT_OK;
}

static takt_status check_name(const takt_model *m, const char *name)
{
    takt_nearest near = takt_nearest_to(name);
    for (size_t i = 0; i < m->graph->input_count; i++) {
        if (strcmp(m->graph->inputs[i].name, name) == 0)
            return TAKT_OK;
        takt_nearest_try(&near, m->graph->inputs[i].name);
    }
    takt_fail(m->ctx, TAKT_E_NAME, "the model has no input called %s", name);
    if (near.best != NULL)
        return takt_fail_hint(m->ctx, "did you mean %s?", near.best);
    return m->graph->input_count > 0
               ? takt_fail_hint(m->ctx, "its first one is %s", m->graph->inputs[0].name)
               : takt_fail_hint(m->ctx, "it has no inputs at all");
}

/* The plan outlives the caller's buffers, so the values are copied. */
static takt_status make_one(const takt_model *m, const takt_known_input *known,
                            takt_fixed_input *fixed)
{
    takt_type type;
    size_t bytes;
    TAKT_TRY(type_of(m->ctx, known, &type, &bytes));
    TAKT_TRY(check_name(m, known->name));
    const size_t bad = takt_normal_check(&type, known->view.data, bytes);
    if (bad < bytes)
        return takt_fail(m->ctx, TAKT_E_BINDING, "static input %s: " TAKT_NORMAL_BOOL, known->name,
                         bad, ((const uint8_t *)known->view.data)[bad]);
    TAKT_TRY(takt_tensor_create(m->ctx, &type, &fixed->value));
    memcpy(takt_tensor_data(&fixed->value), known->view.data, bytes);
    fixed->name = known->name;
    return TAKT_OK;
}

takt_status takt_fix_inputs(const takt_model *m, const takt_plan_options *o, const takt_graph *in,
                            takt_graph **out)
{
    void *block;
    *out = NULL;
    TAKT_TRY(takt_mem_zero(m->ctx, o->fixed_count, sizeof(takt_fixed_input), "inputs", &block));
    takt_fixed_input *fixed = block;
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < o->fixed_count && status == TAKT_OK; i++)
        status = make_one(m, &o->fixed[i], &fixed[i]);
    if (status == TAKT_OK)
        status = takt_graph_fix_inputs(in, fixed, o->fixed_count, out);
    for (size_t i = 0; i < o->fixed_count; i++)
        takt_tensor_release(&fixed[i].value);
    takt_mem_put(m->ctx, block, o->fixed_count * sizeof *fixed);
    return status;
}

takt_status takt_keep_fixed(takt_arena *arena, takt_plan_options *o)
{
    takt_known_input *kept = takt_arena_copy(arena, o->fixed, o->fixed_count * sizeof *kept);
    if (kept == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < o->fixed_count; i++) {
        takt_type type;
        size_t bytes;
        TAKT_TRY(type_of(arena->ctx, &kept[i], &type, &bytes));
        kept[i].name = takt_arena_text(arena, kept[i].name, strlen(kept[i].name));
        kept[i].view.data = takt_arena_copy(arena, kept[i].view.data, bytes);
        if (kept[i].name == NULL || kept[i].view.data == NULL)
            return TAKT_ERR_MEMORY;
    }
    o->fixed = kept;
    return TAKT_OK;
}

takt_status takt_hash_fixed(takt_ctx *ctx, const takt_plan_options *o, uint64_t *hash)
{
    for (size_t i = 0; i < o->fixed_count; i++) {
        takt_type type;
        size_t bytes;
        TAKT_TRY(type_of(ctx, &o->fixed[i], &type, &bytes));
        *hash = takt_hash_bytes(*hash, o->fixed[i].name, strlen(o->fixed[i].name) + 1);
        *hash = takt_hash_word(takt_hash_word(*hash, type.dtype), (uint64_t)type.rank);
        for (int d = 0; d < type.rank; d++)
            *hash = takt_hash_word(*hash, (uint64_t)type.dim[d]);
        *hash = takt_hash_bytes(*hash, o->fixed[i].view.data, bytes);
    }
    return TAKT_OK;
}
