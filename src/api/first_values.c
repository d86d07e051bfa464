/* first_values.c - the first values of a model's parameters and state. */
#include <math.h>

#include "api/model.h"
#include "base/philox.h"
#include "ir/late.h"
#include "ir/normal.h"

static double drawn(const takt_init *init, const takt_philox_at *at, uint64_t element)
{
    switch (init->kind) {
    case TAKT_INIT_UNIFORM:
        return init->a + (init->b - init->a) * takt_philox_uniform(takt_philox_word(at, element));
    case TAKT_INIT_NORMAL: return init->a + init->b * takt_philox_normal(at, element);
    default: return init->a;
    }
}

/* Zeros of a large state, such as a cache of keys, of which sessions make their own. */
static takt_status put_off(takt_ctx *ctx, const takt_slot *slot, takt_tensor *out)
{
    enum { LEAST = 1 << 18 };
    size_t bytes;
    if (slot->next == TAKT_NONE || slot->init.kind != TAKT_INIT_CONSTANT || slot->init.a != 0 ||
        signbit(slot->init.a) || !takt_type_bytes(&slot->type, &bytes) || bytes < LEAST ||
        bytes > ctx->limits.tensor_bytes)
        return TAKT_OK;
    out->type = slot->type;
    return takt_storage_create_zeros(ctx, bytes, &out->storage);
}

takt_status takt_slot_fill(takt_ctx *ctx, const takt_slot *slot, uint64_t seed, takt_tensor *out)
{
    *out = (takt_tensor){.storage = NULL};
    if (slot->init.kind == TAKT_INIT_TENSOR) {
        *out = *slot->init.tensor;
        takt_storage_retain(out->storage);
        return TAKT_OK;
    }
    if (!takt_type_is_concrete(&slot->type))
        return TAKT_OK; /* sized by a named dimension: plans fill it */
    TAKT_TRY(put_off(ctx, slot, out));
    if (out->storage != NULL)
        return TAKT_OK;
    TAKT_TRY(takt_tensor_create(ctx, &slot->type, out));
    const takt_philox_at at = {.seed = seed, .stream = slot->init.stream};
    const size_t count = takt_tensor_count(out);
    void *data = takt_tensor_data(out);
    const takt_dtype dtype = slot->type.dtype;
    for (size_t i = 0; i < count; i++) {
        const double value = drawn(&slot->init, &at, i);
        if (takt_dtype_is_float(dtype))
            takt_dtype_put_f(dtype, data, i, takt_dtype_round(dtype, value));
        else
            takt_dtype_put_i(dtype, data, i, takt_dtype_from_double(dtype, value));
    }
    return TAKT_OK;
}
