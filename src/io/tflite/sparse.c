/* sparse.c - sparse constants, spread out.
 *
 * A sparse tensor of rank n with k blocked axes is a dense one of rank n + k, whose last k axes are
 * places in a block. Its axes are visited in `traversal order`; each is dense, or lists for every
 * path to it which entries are there (segments and indices).
 */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "io/tflite/import.h"

enum { MOST = 2 * TAKT_MAX_RANK };

typedef struct axis {
    bool is_sparse;
    int64_t size; /* of a dense axis */
    takt_flat_vector segments, indices;
    int segment_type, index_type;
} axis;

typedef struct walker {
    takt_flat *f;
    const takt_tfl_tensor *t;
    axis axes[MOST];
    size_t axis_count;
    int order[MOST], block_of[MOST]; /* axis of the tensor that a blocked axis belongs to */
    int64_t size[MOST];              /* of each axis of the blocked tensor */
    int64_t stride[TAKT_MAX_RANK];
    const uint8_t *from;
    size_t from_count, taken, bytes;
    uint8_t *to;
} walker;

static takt_flat_vector numbers(takt_flat *f, const takt_flat_table *t, int type_field, int field,
                                int *type)
{
    static const size_t sizes[] = {0, 4, 2, 1};
    *type = takt_flat_u8(f, t, type_field, 0);
    if (*type < 1 || *type > 3)
        return (takt_flat_vector){0};
    const takt_flat_table v = takt_flat_child(f, t, field);
    return takt_flat_list(f, &v, 0, sizes[*type]);
}

static int64_t number(takt_flat *f, takt_flat_vector v, int type, size_t i)
{
    return type == 1   ? takt_flat_i32_at(f, v, i)
           : type == 2 ? takt_flat_u16_at(f, v, i)
                       : takt_flat_u8_at(f, v, i);
}

static takt_status wrong(const walker *w, const char *why)
{
    return takt_flat_fail(w->f, w->t->at, "sparse tensor %.*s: %s", (int)w->t->name.length,
                          w->t->name.at, why);
}

static takt_status read_axes(walker *w)
{
    enum { FORMAT, SIZE, SEGMENT_TYPE, SEGMENTS, INDEX_TYPE, INDICES };
    takt_flat *f = w->f;
    const takt_flat_vector order = takt_flat_list(f, &w->t->sparsity, 0, 4),
                           blocks = takt_flat_list(f, &w->t->sparsity, 1, 4),
                           axes = takt_flat_list(f, &w->t->sparsity, 2, 4);
    const size_t rank = (size_t)w->t->rank;
    bool seen[MOST] = {false};
    if (order.count != axes.count || axes.count != rank + blocks.count || axes.count > MOST)
        return wrong(w, "its axes contradict its shape");
    w->axis_count = axes.count;
    for (size_t i = 0; i < axes.count; i++) {
        const takt_flat_table a = takt_flat_item(f, axes, i);
        w->order[i] = takt_flat_i32_at(f, order, i);
        if (w->order[i] < 0 || (size_t)w->order[i] >= axes.count || seen[w->order[i]])
            return wrong(w, "its order of axes is none");
        seen[w->order[i]] = true;
        axis *to = &w->axes[i];
        to->is_sparse = takt_flat_u8(f, &a, FORMAT, 0) != 0;
        to->size = takt_flat_i32(f, &a, SIZE, 0);
        to->segments = numbers(f, &a, SEGMENT_TYPE, SEGMENTS, &to->segment_type);
        to->indices = numbers(f, &a, INDEX_TYPE, INDICES, &to->index_type);
    }
    for (size_t i = 0; i < blocks.count; i++) {
        w->block_of[i] = takt_flat_i32_at(f, blocks, i);
        if (w->block_of[i] < 0 || (size_t)w->block_of[i] >= rank)
            return wrong(w, "a blocked axis is none of its axes");
    }
    return f->status;
}

/* Sizes of the axes of the blocked tensor: first the blocks, then the rest of each axis. */
static takt_status set_sizes(walker *w)
{
    const size_t rank = (size_t)w->t->rank;
    for (size_t d = 0; d < rank; d++)
        w->size[d] = w->t->dim[d];
    for (size_t i = rank; i < w->axis_count; i++) {
        const int whole = w->block_of[i - rank];
        int64_t block = 0;
        for (size_t k = 0; k < w->axis_count; k++)
            if ((size_t)w->order[k] == i && !w->axes[k].is_sparse)
                block = w->axes[k].size;
        if (block <= 0 || w->size[whole] % block != 0)
            return wrong(w, "its blocks do not fit its shape");
        w->size[i] = block;
        w->size[whole] /= block;
    }
    for (size_t i = 0; i < w->axis_count; i++)
        if (!w->axes[i].is_sparse && w->axes[i].size != w->size[w->order[i]])
            return wrong(w, "a dense axis has another size than its shape");
    int64_t stride = 1;
    for (size_t d = rank; d-- > 0; stride *= w->t->dim[d])
        w->stride[d] = stride;
    return TAKT_OK;
}

/* The element at these places of the axes, in their order of traversal. */
static takt_status put(walker *w, const int64_t *place)
{
    const size_t rank = (size_t)w->t->rank;
    int64_t at[MOST] = {0}, offset = 0;
    for (size_t i = 0; i < w->axis_count; i++)
        at[w->order[i]] = place[i];
    for (size_t i = rank; i < w->axis_count; i++) {
        const int whole = w->block_of[i - rank];
        at[whole] = at[whole] * w->size[i] + at[i];
    }
    for (size_t d = 0; d < rank; d++)
        offset += at[d] * w->stride[d];
    if (w->taken == w->from_count)
        return wrong(w, "it has fewer elements than its indices");
    memcpy(w->to + (size_t)offset * w->bytes, w->from + w->taken++ * w->bytes, w->bytes);
    return TAKT_OK;
}

/* One level of the traversal: entry `next` up to `end`; on a sparse axis they are indices. */
typedef struct level {
    int64_t next, end, path;
} level;

static takt_status enter(walker *w, size_t depth, int64_t path, level *l)
{
    const axis *a = &w->axes[depth];
    *l = (level){.end = a->size};
    if (!a->is_sparse) {
        l->path = path * a->size;
        return TAKT_OK;
    }
    if (path < 0 || (uint64_t)path + 1 >= a->segments.count)
        return wrong(w, "its segments are too few");
    l->next = number(w->f, a->segments, a->segment_type, (size_t)path);
    l->end = number(w->f, a->segments, a->segment_type, (size_t)path + 1);
    if (l->next < 0 || l->end < l->next || (uint64_t)l->end > a->indices.count)
        return wrong(w, "its segments lie outside of its indices");
    return w->f->status;
}

static takt_status walk(walker *w)
{
    level levels[MOST];
    int64_t place[MOST] = {0};
    size_t depth = 0;
    TAKT_TRY(enter(w, 0, 0, &levels[0]));
    for (;;) {
        level *l = &levels[depth];
        const axis *a = &w->axes[depth];
        if (l->next >= l->end) {
            if (depth == 0)
                return w->f->status;
            depth--;
            continue;
        }
        const int64_t path = a->is_sparse ? l->next : l->path + l->next;
        place[depth] =
            a->is_sparse ? number(w->f, a->indices, a->index_type, (size_t)l->next) : l->next;
        l->next++;
        if (!takt_flat_spend(w->f, w->t->at, 1))
            return w->f->status;
        if (place[depth] < 0 || place[depth] >= w->size[w->order[depth]])
            return wrong(w, "an index lies outside of its shape");
        if (depth + 1 == w->axis_count) {
            TAKT_TRY(put(w, place));
            continue;
        }
        depth++;
        TAKT_TRY(enter(w, depth, path, &levels[depth]));
    }
}

takt_status takt_tfl_densify(takt_tfl_import *im, const takt_tfl_tensor *t, size_t bytes,
                             uint8_t *to)
{
    const takt_tfl_buffer *b = &im->model.buffers[t->buffer];
    walker w = {.f = &im->model.flat, .t = t, .bytes = bytes, .to = to};
    size_t count = 1;
    if (bytes == 0 || t->rank == 0)
        return wrong(&w, "its elements are smaller than a byte, or it has no axes");
    for (int d = 0; d < t->rank; d++)
        if (!takt_size_mul(count, (size_t)t->dim[d], &count))
            return wrong(&w, "it is too large");
    memset(to, 0, count * bytes); /* the tensor was made: the product fits */
    w.from_count = b->length / bytes;
    TAKT_TRY(read_axes(&w));
    TAKT_TRY(set_sizes(&w));
    void *values;
    TAKT_TRY(takt_mem_get(im->ctx, b->length, "sparse values", &values));
    w.from = values;
    takt_status status =
        takt_source_copy(im->source, im->model.flat.all.base + b->at, values, b->length);
    if (status == TAKT_OK)
        status = walk(&w);
    takt_mem_put(im->ctx, values, b->length);
    TAKT_TRY(status);
    return w.taken == w.from_count ? TAKT_OK : wrong(&w, "it has more elements than its indices");
}
