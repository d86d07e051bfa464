/* split.c - blocks as levels and scales: tensors of element types that kernels support.
 *
 * Q4_0 and Q8_0 keep their bits; kernels for prompts are fastest on the parts.
 */
#include <string.h>

#include "base/mem.h"
#include "io/gguf/model.h"
#include "op/ops.h"

typedef struct layout {
    uint32_t number;
    takt_dtype levels;
    double zero;
} layout;

static const layout layouts[] = {{2, TAKT_U4, 8}, {8, TAKT_I8, 0}};

static const layout *layout_of(const takt_gguf_type *type)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].number == type->number)
            return &layouts[i];
    return NULL;
}

bool takt_gguf_has_parts(const takt_gguf_type *type)
{
    return layout_of(type) != NULL;
}

/* The 32 levels of a block, in tensor order. */
static void put_levels(const layout *l, const uint8_t *block, uint8_t *to)
{
    const uint8_t *q = block + 2;
    uint8_t level[32];
    if (l->levels == TAKT_I8) {
        memcpy(to, q, 32);
        return;
    }
    for (size_t i = 0; i < 16; i++) {
        level[i] = q[i] & 15;
        level[i + 16] = q[i] >> 4;
    }
    for (size_t i = 0; i < 16; i++)
        to[i] = (uint8_t)(level[2 * i] | level[2 * i + 1] << 4);
}

typedef struct parts {
    takt_tensor levels, scales;
} parts;

static takt_status allocate(takt_ctx *ctx, const takt_gguf_stack *s, const layout *l, parts *p)
{
    const int64_t k = s->at[0]->dims[s->at[0]->rank - 1], n = s->rows;
    takt_type type = {.dtype = l->levels, .rank = 2, .dim = {n, k}};
    TAKT_TRY(takt_tensor_create(ctx, &type, &p->levels));
    type = (takt_type){.dtype = TAKT_F16, .rank = 2, .dim = {n, k / 32}};
    return takt_tensor_create(ctx, &type, &p->scales);
}

/* Splits one chunk of blocks at a time, so that a file that is not in memory is read once;
 * `before`: number of blocks in the preceding tensors. */
static takt_status fill(takt_gguf_model *m, const takt_gguf_tensor *t, const layout *l, parts *p,
                        size_t before)
{
    enum { CHUNK = 128 };
    uint8_t chunk[CHUNK * 34]; /* no type has longer blocks */
    const size_t blocks = t->count / 32, width = l->levels == TAKT_U4 ? 16 : 32;
    const takt_source *home = takt_gguf_home(m, t);
    uint8_t *levels = (uint8_t *)takt_tensor_data(&p->levels) + before * width;
    uint8_t *scales = (uint8_t *)takt_tensor_data(&p->scales) + 2 * before;
    for (size_t first = 0; first < blocks; first += CHUNK) {
        const size_t count = blocks - first < CHUNK ? blocks - first : CHUNK;
        const uint8_t *from = home->bytes + t->offset + first * t->type->bytes;
        TAKT_TRY(takt_source_copy(home, from, chunk, count * t->type->bytes));
        for (size_t i = 0; i < count; i++) {
            const uint8_t *block = chunk + i * t->type->bytes;
            put_levels(l, block, levels + (first + i) * width);
            memcpy(scales + 2 * (first + i), block, 2);
        }
    }
    return TAKT_OK;
}

bool takt_gguf_split(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s,
                     takt_gguf_parts *out)
{
    const layout *l = layout_of(s->at[0]->type);
    parts p = {0};
    *out = (takt_gguf_parts){TAKT_NONE, TAKT_NONE, l->zero};
    takt_status status = allocate(m->ctx, s, l, &p);
    size_t blocks = 0;
    for (size_t i = 0; status == TAKT_OK && i < s->count; blocks += s->at[i++]->count / 32)
        status = fill(m, s->at[i], l, &p, blocks);
    if (status == TAKT_OK) {
        out->levels = takt_graph_constant(g, &p.levels);
        out->scales = takt_graph_constant(g, &p.scales);
    }
    takt_graph_fail_if(g, status);
    takt_tensor_release(&p.levels);
    takt_tensor_release(&p.scales);
    return g->status == TAKT_OK;
}
