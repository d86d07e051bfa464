/* recipe.c - how to read one tensor of a folder: all that is needed once the folder is closed.
 *
 * Tensors that are read at once and those that stay in their files until a plan packs them are read
 * in this one way. */
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/held_file.h"
#include "io/hf/hf.h"

enum { CHUNK = 1 << 20 /* bytes */ };

typedef struct place {
    takt_held_file *file;
    uint64_t offset;
} place;

typedef struct recipe {
    takt_ctx *ctx;
    size_t block; /* bytes of this */
    takt_hf_order order;
    size_t bytes; /* of a part in the tensor */
    size_t count;
    place at[]; /* one, or one per expert */
} recipe;

static void put(void *user)
{
    recipe *r = user;
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].file != NULL)
            takt_held_file_release(r->at[i].file);
    takt_mem_put(r->ctx, r, r->block);
}

static takt_status read_part(const recipe *r, size_t part, size_t at, size_t count, void *to)
{
    const place *p = &r->at[part];
    return takt_held_file_read(p->file, p->offset + at, to, count);
}

/* The rows of the file that bytes [first, first + count) of the tensor consist of. */
static takt_status read_ordered(const recipe *r, size_t first, size_t count, uint8_t *to)
{
    const takt_hf_order *o = &r->order;
    const size_t row = r->bytes / o->rows, begin = first / row, end = (first + count) / row;
    const size_t most = o->width < CHUNK ? CHUNK / o->width : 1;
    const size_t each = most < end - begin ? most : end - begin;
    takt_status status = TAKT_OK;
    void *rows;
    TAKT_TRY(takt_mem_get(r->ctx, each * o->width, "rows of weights", &rows));
    for (size_t i = begin, n; status == TAKT_OK && i < end; i += n) {
        n = end - i < each ? end - i : each;
        status = read_part(r, 0, i * o->width, n * o->width, rows);
        if (status == TAKT_OK)
            takt_hf_put_rows(o, rows, i - begin, n, to);
    }
    takt_mem_put(r->ctx, rows, each * o->width);
    return status;
}

/* Heads that lie apart in the file. */
static takt_status read_heads(const recipe *r, size_t first, size_t count, uint8_t *to)
{
    const size_t head = r->order.size * r->order.width;
    for (size_t at = first; at < first + count; at += head, to += head)
        TAKT_TRY(read_part(r, 0, takt_hf_grouped(&r->order, at / head) * head, head, to));
    return TAKT_OK;
}

static takt_status read(void *user, size_t first, size_t count, void *to)
{
    const recipe *r = user;
    uint8_t *out = to;
    if (r->order.move == TAKT_HF_GROUPED)
        return read_heads(r, first, count, to);
    if (!takt_hf_is_plain(&r->order))
        return read_ordered(r, first, count, to);
    for (size_t n; count > 0; first += n, count -= n, out += n) {
        const size_t part = first / r->bytes, at = first % r->bytes;
        n = r->bytes - at < count ? r->bytes - at : count;
        TAKT_TRY(read_part(r, part, at, n, out));
    }
    return TAKT_OK;
}

/* ---- the order of its elements ---- */

static takt_status unlike(const takt_hf *h, const takt_hf_tensor *made)
{
    return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "the rows of %.100s are not those of its heads",
                        made->pieces->name);
}

static takt_status find_heads(const takt_hf *h, const takt_hf_tensor *made, takt_hf_order *o)
{
    const int64_t rows = (int64_t)o->rows, heads = made->heads;
    if (made->move == TAKT_HF_PAIRS) {
        if (heads < 1 || rows % (2 * heads) != 0)
            return unlike(h, made);
        o->size = (size_t)(rows / heads);
        return TAKT_OK;
    }
    const int64_t q = takt_hf_integer(h, "attention.head_count", 1);
    const int64_t kv = takt_hf_integer(h, "attention.head_count_kv", q);
    if (q < 1 || kv < 1 || q % kv != 0 || q > INT32_MAX || rows % (q + 2 * kv) != 0)
        return unlike(h, made);
    o->groups = (size_t)kv;
    o->queries = (size_t)(q / kv);
    o->size = (size_t)(rows / (q + 2 * kv));
    return TAKT_OK;
}

static takt_status find_order(const takt_hf *h, const takt_hf_tensor *made,
                              const takt_gguf_tensor *t, takt_hf_order *o)
{
    const takt_type *type = &made->pieces->type;
    const size_t last = (size_t)type->dim[type->rank - 1];
    *o = (takt_hf_order){.move = made->is_stack ? TAKT_HF_AS_IS : made->move,
                         .dtype = type->dtype,
                         .element = (size_t)takt_dtype_bits(type->dtype) / 8,
                         .rows = (size_t)t->dims[0]};
    o->width = made->pieces->bytes / (size_t)type->dim[0];
    switch (o->move) {
    case TAKT_HF_PAIRS:
    case TAKT_HF_GROUPED: return find_heads(h, made, o);
    case TAKT_HF_TRANSPOSED:
        if (t->rank != 2)
            o->move = TAKT_HF_AS_IS;
        o->rows = (size_t)t->dims[t->rank - 1];
        break;
    case TAKT_HF_SWAPPED:
    case TAKT_HF_EVEN:
    case TAKT_HF_ODD:
        o->inner = type->rank == 3 ? (size_t)type->dim[1] : 1;
        o->width = last * o->element;
        o->rows = made->pieces->bytes / o->width;
        break;
    case TAKT_HF_PLUS_ONE:
    case TAKT_HF_DECAY:
        o->width = o->element;
        o->rows = t->count;
        break;
    default: break;
    }
    return TAKT_OK;
}

/* ---- life ---- */

static takt_status create(takt_hf *h, const takt_hf_tensor *made, const takt_gguf_tensor *t,
                          recipe **out)
{
    takt_hf_order order;
    void *block;
    TAKT_TRY(find_order(h, made, t, &order));
    const size_t bytes = sizeof(recipe) + made->count * sizeof(place);
    TAKT_TRY(takt_mem_zero(h->ctx, bytes, 1, "weights", &block));
    recipe *r = block;
    r->ctx = h->ctx;
    r->block = bytes;
    r->order = order;
    r->count = made->count;
    r->bytes = t->bytes / made->count;
    for (const takt_hf_piece *p = made->pieces; p != NULL; p = p->next)
        r->at[p->number] = (place){takt_held_file_retain(h->files[p->file]), p->offset};
    if (order.move == TAKT_HF_BEHIND)
        r->at[0].offset += (uint64_t)made->heads * order.width;
    *out = r;
    return TAKT_OK;
}

/* Floats that are in no file. */
typedef struct floats {
    takt_ctx *ctx;
    size_t bytes;
    float at[];
} floats;

static takt_status copy(void *user, size_t first, size_t count, void *to)
{
    const floats *f = user;
    memcpy(to, (const char *)f->at + first, count);
    return TAKT_OK;
}

static void put_floats(void *user)
{
    floats *f = user;
    takt_mem_put(f->ctx, f, sizeof *f + f->bytes);
}

static takt_status keep_floats(takt_ctx *ctx, const float *values, size_t bytes, takt_late *late)
{
    void *block;
    TAKT_TRY(takt_mem_get(ctx, sizeof(floats) + bytes, "weights", &block));
    floats *f = block;
    f->ctx = ctx;
    f->bytes = bytes;
    memcpy(f->at, values, bytes);
    *late = (takt_late){copy, put_floats, f, 1};
    return TAKT_OK;
}

takt_status takt_hf_recipe(void *user, const takt_gguf_tensor *t, takt_late *late)
{
    takt_hf *h = user;
    const takt_hf_tensor *made = &h->tensors[t - h->g.tensors];
    recipe *r;
    *late = (takt_late){.read = NULL};
    if (made->made != NULL)
        return keep_floats(h->ctx, made->made, t->bytes, late);
    TAKT_TRY(create(h, made, t, &r));
    *late = (takt_late){read, put, r, takt_hf_grain(&r->order, r->bytes)};
    return TAKT_OK;
}
