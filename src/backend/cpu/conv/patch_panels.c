/* patch_panels.c - gathers patches as the right-hand side of a product. */
#include "backend/cpu/conv/patch.h"
#include "backend/cpu/conv/patch_copy.h"

/* Whether the taps of a row, with their channels, follow each other in memory. */
static inline bool is_flat(const takt_conv_shape *s)
{
    return s->dilation[2] == 1 && s->x_at[2] == s->cin && (s->cin == 1 || s->x_channel == 1);
}

/* `count` elements of one row of taps, from element `first` of it on. `line`: the row of x that
 * they read; `from`: the position of the first tap in it, which may be outside. */
static void part_of_line(const takt_conv_shape *s, const float *line, ptrdiff_t from, size_t first,
                         size_t count, float *to)
{
    if (is_flat(s)) {
        const ptrdiff_t at = from * (ptrdiff_t)s->cin + (ptrdiff_t)first;
        const ptrdiff_t end = (ptrdiff_t)(s->in[2] * s->cin), all = (ptrdiff_t)count;
        const ptrdiff_t before = at >= 0 ? 0 : -at < all ? -at : all;
        const ptrdiff_t last = end - at > all ? all : end - at < before ? before : end - at;
        clear(to, (size_t)before);
        copy(to + before, line + (at + before), (size_t)(last - before));
        clear(to + last, (size_t)(all - last));
        return;
    }
    size_t tap = first / s->cin, c = first % s->cin;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t at = from + (ptrdiff_t)(tap * s->dilation[2]);
        to[i] = inside(s, 2, at) ? line[(size_t)at * s->x_at[2] + c * s->x_channel] : 0;
        if (++c == s->cin) {
            c = 0;
            tap++;
        }
    }
}

/* Whether a window that begins there lies inside x. */
static inline bool fits(const takt_conv_shape *s, int axis, ptrdiff_t from)
{
    return from >= 0 &&
           inside(s, axis, from + (ptrdiff_t)((s->kernel[axis] - 1) * s->dilation[axis]));
}

/* One row of patches, columns [column, column + columns), each row of taps at once. */
static void part_of_row(const takt_conv_shape *s, const float *x, const size_t at[3], size_t column,
                        size_t columns, float *row)
{
    const ptrdiff_t from[3] = {start(s, 0, at[0]), start(s, 1, at[1]), start(s, 2, at[2])};
    const size_t width = s->kernel[2] * s->cin;
    const bool is_whole =
        is_flat(s) && fits(s, 0, from[0]) && fits(s, 1, from[1]) && fits(s, 2, from[2]);
    const size_t skip = is_whole ? (size_t)from[2] * s->cin : 0;
    size_t first = column % width, run;
    size_t a = column / width / s->kernel[1], b = column / width % s->kernel[1];
    for (size_t i = 0; i < columns; i += run, first = 0) {
        const ptrdiff_t y = from[0] + (ptrdiff_t)(a * s->dilation[0]);
        const ptrdiff_t z = from[1] + (ptrdiff_t)(b * s->dilation[1]);
        run = width - first < columns - i ? width - first : columns - i;
        if (is_whole)
            copy(row + i, x + (size_t)y * s->x_at[0] + (size_t)z * s->x_at[1] + skip + first, run);
        else if (inside(s, 0, y) && inside(s, 1, z))
            part_of_line(s, x + (size_t)y * s->x_at[0] + (size_t)z * s->x_at[1], from[2], first,
                         run, row + i);
        else
            clear(row + i, run);
        if (++b == s->kernel[1]) {
            b = 0;
            a++;
        }
    }
}

/* ---- panels where no window leaves x ---- */

/* A run of elements that follow each other in x and in a row of a panel. */
typedef struct run {
    size_t to, from, count;
} run;

enum { RUNS = 64, SPILL = 8 };

typedef struct run_list {
    run at[RUNS];
    size_t count;
} run_list;

/* The runs of a row of a panel, for the first window; how many, or 0: there are too many. */
static size_t find_runs(const takt_conv_shape *s, size_t column, size_t columns, run *runs)
{
    const size_t width = s->kernel[2] * s->cin;
    size_t count = 0;
    for (size_t i = 0, n; i < columns; i += n, count++) {
        const size_t at = column + i, first = at % width;
        const size_t a = at / width / s->kernel[1], b = at / width % s->kernel[1];
        const size_t line = a * s->dilation[0] * s->x_at[0] + b * s->dilation[1] * s->x_at[1];
        if (count == RUNS)
            return 0;
        n = is_flat(s) ? width - first : 1;
        n = n < columns - i ? n : columns - i;
        runs[count] = (run){i, line + first, n};
        if (!is_flat(s))
            runs[count].from =
                line + first / s->cin * s->dilation[2] * s->x_at[2] + first % s->cin * s->x_channel;
    }
    return count;
}

static bool is_unpadded(const takt_conv_shape *s)
{
    bool is_good = true;
    for (int i = 0; i < 3; i++)
        is_good = is_good && s->before[i] == 0 && fits(s, i, start(s, i, s->out[i] - 1));
    return is_good;
}

/* One row of a panel. Runs of up to eight floats are copied as eight if `may_spill`. */
static inline void copy_runs(const run *runs, size_t count, const float *x, float *to,
                             bool may_spill)
{
    for (const run *q = runs; q < runs + count; q++)
        if (may_spill && q->count <= SPILL)
            memcpy(to + q->to, x + q->from, SPILL * sizeof *to);
        else
            copy(to + q->to, x + q->from, q->count);
}

static inline void copy_elements(const run *runs, size_t count, const float *x, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = x[runs[i].from];
}

/* The next window; true: it is of the next sample. */
static inline bool advance(const takt_conv_shape *s, size_t at[3])
{
    for (int i = 2; i >= 0; i--) {
        if (++at[i] < s->out[i])
            return false;
        at[i] = 0;
    }
    return true;
}

/* Rows of one panel, `stride` floats each. A copy may write beyond its end, which the next one
 * overwrites: so another row must follow, and x must be that long. */
static void whole_panel(const takt_conv_shape *s, const float *x, const takt_conv_part *p,
                        const run_list *list, size_t stride, float *to)
{
    const run *runs = list->at;
    const size_t count = list->count;
    size_t at[3], last = s->cin;
    const size_t columns = runs[count - 1].to + runs[count - 1].count;
    const size_t far = runs[count - 1].from + SPILL;
    for (int i = 0; i < 3; i++)
        last += (s->in[i] - 1) * s->x_at[i];
    x += p->first / s->positions * s->x_sample;
    takt_conv_unflatten(s->out, p->first % s->positions, at);
    for (size_t r = 0; r < p->count; r++, to += stride) {
        const size_t from = at[0] * s->stride[0] * s->x_at[0] + at[1] * s->stride[1] * s->x_at[1] +
                            at[2] * s->stride[2] * s->x_at[2];
        if (!is_flat(s))
            copy_elements(runs, count, x + from, to);
        else
            copy_runs(runs, count, x + from, to,
                      r + 1 < p->count && stride >= SPILL && from + far <= last);
        clear(to + columns, stride - columns);
        if (advance(s, at))
            x += s->x_sample;
    }
}

static void padded_panel(const takt_conv_shape *s, const float *x, const takt_conv_part *p,
                         const run *whole, size_t stride, float *to)
{
    for (size_t r = 0; r < p->count; r++, to += stride) {
        size_t at[3];
        takt_conv_unflatten(s->out, (p->first + r) % s->positions, at);
        part_of_row(s, x + (p->first + r) / s->positions * s->x_sample, at, whole->from,
                    whole->count, to);
        clear(to + whole->count, stride - whole->count);
    }
}

void takt_conv_panels(const takt_conv_shape *s, const float *x, const takt_conv_part *p, float *to)
{
    const size_t panels = takt_panels_count(p->panels, p->columns);
    const bool is_whole = is_unpadded(s);
    x += p->group * s->cin * s->x_channel;
    for (size_t i = 0; i < panels; i++) {
        run_list list;
        const size_t c = takt_panels_column(p->panels, p->columns, i);
        const size_t stride = takt_panels_column(p->panels, p->columns, i + 1) - c;
        const size_t width = p->columns - c < stride ? p->columns - c : stride;
        list.count = is_whole ? find_runs(s, p->column + c, width, list.at) : 0;
        if (list.count > 0)
            whole_panel(s, x, p, &list, stride, to + c * p->count);
        else
            padded_panel(s, x, p, &(run){0, p->column + c, width}, stride, to + c * p->count);
    }
}
