/* lengths_span.c - how small and how large a dimension can be, from the ranges of its names. */
#include "api/lengths.h"
#include "base/ctx.h"
#include "base/size.h"
#include "ir/sizes.h"

enum { LEAST = TAKT_SPAN_LEAST, MOST = TAKT_SPAN_MOST };

typedef struct spans {
    const takt_length_span *of; /* by index of names */
    size_t count;
} spans;

/* Ends of a product or quotient: the four corners. */
static bool corners(takt_size_code code, const int64_t a[2], const int64_t b[2], int64_t out[2])
{
    out[LEAST] = INT64_MAX;
    out[MOST] = INT64_MIN;
    for (int i = 0; i < 4; i++) {
        const int64_t x = a[i / 2], y = b[i % 2];
        int64_t v = 0;
        if (code == TAKT_SIZE_MUL && !takt_i64_mul(x, y, &v))
            return false;
        if (code == TAKT_SIZE_FLOORDIV && y <= 0)
            return false;
        if (code == TAKT_SIZE_FLOORDIV)
            v = x / y - (x % y < 0);
        out[LEAST] = v < out[LEAST] ? v : out[LEAST];
        out[MOST] = v > out[MOST] ? v : out[MOST];
    }
    return true;
}

static bool step(const takt_size_op *op, const int64_t a[2], const int64_t b[2], int64_t out[2])
{
    switch (op->code) {
    case TAKT_SIZE_NUMBER:
        out[LEAST] = out[MOST] = (int64_t)((uint64_t)op->a | (uint64_t)op->b << 32);
        return true;
    case TAKT_SIZE_ADD:
        return takt_i64_add(a[LEAST], b[LEAST], &out[LEAST]) &&
               takt_i64_add(a[MOST], b[MOST], &out[MOST]);
    case TAKT_SIZE_MUL:
    case TAKT_SIZE_FLOORDIV: return corners(op->code, a, b, out);
    case TAKT_SIZE_MOD:
        out[LEAST] = 0;
        out[MOST] = b[MOST] - 1;
        if (b[LEAST] > 0 && a[LEAST] == a[MOST] && b[LEAST] == b[MOST])
            out[LEAST] = out[MOST] = a[LEAST] % b[LEAST];
        return a[LEAST] >= 0 && b[LEAST] > 0;
    case TAKT_SIZE_MIN:
    case TAKT_SIZE_MAX:
        for (int i = 0; i < 2; i++)
            out[i] = (a[i] < b[i]) == (op->code == TAKT_SIZE_MIN) ? a[i] : b[i];
        return true;
    }
    return false;
}

/* The cells of a size program at both ends, as far as they are known. */
static bool run_cells(const spans *w, const takt_sizes *sizes, int64_t (*span)[2], uint32_t cell,
                      unsigned char *is_there)
{
    for (size_t i = 0; i < sizes->name_count; i++) {
        is_there[i] = i < w->count && w->of[i].low >= 0;
        span[i][LEAST] = is_there[i] ? w->of[i].low : 0;
        span[i][MOST] = is_there[i] ? w->of[i].high : 0;
    }
    for (size_t i = 0; i < sizes->count; i++) {
        const takt_size_op *op = &sizes->code[i];
        const bool is_number = op->code == TAKT_SIZE_NUMBER;
        const uint32_t a = is_number ? 0 : op->a, b = is_number ? 0 : op->b;
        int64_t *to = span[sizes->name_count + i];
        is_there[sizes->name_count + i] =
            (is_number || (is_there[a] && is_there[b])) && step(op, span[a], span[b], to);
    }
    return is_there[cell];
}

takt_status takt_length_span_of(const takt_graph *g, takt_dim dim, const takt_length_span *of,
                                size_t count, takt_arena *arena, int64_t out[2])
{
    const spans w = {of, count};
    takt_sizes sizes;
    uint32_t cell = 0;
    TAKT_TRY(takt_sizes_init(&sizes, g->ctx, g->dims));
    takt_status status = takt_sizes_cell(&sizes, dim, &cell);
    const size_t cells = takt_sizes_cells(&sizes) + 1;
    int64_t(*span)[2] = takt_arena_array(arena, cells, sizeof *span);
    unsigned char *is_there = takt_arena_array(arena, cells, 1);
    if (status == TAKT_OK && (span == NULL || is_there == NULL))
        status = TAKT_ERR_MEMORY;
    if (status == TAKT_OK && !run_cells(&w, &sizes, span, cell, is_there))
        status = TAKT_ERR_SHAPE;
    for (int i = 0; status == TAKT_OK && i < 2; i++)
        out[i] = span[cell][i];
    takt_sizes_deinit(&sizes);
    return status;
}
