/* split.c - blocks as levels and scales: tensors of element types that kernels support.
 *
 * Q4_0 and Q8_0 keep their bits; kernels for prompts are fastest on the parts.
 */
#include <string.h>

#include "io/gguf/late.h"
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
    if (l->levels == TAKT_I8) {
        memcpy(to, q, 32);
        return;
    }
    uint16_t pair[8]; /* of bytes; the low nibbles are the first 16 levels */
    for (size_t i = 0; i < 8; i++)
        pair[i] = (uint16_t)(q[2 * i] | q[2 * i + 1] << 8);
    for (size_t i = 0; i < 8; i++)
        to[i] = (uint8_t)((pair[i] & 0x0F) | (pair[i] >> 4 & 0xF0));
    for (size_t i = 0; i < 8; i++)
        to[8 + i] = (uint8_t)((pair[i] >> 4 & 0x0F) | (pair[i] >> 8 & 0xF0));
}

static void take_levels(const takt_gguf_type *type, const uint8_t *blocks, size_t count,
                        uint8_t *to)
{
    const layout *l = layout_of(type);
    const size_t width = l->levels == TAKT_U4 ? 16 : 32;
    for (size_t i = 0; i < count; i++)
        put_levels(l, blocks + i * type->bytes, to + i * width);
}

static void take_scales(const takt_gguf_type *type, const uint8_t *blocks, size_t count,
                        uint8_t *to)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + 2 * i, blocks + i * type->bytes, 2);
}

/* Takes one chunk of blocks at a time, so that a file that is not in memory is read in pieces. */
static takt_status fill(takt_gguf_model *m, const takt_gguf_tensor *t, takt_gguf_part part,
                        uint8_t *to)
{
    enum { CHUNK = 128 };
    uint8_t chunk[CHUNK * 34]; /* no type has longer blocks */
    const size_t blocks = t->count / 32;
    const takt_source *home = takt_gguf_home(m, t);
    for (size_t first = 0; first < blocks; first += CHUNK) {
        const size_t count = blocks - first < CHUNK ? blocks - first : CHUNK;
        const uint8_t *from = home->bytes + t->offset + first * t->type->bytes;
        TAKT_TRY(takt_source_copy(home, from, chunk, count * t->type->bytes));
        part.part(t->type, chunk, count, to + first * part.width);
    }
    return TAKT_OK;
}

static takt_status load(takt_gguf_model *m, const takt_gguf_stack *s, const takt_type *type,
                        takt_gguf_part part, takt_tensor *out)
{
    TAKT_TRY(takt_gguf_late(m, s, type, part, out));
    if (out->storage != NULL)
        return TAKT_OK;
    TAKT_TRY(takt_tensor_create(m->ctx, type, out));
    uint8_t *to = takt_tensor_data(out);
    for (size_t i = 0; i < s->count; to += s->at[i++]->count / 32 * part.width)
        TAKT_TRY(fill(m, s->at[i], part, to));
    return TAKT_OK;
}

static takt_status load_both(takt_gguf_model *m, const takt_gguf_stack *s, takt_tensor both[2])
{
    const layout *l = layout_of(s->at[0]->type);
    const int64_t k = s->at[0]->dims[s->at[0]->rank - 1], n = s->rows;
    const takt_type levels = {.dtype = l->levels, .rank = 2, .dim = {n, k}};
    const takt_type scales = {.dtype = TAKT_F16, .rank = 2, .dim = {n, k / 32}};
    takt_gguf_stash *stash;
    TAKT_TRY(takt_gguf_stash_create(m->ctx, (size_t)(n * (k / 32)), 2, &stash));
    const takt_gguf_part first = {.part = take_levels,
                                  .width = l->levels == TAKT_U4 ? 16 : 32,
                                  .other = take_scales,
                                  .other_width = 2,
                                  .stash = stash};
    const takt_gguf_part second = {.part = take_scales, .width = 2, .stash = stash};
    takt_status status = load(m, s, &levels, first, &both[0]);
    if (status == TAKT_OK)
        status = load(m, s, &scales, second, &both[1]);
    takt_gguf_stash_release(stash);
    return status;
}

bool takt_gguf_split(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s,
                     takt_gguf_parts *out)
{
    takt_tensor both[2] = {{.storage = NULL}, {.storage = NULL}};
    *out = (takt_gguf_parts){TAKT_NONE, TAKT_NONE, layout_of(s->at[0]->type)->zero};
    const takt_status status = load_both(m, s, both);
    if (status == TAKT_OK) {
        out->levels = takt_graph_constant(g, &both[0]);
        out->scales = takt_graph_constant(g, &both[1]);
    }
    takt_graph_fail_if(g, status);
    takt_tensor_release(&both[0]);
    takt_tensor_release(&both[1]);
    return g->status == TAKT_OK;
}
