/* images.c - where positions and taps of a convolution's image lie, and how it is filled. */
#include "backend/cpu/conv/images.h"

#include <string.h>

#include "base/size.h"

enum { IMAGE_BYTES = 768 << 10 }; /* of a block, to stay in L2 with the weights of a panel */
enum { FILLED_ROW = 1 };          /* cost of a row besides multiplying, in rows by panels */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The last tap of an axis, in steps of x. */
static size_t reach(const takt_conv_shape *s, int axis)
{
    return (s->kernel[axis] - 1) * s->dilation[axis];
}

/* The image of one line of outputs has a size like that of x. Taps that lie far apart, most of them
 * in the padding, are gathered. */
static bool is_near(const takt_conv_shape *s)
{
    enum { SMALL = 16 << 20, TIMES = 4 };
    double elements = (double)s->cin;
    for (int i = 1; i < 3; i++) {
        const double out = i == 1 ? 1 : (double)s->out[2];
        elements *= (double)least(s->stride[i], reach(s, i) + 1) *
                    (out + (double)(reach(s, i) / s->stride[i]));
    }
    return elements <= SMALL + TIMES * (double)s->x_sample;
}

bool takt_image_fits(const takt_conv_shape *s, size_t multiple)
{
    return multiple > 0 && s->is_nhwc && s->groups == 1 && s->cin > 0 && s->cin % multiple == 0 &&
           s->in[0] == 1 && s->kernel[0] == 1 && s->out[0] == 1 && s->before[0] == 0 &&
           s->batch * s->positions > 0 && is_near(s);
}

/* ---- planning ---- */

static void set_phases(takt_image *o)
{
    const takt_conv_shape *s = &o->shape;
    for (int i = 0; i < 2; i++)
        o->phases[i] = least(s->stride[i + 1], reach(s, i + 1) + 1);
    o->pitch = s->out[2] + reach(s, 2) / s->stride[2];
    const size_t around = reach(s, 1) / s->stride[1];
    const size_t line = o->phases[0] * o->phases[1] * o->pitch * s->cin * o->to_bytes;
    const size_t fit = line > 0 ? IMAGE_BYTES / line : s->out[1];
    o->rows = least(fit > around ? fit - around : 1, s->out[1]);
    o->lines = o->rows + around;
}

static takt_status set_taps(takt_planner *p, takt_image *o)
{
    const takt_conv_shape *s = &o->shape;
    size_t *at = takt_planner_get(p, s->taps * sizeof *at);
    if (at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < s->taps; i++) {
        const size_t y = i / s->kernel[2] * s->dilation[1], x = i % s->kernel[2] * s->dilation[2];
        const size_t phase =
            y % s->stride[1] * o->phases[1] + x % s->stride[2]; /* each o->lines rows */
        const size_t line = phase * o->lines + y / s->stride[1];
        at[i] = (line * o->pitch + x / s->stride[2]) * s->cin;
    }
    o->at = at;
    return TAKT_OK;
}

takt_status takt_image_plan(takt_planner *p, takt_image *o, size_t beyond)
{
    size_t positions, elements;
    set_phases(o);
    TAKT_TRY(set_taps(p, o));
    if (!takt_size_mul(o->phases[0] * o->phases[1], o->lines, &positions) ||
        !takt_size_mul(positions, o->pitch, &positions) ||
        !takt_size_add(positions, beyond, &positions) ||
        !takt_size_mul(positions, o->shape.cin, &elements) || elements > SIZE_MAX / 16)
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the image of a convolution is too large");
    o->bytes = elements * o->to_bytes;
    return TAKT_OK;
}

void takt_image_cut(takt_planner *p, takt_image *o, size_t panels, double operations,
                    double weight_bytes)
{
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const takt_cut_work work = {o->shape.batch * o->shape.out[1], panels, 1, FILLED_ROW};
    o->cut = takt_cpu_cut_lines(&work, takt_cpu_tasks(p, operations, weight_bytes, threads),
                                o->shape.out[2]);
}

/* ---- running ---- */

takt_image_rows takt_image_share(const takt_image *o, size_t task)
{
    size_t first, end;
    takt_cpu_share(o->shape.batch * o->shape.out[1], o->cut.grain, task / o->cut.columns,
                   o->cut.rows, &first, &end);
    return (takt_image_rows){first, end - first};
}

takt_image_rows takt_image_block(const takt_image *o, takt_image_rows rest)
{
    const size_t left = o->shape.out[1] - rest.row % o->shape.out[1];
    return (takt_image_rows){rest.row, least(least(o->rows, rest.rows), left)};
}

/* Copies n bytes, each combined with `flip`. */
static void copy_bytes(char *restrict to, const char *restrict from, size_t n, int flip)
{
    if (flip == 0)
        memcpy(to, from, n);
    for (size_t i = 0; flip != 0 && i < n; i++)
        to[i] = (char)(from[i] ^ flip);
}

/* The same for `count` positions of `n` bytes that lie `apart`, in moves of fixed sizes: they are
 * too short for a call each. */
static void copy_apart(char *restrict to, const char *restrict from, size_t count, size_t n,
                       size_t apart, int flip)
{
    const uint64_t flips = UINT64_C(0x0101010101010101) * (uint8_t)flip;
    for (size_t i = 0; i < count; i++, to += n, from += apart) {
        size_t k = 0;
        for (; k + 16 <= n; k += 16) {
            uint64_t two[2];
            memcpy(two, from + k, sizeof two);
            two[0] ^= flips;
            two[1] ^= flips;
            memcpy(to + k, two, sizeof two);
        }
        for (; k + 4 <= n; k += 4) {
            uint32_t four;
            memcpy(&four, from + k, sizeof four);
            four ^= (uint32_t)flips;
            memcpy(to + k, &four, sizeof four);
        }
        for (; k < n; k++)
            to[k] = (char)(from[k] ^ flip);
    }
}

/* The columns of a phase: [first, last) lie in x. */
typedef struct columns {
    size_t phase, first, last;
} columns;

static columns columns_of(const takt_image *o, size_t phase)
{
    const takt_conv_shape *s = &o->shape;
    const size_t step = s->stride[2], before = s->before[2];
    const size_t room = s->in[2] + before > phase ? s->in[2] + before - phase : 0;
    const size_t first = before > phase ? takt_quotient(before - phase + step - 1, step) : 0;
    const size_t last = takt_quotient(room + step - 1, step);
    return (columns){phase, least(first, o->pitch), least(last, o->pitch)};
}

/* The columns of a phase in one row of x; border values outside x. */
static void fill_line(const takt_image *o, const char *row, columns c, int border, char *to)
{
    const takt_conv_shape *s = &o->shape;
    const takt_convert convert = {.to = TAKT_BF16, .from = TAKT_F32};
    const size_t step = s->stride[2], each = s->cin * o->to_bytes,
                 from_each = s->cin * o->from_bytes;
    memset(to, border, c.first * each);
    if (c.last < o->pitch)
        memset(to + c.last * each, border, (o->pitch - c.last) * each);
    if (c.first >= c.last)
        return;
    const size_t count = c.last - c.first;
    const char *from = row + (c.first * step + c.phase - s->before[2]) * from_each;
    to += c.first * each;
    if (o->convert == NULL && step == 1)
        copy_bytes(to, from, count * each, o->flip);
    else if (o->convert == NULL)
        copy_apart(to, from, count, each, step * from_each, o->flip);
    else if (step == 1)
        o->convert(&convert, to, from, count * s->cin);
    else
        for (size_t i = 0; i < count; i++)
            o->convert(&convert, to + i * each, from + i * step * from_each, s->cin);
}

void takt_image_fill(const takt_image *o, const void *x, takt_image_rows block, int border,
                     void *to)
{
    const takt_conv_shape *s = &o->shape;
    const size_t each = o->pitch * s->cin * o->to_bytes,
                 first = takt_remainder(block.row, s->out[1]);
    const size_t lines = block.rows + reach(s, 1) / s->stride[1];
    const char *sample =
        (const char *)x + takt_quotient(block.row, s->out[1]) * s->x_sample * o->from_bytes;
    char *at = to;
    border ^= o->flip;
    for (size_t a = 0; a < o->phases[0]; a++)
        for (size_t b = 0; b < o->phases[1]; b++, at += o->lines * each) {
            const columns c = columns_of(o, b);
            for (size_t j = 0; j < lines; j++) {
                const size_t y = (first + j) * s->stride[1] + a;
                if (y >= s->before[1] && y - s->before[1] < s->in[1])
                    fill_line(o, sample + (y - s->before[1]) * s->x_at[1] * o->from_bytes, c,
                              border, at + j * each);
                else
                    memset(at + j * each, border, each);
            }
        }
}
