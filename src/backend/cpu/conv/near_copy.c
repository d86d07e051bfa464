/* near_copy.c - lines of x with their padding, for the kernel that reads its inputs in place. */
#include "backend/cpu/conv/near_copy.h"

#include <stdint.h>
#include <string.h>

#include "backend/cpu/transpose.h"

/* The last tap of an axis, in steps of x. */
static size_t reach(const takt_conv_shape *s, int axis)
{
    return (s->kernel[axis] - 1) * s->dilation[axis];
}

size_t takt_near_extent(const takt_conv_shape *s, int axis, size_t outputs)
{
    return (outputs - 1) * s->stride[axis] + reach(s, axis) + 1;
}

/* Copies `count` floats into room for `room`, after `first` zeros, and fills the rest with
 * zeros. */
static void copy_row(const float *from, size_t count, size_t first, float *to, size_t room)
{
    first = first < room ? first : room;
    const size_t inside = count < room - first ? count : room - first;
    memset(to, 0, first * sizeof *to);
    memcpy(to + first, from, inside * sizeof *to);
    memset(to + first + inside, 0, (room - first - inside) * sizeof *to);
}

/* Turns a row of positions into one row per channel, with zeros around them. */
static void transpose_row(const takt_near_copy *f, const float *from, float *to)
{
    const takt_conv_shape *s = &f->shape;
    const size_t room = f->channel, first = s->before[2] < room ? s->before[2] : room;
    const size_t inside = s->in[2] < room - first ? s->in[2] : room - first;
    for (size_t c = 0; c < s->cin; c++) {
        memset(to + c * room, 0, first * sizeof *to);
        memset(to + c * room + first + inside, 0, (room - first - inside) * sizeof *to);
    }
    const takt_matrix_at x = {(char *)(uintptr_t)from, (ptrdiff_t)(s->cin * sizeof *from)};
    const takt_matrix_at transposed = {(char *)(to + first), (ptrdiff_t)(room * sizeof *to)};
    takt_transpose_4(x, transposed, s->cin, inside);
}

/* Line `y` at depth `z` of the padded sample, where channels are rows of their own if x has them
 * first: where its first row is, or NULL if all of it is padding. */
static const float *find_line(const takt_near_copy *f, const float *sample, size_t z, size_t y)
{
    const takt_conv_shape *s = &f->shape;
    const size_t width = s->in[2] * (f->is_planar ? 1 : s->cin);
    const size_t depth = z - s->before[0], line = y - s->before[1];
    return depth < s->in[0] && line < s->in[1] ? sample + (depth * s->in[1] + line) * width : NULL;
}

static void copy_line(const takt_near_copy *f, const float *from, float *to)
{
    const takt_conv_shape *s = &f->shape;
    const size_t rows = f->is_planar ? s->cin : 1, each = f->is_planar ? 1 : s->cin;
    if (from == NULL)
        memset(to, 0, f->pitch * sizeof *to);
    else if (f->is_transposed)
        transpose_row(f, from, to);
    else
        for (size_t c = 0; c < rows; c++)
            copy_row(from + c * s->area, s->in[2] * each, s->before[2] * each, to + c * f->channel,
                     f->pitch / rows);
}

/* The line is needed next: rows of planes are too short for the hardware prefetcher. */
static void ask_for(const takt_near_copy *f, const float *from)
{
    enum { LINE = 64 / sizeof(float) };
    const takt_conv_shape *s = &f->shape;
    for (size_t c = 0; from != NULL && f->is_planar && c < s->cin; c++)
        for (size_t i = 0; i < s->in[2]; i += LINE)
            __builtin_prefetch(from + c * s->area + i);
}

const float *takt_near_inputs(const takt_near_copy *f, const float *sample, const size_t at[2],
                              size_t lines, float *copy)
{
    const takt_conv_shape *s = &f->shape;
    const size_t depth = at[0] * s->stride[0], first = at[1] * s->stride[1];
    const size_t count = takt_near_extent(s, 1, lines);
    if (!f->is_copied)
        return sample + (depth * s->in[1] + first) * f->pitch;
    for (size_t d = 0; d < s->kernel[0]; d++) {
        const size_t z = depth + d * s->dilation[0];
        for (size_t i = 0; i < count; i++)
            copy_line(f, find_line(f, sample, z, first + i), copy + d * f->plane + i * f->pitch);
        for (size_t i = count; i < takt_near_extent(s, 1, 2 * lines); i++)
            ask_for(f, find_line(f, sample, z, first + i));
    }
    return copy;
}
