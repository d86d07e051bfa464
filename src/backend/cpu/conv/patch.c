/* patch.c - gathers patches and packs weights. */
#include "backend/cpu/conv/patch.h"

#include <stdint.h>

#include "backend/cpu/conv/patch_copy.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/transpose.h"
#include "base/size.h"
#include "kernel/gemm_f32/gemm_f32.h"

/* Clears up to three floats after the last patch of a row. Not a loop: compilers would turn it into
 * a call of memset. */
static inline void clear_rest(float *to, size_t n)
{
    if (n > 0)
        to[0] = 0;
    if (n > 1)
        to[1] = 0;
    if (n > 2)
        to[2] = 0;
}

/* Taps of the last axis at `row`, the row of x they read: cin floats each. */
static float *tap_by_tap(const takt_conv_shape *s, const float *row, ptrdiff_t from, float *to)
{
    for (size_t j = 0; j < s->kernel[2]; j++, to += s->cin) {
        const ptrdiff_t at = from + (ptrdiff_t)(j * s->dilation[2]);
        if (!inside(s, 2, at)) {
            clear(to, s->cin);
        } else if (s->x_channel == 1) {
            copy(to, row + (size_t)at * s->x_at[2], s->cin);
        } else {
            const float *x = row + (size_t)at * s->x_at[2];
            for (size_t c = 0; c < s->cin; c++)
                to[c] = x[c * s->x_channel];
        }
    }
    return to;
}

/* The same where taps and channels follow each other in memory. */
static float *run_of_taps(const takt_conv_shape *s, const float *row, ptrdiff_t from, float *to)
{
    const ptrdiff_t taps = (ptrdiff_t)s->kernel[2], width = (ptrdiff_t)s->in[2];
    const ptrdiff_t first = from >= 0 ? 0 : -from < taps ? -from : taps;
    const ptrdiff_t room = width - from < taps ? width - from : taps;
    const ptrdiff_t last = room > first ? room : first; /* taps [first, last) are inside */
    clear(to, (size_t)first * s->cin);
    if (last > first)
        copy(to + (size_t)first * s->cin, row + (size_t)(from + first) * s->cin,
             (size_t)(last - first) * s->cin);
    clear(to + (size_t)last * s->cin, (size_t)(taps - last) * s->cin);
    return to + (size_t)taps * s->cin;
}

static void patch(const takt_conv_shape *s, const float *x, const size_t at[3], float *to)
{
    const ptrdiff_t from[3] = {start(s, 0, at[0]), start(s, 1, at[1]), start(s, 2, at[2])};
    const bool is_run = s->is_nhwc && s->groups == 1 && s->dilation[2] == 1;
    for (size_t a = 0; a < s->kernel[0]; a++) {
        const ptrdiff_t i = from[0] + (ptrdiff_t)(a * s->dilation[0]);
        for (size_t b = 0; b < s->kernel[1]; b++) {
            const ptrdiff_t j = from[1] + (ptrdiff_t)(b * s->dilation[1]);
            if (!inside(s, 0, i) || !inside(s, 1, j)) {
                clear(to, s->kernel[2] * s->cin);
                to += s->kernel[2] * s->cin;
                continue;
            }
            const float *row = x + (size_t)i * s->x_at[0] + (size_t)j * s->x_at[1];
            to = is_run ? run_of_taps(s, row, from[2], to) : tap_by_tap(s, row, from[2], to);
        }
    }
}

enum { LINES = 128 };

/* The inputs of a row of outputs, in pieces: rows of x or, where taps are not adjacent, single
 * taps. */
typedef struct pieces {
    const float *from[LINES]; /* rows; NULL: padding */
    size_t skip[LINES];       /* floats of a row before the piece of its first output */
    size_t count, run;        /* floats of a piece */
} pieces;

/* False if there are too many, or their channels are not adjacent in memory. */
static bool find_pieces(const takt_conv_shape *s, const float *x, const size_t at[3], pieces *p)
{
    const size_t across = s->dilation[2] > 1 ? s->kernel[2] : 1;
    p->count = s->kernel[0] * s->kernel[1] * across;
    p->run = s->kernel[2] / across * s->cin;
    if (!s->is_nhwc || s->groups > 1 || p->count > LINES)
        return false;
    for (size_t i = 0; i < p->count; i++) {
        const size_t line = i / across;
        const ptrdiff_t a = start(s, 0, at[0]) + (ptrdiff_t)(line / s->kernel[1] * s->dilation[0]);
        const ptrdiff_t b = start(s, 1, at[1]) + (ptrdiff_t)(line % s->kernel[1] * s->dilation[1]);
        p->from[i] = inside(s, 0, a) && inside(s, 1, b)
                         ? x + (size_t)a * s->x_at[0] + (size_t)b * s->x_at[1]
                         : NULL;
        p->skip[i] = i % across * s->dilation[2] * s->cin;
    }
    return true;
}

/* Patches of whole pieces, from element `from` of each on. */
static inline __attribute__((always_inline)) void patches_of(const takt_conv_shape *s,
                                                             const pieces *p, size_t from,
                                                             size_t count, float *to,
                                                             const size_t run)
{
    const size_t rest = s->k_row - s->k;
    const size_t step = s->stride[2] * s->cin, row = s->k_row;
    for (size_t i = 0; i < p->count; i++, to += run) {
        const float *x = p->from[i];
        for (size_t r = 0; x != NULL && r < count; r++)
            copy(to + r * row, x + p->skip[i] + from + r * step, run);
        for (size_t r = 0; x == NULL && r < count; r++)
            clear(to + r * row, run);
    }
    for (size_t r = 0; rest > 0 && r < count; r++)
        clear_rest(to + r * row, rest);
}

/* The first layers of most networks have three channels, or one, and 3x3 or 7x7 taps. */
static void whole_patches(const takt_conv_shape *s, const pieces *p, size_t from, size_t count,
                          float *to)
{
    if (p->run == 1)
        patches_of(s, p, from, count, to, 1);
    else if (p->run == 3)
        patches_of(s, p, from, count, to, 3);
    else if (p->run == 9)
        patches_of(s, p, from, count, to, 9);
    else if (p->run == 21)
        patches_of(s, p, from, count, to, 21);
    else
        patches_of(s, p, from, count, to, p->run);
}

/* The number of consecutive windows inside x, of `count` from column `at` on; 0 if the first is
 * not.
 */
static size_t windows_inside(const takt_conv_shape *s, size_t at, size_t count)
{
    const ptrdiff_t reach = (ptrdiff_t)((s->kernel[2] - 1) * s->dilation[2] + 1);
    const ptrdiff_t from = start(s, 2, at), room = (ptrdiff_t)s->in[2] - reach;
    if (from < 0 || from > room)
        return 0;
    const size_t fit = (size_t)(room - from) / s->stride[2] + 1;
    return fit < count ? fit : count;
}

/* `count` patches of one row of outputs. */
static void row_of_patches(const takt_conv_shape *s, const float *x, size_t at[3], size_t count,
                           float *to)
{
    pieces p;
    const bool is_fast = find_pieces(s, x, at, &p);
    for (size_t r = 0, part; r < count; r += part, at[2] += part, to += part * s->k_row) {
        part = is_fast ? windows_inside(s, at[2], count - r) : 0;
        if (part > 0) {
            whole_patches(s, &p, (size_t)start(s, 2, at[2]) * s->cin, part, to);
            continue;
        }
        part = 1;
        patch(s, x, at, to);
        clear(to + s->k, s->k_row - s->k);
    }
}

void takt_conv_patches(const takt_conv_shape *s, const float *x, size_t group, size_t first,
                       size_t count, float *to)
{
    x += group * s->cin * s->x_channel;
    for (size_t r = 0, part; r < count; r += part, to += part * s->k_row) {
        size_t at[3];
        takt_conv_unflatten(s->out, (first + r) % s->positions, at);
        part = s->out[2] - at[2] < count - r ? s->out[2] - at[2] : count - r;
        row_of_patches(s, x + (first + r) / s->positions * s->x_sample, at, part, to);
    }
}

/* Weights of consecutive columns, as a part of one panel: rows [p, end) of k, at most a chunk. */
typedef struct pack_rows {
    size_t p, end, first, columns, width;
} pack_rows;

/* Where the weights of a column lie in the order of k they are a matrix to be transposed. */
static void pack_part(const takt_conv_shape *s, const pack_rows *r, const float *w, float *to)
{
    enum { BYTES = sizeof(float) };
    const bool is_flat = s->w_in == 1 && s->w_tap == s->cin;
    w += r->first * s->w_out;
    if (is_flat) {
        const takt_matrix_at rows = {(char *)(uintptr_t)(w + r->p), (ptrdiff_t)(s->w_out * BYTES)};
        const takt_matrix_at packed = {(char *)to, (ptrdiff_t)(r->width * BYTES)};
        takt_transpose_4(rows, packed, r->end - r->p, r->columns);
        return;
    }
    for (size_t j = 0; j < r->columns; j++, w += s->w_out)
        for (size_t q = r->p; q < r->end; q++)
            to[(q - r->p) * r->width + j] = w[q / s->cin * s->w_tap + q % s->cin * s->w_in];
}

/* The columns that exist of panel `n`, chunk by chunk, and zeros around them. */
static void pack_panel(const takt_conv_shape *s, takt_panels panels, size_t n, const float *w,
                       float *to)
{
    pack_rows r = {.first = takt_panels_column(panels, s->cout, n)};
    r.width = takt_panels_column(panels, s->cout, n + 1) - r.first;
    r.columns = s->cout - r.first < r.width ? s->cout - r.first : r.width;
    for (size_t rows; r.p < s->k_row; r.p += rows) {
        rows = s->k_row - r.p < TAKT_GEMM_CHUNK ? s->k_row - r.p : TAKT_GEMM_CHUNK;
        float *at = to + takt_packed_at(panels, s->k_row, s->cout, r.p, r.first);
        r.end = r.p + rows < s->k ? r.p + rows : s->k;
        if (r.columns < r.width || r.end < r.p + rows)
            clear(at, rows * r.width);
        if (r.p < r.end)
            pack_part(s, &r, w, at);
    }
}

void takt_conv_pack_weights(const takt_conv_shape *s, takt_panels panels, const float *w, float *to)
{
    takt_conv_pack_part(s, panels, w, to, (const size_t[2]){0, 1});
}

void takt_conv_pack_part(const takt_conv_shape *s, takt_panels panels, const float *w, float *to,
                         const size_t share[2])
{
    const size_t columns = takt_panels_columns(panels, s->cout);
    const size_t count = takt_panels_count(panels, s->cout);
    size_t first, end;
    takt_cpu_share(count, 1, share[0], share[1], &first, &end);
    for (size_t g = 0; g < s->groups; g++, to += columns * s->k_row)
        for (size_t n = first; n < end; n++)
            pack_panel(s, panels, n, w + g * s->cout * s->w_out, to);
}

void takt_conv_order_weights(const takt_conv_shape *s, const float *w, float *to)
{
    for (size_t j = 0; j < s->groups * s->cout; j++, w += s->w_out, to += s->k_row) {
        for (size_t q = 0; q < s->k; q++)
            to[q] = w[q / s->cin * s->w_tap + q % s->cin * s->w_in];
        clear(to + s->k, s->k_row - s->k);
    }
}

bool takt_conv_packed_floats(const takt_conv_shape *s, takt_panels panels, size_t *floats)
{
    size_t each;
    return takt_size_mul(takt_panels_columns(panels, s->cout), s->k_row, &each) &&
           takt_size_mul(each, s->groups, floats) && *floats <= SIZE_MAX / 16;
}
