/* strided.c - copying from a pattern of strides to dense memory.
 *
 * A transpose reads or writes far apart; taking a square of the two last loops at a time keeps
 * whole cache lines in use on both sides.
 */
#include "backend/cpu/strided.h"

#include <string.h>

#include "backend/cpu/transpose.h"

takt_strided takt_strided_of(const int64_t *dim, const int64_t *stride, int rank, size_t bytes)
{
    takt_strided w = {.bytes = bytes, .count = 1};
    for (int d = 0; d < rank; d++) {
        w.count *= (size_t)dim[d];
        if (dim[d] == 1)
            continue;
        const int last = w.rank - 1;
        if (last >= 0 && w.stride[last] == stride[d] * dim[d]) {
            w.dim[last] *= dim[d];
            w.stride[last] = stride[d];
        } else {
            w.dim[w.rank] = dim[d];
            w.stride[w.rank++] = stride[d];
        }
    }
    if (w.rank == 0) {
        w.dim[0] = w.stride[0] = 1;
        w.rank = 1;
    }
    return w;
}

/* `n` elements that lie `step` bytes apart. */
static void run_of(const char *from, int64_t step, char *to, size_t n, size_t bytes)
{
    if (step == (int64_t)bytes) {
        memcpy(to, from, n * bytes);
        return;
    }
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < n; i++, from += step)
            to[i] = *from;
        break;
    case 2:
        for (size_t i = 0; i < n; i++, from += step)
            memcpy(to + 2 * i, from, 2);
        break;
    case 4:
        for (size_t i = 0; i < n; i++, from += step)
            memcpy(to + 4 * i, from, 4);
        break;
    default:
        for (size_t i = 0; i < n; i++, from += step)
            memcpy(to + 8 * i, from, 8);
        break;
    }
}

/* `rows` rows of the two innermost loops, square by square. */
static void squares(const takt_strided *w, const char *from, char *to, int64_t rows)
{
    enum { SIDE = 16 };
    const int64_t bytes = (int64_t)w->bytes, cols = w->dim[w->rank - 1];
    const int64_t far = w->stride[w->rank - 2] * bytes, near = w->stride[w->rank - 1] * bytes;
    if ((bytes == 4 || bytes == 2 || bytes == 1) && far == bytes) {
        const takt_matrix_at source = {(char *)(uintptr_t)from, near}, target = {to, cols * bytes};
        (bytes == 4   ? takt_transpose_4
         : bytes == 2 ? takt_transpose_2
                      : takt_transpose_1)(source, target, (size_t)rows, (size_t)cols);
        return;
    }
    for (int64_t c = 0; c < cols; c += SIDE) {
        const size_t n = (size_t)(cols - c < SIDE ? cols - c : SIDE);
        for (int64_t r = 0; r < rows; r++)
            run_of(from + r * far + c * near, near, to + (r * cols + c) * bytes, n, w->bytes);
    }
}

static int64_t locate(const takt_strided *w, size_t first, int64_t *index)
{
    int64_t at = 0;
    for (int d = w->rank - 1; d >= 0; d--) {
        const size_t left = takt_quotient(first, (size_t)w->dim[d]);
        index[d] = (int64_t)(first - left * (size_t)w->dim[d]);
        first = left;
        at += index[d] * w->stride[d];
    }
    return at;
}

/* Moves to the next element of loop `d` and resets all inner loops. */
static int64_t advance(const takt_strided *w, int64_t *index, int64_t at, int d)
{
    for (; d >= 0; d--) {
        at += w->stride[d];
        if (++index[d] < w->dim[d])
            return at;
        at -= w->stride[d] * w->dim[d];
        index[d] = 0;
    }
    return at;
}

/* Whole rows that are contiguous on both sides, of `left` elements. */
static int64_t copy_rows(const takt_strided *w, const int64_t *index, const char *from, char *to,
                         size_t left)
{
    const int inner = w->rank - 1;
    if (inner < 1 || index[inner] != 0 || w->stride[inner] != 1)
        return 0;
    const int64_t n = w->dim[inner], rest = w->dim[inner - 1] - index[inner - 1];
    const int64_t whole = (int64_t)(left / (size_t)n), rows = rest < whole ? rest : whole;
    const size_t bytes = (size_t)n * w->bytes;
    for (int64_t r = 0; r < rows; r++, to += bytes)
        memcpy(to, from + r * w->stride[inner - 1] * (int64_t)w->bytes, bytes);
    return rows;
}

/* Rows of the two innermost loops that can be taken together, of `left` elements; 0: it is not a
 * transposition, or the position is within a row. */
static int64_t rows_at_once(const takt_strided *w, const int64_t *index, size_t left)
{
    const int inner = w->rank - 1;
    if (inner < 1 || index[inner] != 0 || w->stride[inner] == 1)
        return 0;
    const int64_t whole = (int64_t)(left / (size_t)w->dim[inner]);
    const int64_t rest = w->dim[inner - 1] - index[inner - 1];
    return rest < whole ? rest : whole;
}

void takt_strided_copy(const takt_strided *w, const void *from, void *to, size_t first, size_t end)
{
    if (first >= end)
        return;
    int64_t index[TAKT_MAX_RANK];
    int64_t at = locate(w, first, index);
    const int64_t bytes = (int64_t)w->bytes;
    const int inner = w->rank - 1;
    char *dst = to;
    while (first < end) {
        const char *src = (const char *)from + at * bytes;
        const int64_t transposed = rows_at_once(w, index, end - first);
        const int64_t rows =
            transposed > 0 ? transposed : copy_rows(w, index, src, dst, end - first);
        size_t n;
        if (rows > 0) {
            if (transposed > 0)
                squares(w, src, dst, rows);
            n = (size_t)(rows * w->dim[inner]);
            index[inner - 1] += rows - 1;
            at += (rows - 1) * w->stride[inner - 1];
        } else {
            n = (size_t)(w->dim[inner] - index[inner]);
            n = n < end - first ? n : end - first;
            run_of(src, w->stride[inner] * bytes, dst, n, w->bytes);
            at -= index[inner] * w->stride[inner];
            index[inner] = 0;
        }
        at = advance(w, index, at, inner - 1);
        dst += n * w->bytes;
        first += n;
    }
}

enum { LINE = 64, FEW_ROWS = 16 }; /* elements, and rows of a transposition that share a line */

/* Squares of the two innermost loops are transposed, whatever the others do. */
static bool is_transposed(const takt_strided *w)
{
    const int inner = w->rank - 1;
    return inner > 0 && w->stride[inner - 1] == 1 && w->stride[inner] != 1 &&
           w->count / (size_t)w->dim[inner] >= FEW_ROWS;
}

/* A transposition whose parts would have so few rows that each reads a little of every cache
 * line. */
static bool is_cut_across(const takt_strided *w, size_t parts)
{
    const int inner = w->rank - 1;
    return inner > 0 && (w->bytes == 4 || w->bytes == 1) && w->stride[inner - 1] == 1 &&
           w->stride[inner] != 1 && w->count / (size_t)w->dim[inner] < FEW_ROWS * parts;
}

/* Blocks of FEW_ROWS columns, all rows of each. */
static void copy_columns(const takt_strided *w, const char *from, char *to, size_t first,
                         size_t end)
{
    const int inner = w->rank - 1;
    const int64_t bytes = (int64_t)w->bytes;
    const size_t rows = (size_t)w->dim[inner - 1], cols = (size_t)w->dim[inner];
    const size_t blocks = (cols + FEW_ROWS - 1) / FEW_ROWS;
    int64_t index[TAKT_MAX_RANK];
    for (size_t b = first, n; b < end; b += n) {
        const size_t matrix = b / blocks, at = b % blocks;
        n = end - b < blocks - at ? end - b : blocks - at;
        const size_t begin = at * FEW_ROWS, stop = (at + n) * FEW_ROWS;
        const char *source = from + locate(w, matrix * rows * cols, index) * bytes;
        const takt_matrix_at x = {(char *)(uintptr_t)source +
                                      (int64_t)begin * w->stride[inner] * bytes,
                                  w->stride[inner] * bytes};
        const takt_matrix_at y = {to + (matrix * rows * cols + begin) * w->bytes,
                                  (ptrdiff_t)(cols * w->bytes)};
        (bytes == 4 ? takt_transpose_4 : takt_transpose_1)(x, y, rows,
                                                           (stop < cols ? stop : cols) - begin);
    }
}

void takt_strided_part(const takt_strided *w, const void *from, void *to, size_t index,
                       size_t parts)
{
    size_t first, end;
    if (w->count > 0 && parts > 1 && is_cut_across(w, parts)) {
        const size_t rows = (size_t)w->dim[w->rank - 2], cols = (size_t)w->dim[w->rank - 1];
        takt_cpu_share(w->count / (rows * cols) * ((cols + FEW_ROWS - 1) / FEW_ROWS), 1, index,
                       parts, &first, &end);
        copy_columns(w, from, to, first, end);
        return;
    }
    if (parts > 1 && is_transposed(w)) { /* part of a row would be read element by element */
        const size_t cols = (size_t)w->dim[w->rank - 1];
        takt_cpu_share(w->count / cols, FEW_ROWS, index, parts, &first, &end);
        first *= cols;
        end *= cols;
    } else {
        takt_cpu_share(w->count, LINE, index, parts, &first, &end);
    }
    takt_strided_copy(w, from, (char *)to + first * w->bytes, first, end);
}

/* ---- ops as patterns ---- */

static void transpose(const takt_node *n, const takt_view *x, int64_t *stride)
{
    const takt_attr *perm = takt_node_attr(n, "perm");
    for (int d = 0; d < x->rank; d++) {
        const int64_t from =
            perm->count == 0 ? x->rank - 1 - d : perm->i64s[d]; /* empty: reversed */
        stride[d] = x->stride[from < 0 ? from + x->rank : from];
    }
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* Python's rule: negative numbers count from the end, those beyond the ends are clipped. */
static int64_t slice(const takt_node *n, const takt_view *x, int64_t *stride)
{
    const takt_attr *axes = takt_node_attr(n, "axes");
    const takt_attr *start = takt_node_attr(n, "start");
    const takt_attr *step = takt_node_attr(n, "step");
    int64_t at = 0;
    for (int d = 0; d < x->rank; d++)
        stride[d] = x->stride[d];
    for (uint32_t i = 0; i < start->count; i++) {
        int64_t d = axes->count == 0 ? (int64_t)i : axes->i64s[i];
        d += d < 0 ? x->rank : 0;
        const int64_t size = x->dim[d], by = step->count == 0 ? 1 : step->i64s[i];
        const int64_t from = start->i64s[i] < 0 ? start->i64s[i] + size : start->i64s[i];
        at += clamp(from, by > 0 ? 0 : -1, by > 0 ? size : size - 1) * x->stride[d];
        /* The largest possible step leaves one element, so its stride is irrelevant. */
        stride[d] = (int64_t)((uint64_t)x->stride[d] * (uint64_t)by);
    }
    return at;
}

int64_t takt_strided_source(const takt_node *n, const takt_view *x, int64_t *stride)
{
    if (n->op == &takt_op_slice)
        return slice(n, x, stride);
    if (n->op == &takt_op_transpose) {
        transpose(n, x, stride);
        return 0;
    }
    for (int d = 0; d < n->type->rank; d++) { /* broadcast: axes are lined up at the end */
        const int own = d - (n->type->rank - x->rank);
        stride[d] = own < 0 || x->dim[own] == 1 ? 0 : x->stride[own];
    }
    return 0;
}
