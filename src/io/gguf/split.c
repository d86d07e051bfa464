/* split.c - blocks as levels, scales and minima: tensors of element types that kernels know.
 *
 * Q4_0, Q4_1 and Q8_0 keep their bits. Q5_0 and Q5_1 take a byte for each level of five bits, so
 * they have parts only where activations are rounded: products of bytes need them.
 */
#include <string.h>

#include "base/mem.h"
#include "io/gguf/model.h"
#include "op/ops.h"

typedef struct layout {
    uint32_t number;
    takt_dtype levels;
    bool has_min;
    double zero;
    uint32_t high, low; /* offsets of the fifth bits (0: none) and of the others in a block */
} layout;

static const layout layouts[] = {
    {2, TAKT_U4, false, 8, 0, 2}, {3, TAKT_U4, true, 0, 0, 4},  {6, TAKT_I8, false, 0, 2, 6},
    {7, TAKT_U8, true, 0, 4, 8},  {8, TAKT_I8, false, 0, 0, 2},
};

static const layout *layout_of(const takt_gguf_type *type)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].number == type->number)
            return &layouts[i];
    return NULL;
}

bool takt_gguf_has_parts(const takt_gguf_model *m, const takt_gguf_type *type)
{
    const layout *l = layout_of(type);
    return l != NULL && (l->high == 0 || m->is_int8);
}

static uint8_t fifth(const layout *l, const uint8_t *block, size_t i)
{
    return l->high == 0 ? 0 : (uint8_t)((block[l->high + i / 8] >> i % 8 & 1) << 4);
}

/* The 32 levels of a block, as they lie in a tensor. */
static void put_levels(const layout *l, const uint8_t *block, uint8_t *to)
{
    const uint8_t *q = block + l->low;
    uint8_t level[32];
    if (l->number == 8) {
        memcpy(to, q, 32);
        return;
    }
    for (size_t i = 0; i < 16; i++) {
        level[i] = (uint8_t)((q[i] & 15) | fifth(l, block, i));
        level[i + 16] = (uint8_t)((q[i] >> 4) | fifth(l, block, i + 16));
    }
    for (size_t i = 0; l->levels == TAKT_U4 && i < 16; i++)
        to[i] = (uint8_t)(level[2 * i] | level[2 * i + 1] << 4);
    for (size_t i = 0; l->levels != TAKT_U4 && i < 32; i++)
        to[i] = l->levels == TAKT_I8 ? (uint8_t)(level[i] - 16) : level[i];
}

typedef struct parts {
    takt_tensor levels, scales, mins;
} parts;

static takt_status allocate(takt_ctx *ctx, const takt_gguf_stack *s, const layout *l, parts *p)
{
    const int64_t k = s->at[0]->dims[s->at[0]->rank - 1], n = s->rows;
    takt_type type = {.dtype = l->levels, .rank = 2, .dim = {n, k}};
    TAKT_TRY(takt_tensor_create(ctx, &type, &p->levels));
    type = (takt_type){.dtype = TAKT_F16, .rank = 2, .dim = {n, k / 32}};
    TAKT_TRY(takt_tensor_create(ctx, &type, &p->scales));
    return l->has_min ? takt_tensor_create(ctx, &type, &p->mins) : TAKT_OK;
}

/* A chunk of blocks at a time, so that a file that is not in memory is read once; `before` blocks
 * are those of tensors above it. */
static takt_status fill(takt_gguf_model *m, const takt_gguf_tensor *t, const layout *l, parts *p,
                        size_t before)
{
    enum { CHUNK = 128 };
    uint8_t chunk[CHUNK * 34]; /* no type has longer blocks */
    const size_t blocks = t->count / 32, width = l->levels == TAKT_U4 ? 16 : 32;
    uint8_t *levels = (uint8_t *)takt_tensor_data(&p->levels) + before * width;
    uint8_t *scales = (uint8_t *)takt_tensor_data(&p->scales) + 2 * before;
    uint8_t *mins = l->has_min ? (uint8_t *)takt_tensor_data(&p->mins) + 2 * before : NULL;
    for (size_t first = 0; first < blocks; first += CHUNK) {
        const size_t count = blocks - first < CHUNK ? blocks - first : CHUNK;
        const uint8_t *from = m->source->bytes + t->offset + first * t->type->bytes;
        TAKT_TRY(takt_source_copy(m->source, from, chunk, count * t->type->bytes));
        for (size_t i = 0; i < count; i++) {
            const uint8_t *block = chunk + i * t->type->bytes;
            put_levels(l, block, levels + (first + i) * width);
            memcpy(scales + 2 * (first + i), block, 2);
            if (mins != NULL)
                memcpy(mins + 2 * (first + i), block + 2, 2);
        }
    }
    return TAKT_OK;
}

bool takt_gguf_split(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s,
                     takt_gguf_parts *out)
{
    const layout *l = layout_of(s->at[0]->type);
    parts p = {0};
    *out = (takt_gguf_parts){TAKT_NONE, TAKT_NONE, TAKT_NONE, l->zero};
    takt_status status = allocate(m->ctx, s, l, &p);
    size_t blocks = 0;
    for (size_t i = 0; status == TAKT_OK && i < s->count; blocks += s->at[i++]->count / 32)
        status = fill(m, s->at[i], l, &p, blocks);
    if (status == TAKT_OK) {
        out->levels = takt_graph_constant(g, &p.levels);
        out->scales = takt_graph_constant(g, &p.scales);
        if (l->has_min)
            out->mins = takt_graph_constant(g, &p.mins);
    }
    takt_graph_fail_if(g, status);
    takt_tensor_release(&p.levels);
    takt_tensor_release(&p.scales);
    takt_tensor_release(&p.mins);
    return g->status == TAKT_OK;
}
