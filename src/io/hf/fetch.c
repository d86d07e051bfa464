/* fetch.c - reorders the elements of a tensor into GGUF's order. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/hf/hf.h"

static takt_status read_piece(const takt_hf *h, const takt_hf_piece *p, uint8_t *to)
{
    const takt_hf_file *f = &h->files[p->file];
    return takt_file_part(h->ctx, f->path, f->file, p->offset, to, p->bytes);
}

/* ---- moves: `from` has the piece, `to` becomes the tensor ---- */

/* Row r of a head of `size` rows: its two halves are interleaved. */
static void pair(const uint8_t *from, uint8_t *to, size_t rows, size_t width, size_t size)
{
    for (size_t r = 0; r < rows; r++) {
        const size_t in = r % size, first = r - in;
        const size_t source = first + in / 2 + (in % 2) * (size / 2);
        memcpy(to + r * width, from + source * width, width);
    }
}

/* [groups, queries + 2, size] as [groups, queries, size], [groups, size], [groups, size]. */
static void group(const uint8_t *from, uint8_t *to, size_t groups, size_t queries, size_t bytes)
{
    const size_t all = queries + 2;
    for (size_t i = 0; i < groups; i++) {
        const uint8_t *at = from + i * all * bytes;
        memcpy(to + i * queries * bytes, at, queries * bytes);
        memcpy(to + (groups * queries + i) * bytes, at + queries * bytes, bytes);
        memcpy(to + (groups * (queries + 1) + i) * bytes, at + (queries + 1) * bytes, bytes);
    }
}

static void transpose(const uint8_t *from, uint8_t *to, const takt_gguf_tensor *t)
{
    const size_t rows = (size_t)t->dims[0], columns = (size_t)t->dims[1], n = t->type->bytes;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            memcpy(to + (r * columns + c) * n, from + (c * rows + r) * n, n);
}

/* Every `step`-th column from `first` on of [n, rows, columns], as [n, columns / step, rows]; of
 * [n, columns] it stays [n, columns / step]. */
static void swap(const takt_hf_tensor *made, const takt_gguf_tensor *t, const uint8_t *from,
                 uint8_t *to)
{
    const size_t step = made->move == TAKT_HF_SWAPPED ? 1 : 2, first = made->move == TAKT_HF_ODD;
    const size_t rows = t->rank == 3 ? (size_t)t->dims[2] : 1;
    const size_t columns = (size_t)t->dims[1], n = t->type->bytes;
    for (size_t i = 0; i < t->count; i++) {
        const size_t r = i % rows, c = i / rows % columns, outer = i / rows / columns;
        const size_t source = (outer * rows + r) * columns * step + c * step + first;
        memcpy(to + i * n, from + source * n, n);
    }
}

static void compute(const takt_hf_tensor *made, const takt_gguf_tensor *t, const uint8_t *from,
                    uint8_t *to)
{
    for (size_t i = 0; i < t->count; i++) {
        const double x = takt_dtype_get_f(made->pieces->type.dtype, from, i);
        takt_dtype_put_f(TAKT_F32, to, i,
                         (double)(float)(made->move == TAKT_HF_DECAY ? -exp(x) : x + 1));
    }
}

static takt_status unlike(const takt_hf *h, const takt_hf_tensor *made)
{
    return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "the rows of %.100s are not those of its heads",
                        made->pieces->name);
}

static takt_status move(const takt_hf *h, const takt_hf_tensor *made, const takt_gguf_tensor *t,
                        const uint8_t *from, uint8_t *to)
{
    const int64_t rows = t->dims[0], heads = made->heads;
    const size_t width = t->bytes / (size_t)rows;
    if (made->move == TAKT_HF_PAIRS) {
        if (heads < 1 || rows % (2 * heads) != 0)
            return unlike(h, made);
        pair(from, to, (size_t)rows, width, (size_t)(rows / heads));
    } else if (made->move == TAKT_HF_GROUPED) {
        const int64_t q = takt_hf_integer(h, "attention.head_count", 1);
        const int64_t kv = takt_hf_integer(h, "attention.head_count_kv", q);
        if (q < 1 || kv < 1 || q % kv != 0 || q > INT32_MAX || rows % (q + 2 * kv) != 0)
            return unlike(h, made);
        group(from, to, (size_t)kv, (size_t)(q / kv), (size_t)(rows / (q + 2 * kv)) * width);
    } else if (made->move == TAKT_HF_TRANSPOSED && t->rank == 2) {
        transpose(from, to, t);
    } else if (made->move == TAKT_HF_SWAPPED || made->move == TAKT_HF_EVEN ||
               made->move == TAKT_HF_ODD) {
        swap(made, t, from, to);
    } else if (made->move == TAKT_HF_BEHIND) {
        memcpy(to, from + (size_t)made->heads * width, t->bytes);
    } else if (made->move == TAKT_HF_PLUS_ONE || made->move == TAKT_HF_DECAY) {
        compute(made, t, from, to);
    } else {
        memcpy(to, from, t->bytes);
    }
    return TAKT_OK;
}

takt_status takt_hf_fetch(void *user, const takt_gguf_tensor *t, uint8_t *to)
{
    const takt_hf *h = user;
    const takt_hf_tensor *made = &h->tensors[t - h->g.tensors];
    void *block;
    if (made->made != NULL) {
        memcpy(to, made->made, t->bytes);
        return TAKT_OK;
    }
    if (made->move == TAKT_HF_AS_IS || made->move == TAKT_HF_FLAT || made->is_stack) {
        for (const takt_hf_piece *p = made->pieces; p != NULL; p = p->next)
            TAKT_TRY(read_piece(h, p, to + p->number * p->bytes));
        return TAKT_OK;
    }
    const size_t bytes = made->pieces->bytes;
    TAKT_TRY(takt_mem_get(h->ctx, bytes, "a tensor", &block));
    takt_status status = read_piece(h, made->pieces, block);
    if (status == TAKT_OK)
        status = move(h, made, t, block, to);
    takt_mem_put(h->ctx, block, bytes);
    return status;
}
