/* blocks.c - weights in the block types of ggml, byte for byte as its reference writes them.
 *
 * A block is 32 weights of a row: a scale in f16, in types _1 also the least weight, then the high
 * bits in types 5, then two weights a byte: the first half of the block in the low four bits. */
#include <math.h>
#include <string.h>

#include <takt/shrink.h>

#include "base/error.h"
#include "io/gguf/gguf_write.h"
#include "ir/dtype.h"

enum { BLOCK = 32 };

typedef struct block_type {
    const char *name;
    int bits;
    bool has_least; /* levels begin at the least weight, not around zero */
    size_t bytes;
} block_type;

static const block_type types[] = {{"Q4_0", 4, false, 18},
                                   {"Q4_1", 4, true, 20},
                                   {"Q5_0", 5, false, 22},
                                   {"Q5_1", 5, true, 24},
                                   {"Q8_0", 8, false, 34}};

/* ---- levels ---- */

static float largest(const float *x, bool is_signed)
{
    float most = 0, value = 0;
    for (int i = 0; i < BLOCK; i++)
        if (fabsf(x[i]) > most) {
            most = fabsf(x[i]);
            value = x[i];
        }
    return is_signed ? value : most;
}

static uint8_t cut(double level, int most)
{
    return (uint8_t)(level < 0 ? 0 : level > most ? most : level);
}

/* The weight of largest magnitude is the lowest level. The product and the sum are doubles: in
 * floats the reference's bytes would depend on fused multiplication. */
static float around_zero(const float *x, int bits, uint8_t *q)
{
    const int half = 1 << (bits - 1);
    const float d = largest(x, true) / (float)-half, inverse = d != 0 ? 1 / d : 0;
    for (int i = 0; i < BLOCK; i++)
        q[i] = cut(trunc((double)(float)trunc((double)x[i] * (double)inverse + half + 0.5)),
                   2 * half - 1);
    return d;
}

static float from_least(const float *x, int bits, uint8_t *q, float *least)
{
    float lo = x[0], hi = x[0];
    for (int i = 1; i < BLOCK; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    const int most = (1 << bits) - 1;
    const float d = (hi - lo) / (float)most, inverse = d != 0 ? 1 / d : 0;
    for (int i = 0; i < BLOCK; i++) {
        const float scaled = (x[i] - lo) * inverse;
        q[i] = cut((double)truncf(scaled + 0.5F), most);
    }
    *least = lo;
    return d;
}

/* ---- bytes ---- */

static uint8_t *put_half(uint8_t *to, float value)
{
    takt_dtype_put_f(TAKT_F16, to, 0, takt_dtype_round(TAKT_F16, (double)value));
    return to + 2;
}

static void write_bytes(const float *x, uint8_t *to)
{
    const float d = largest(x, false) / 127, inverse = d != 0 ? 1 / d : 0;
    to = put_half(to, d);
    for (int i = 0; i < BLOCK; i++)
        to[i] = (uint8_t)(int8_t)roundf(x[i] * inverse);
}

static void write_block(const block_type *t, const float *x, uint8_t *to)
{
    uint8_t q[BLOCK];
    float least = 0;
    if (t->bits == 8) {
        write_bytes(x, to);
        return;
    }
    to =
        put_half(to, t->has_least ? from_least(x, t->bits, q, &least) : around_zero(x, t->bits, q));
    if (t->has_least)
        to = put_half(to, least);
    if (t->bits == 5) {
        memset(to, 0, 4);
        for (int i = 0; i < BLOCK; i++)
            to[i / 8] = (uint8_t)(to[i / 8] | (q[i] >> 4) << (i % 8));
        to += 4;
    }
    for (int i = 0; i < BLOCK / 2; i++)
        to[i] = (uint8_t)((q[i] & 15) | (q[i + BLOCK / 2] & 15) << 4);
}

/* ---- the call ---- */

static takt_status check(takt_ctx *ctx, const takt_tensor_view *w, size_t block, size_t *count)
{
    bool good = w != NULL && w->data != NULL && w->dtype == TAKT_F32 && w->rank > 0;
    *count = 1;
    for (int d = 0; good && d < w->rank; d++) {
        good = w->dims[d] > 0 && w->strides[d] == 0;
        *count *= good ? (size_t)w->dims[d] : 1;
    }
    if (!good || w->dims[w->rank - 1] % (int64_t)block != 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_block_quantize: dense f32 in rows of a multiple of %zu is wanted",
                         block);
    for (size_t i = 0; i < *count; i++)
        if (!isfinite(((const float *)w->data)[i]))
            return takt_fail(ctx, TAKT_E_SHRINK_DATA, "takt_block_quantize: element %zu is %g", i,
                             (double)((const float *)w->data)[i]);
    return TAKT_OK;
}

takt_status takt_block_quantize(takt_ctx *ctx, const char *type, const takt_tensor_view *w,
                                void *to, size_t size, size_t *needed)
{
    const block_type *t = NULL;
    const takt_gguf_type *g = type != NULL ? takt_gguf_written_type(type) : NULL;
    size_t count;
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    for (size_t i = 0; type != NULL && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            t = &types[i];
    if (t == NULL && (g == NULL || g->elements == 1)) {
        takt_fail(ctx, TAKT_E_OPTION, "there is no block type %s", type != NULL ? type : "NULL");
        return takt_fail_hint(ctx, "Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K or IQ4_NL");
    }
    TAKT_TRY(check(ctx, w, t != NULL ? BLOCK : g->elements, &count));
    const size_t bytes = t != NULL ? count / BLOCK * t->bytes : count / g->elements * g->bytes;
    if (needed != NULL)
        *needed = bytes;
    if (to == NULL)
        return TAKT_OK;
    if (size < bytes)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_block_quantize: %zu bytes are needed", bytes);
    if (t == NULL)
        takt_gguf_encode(g, w->data, count, NULL, to);
    for (size_t i = 0; t != NULL && i < count / BLOCK; i++)
        write_block(t, (const float *)w->data + i * BLOCK, (uint8_t *)to + i * t->bytes);
    return TAKT_OK;
}
