/* integer_lines.c - convolutions of bytes whose patches are copied from an image with its border.
 *
 * A block of outputs copies the lines of x that it needs, with the zero point around them: then
 * every line of a window is one run of bytes, or one for each tap if it is dilated, and no border
 * has to be checked. Where windows have one line and outputs too, as in convolutions over time,
 * rows of the product are windows of that line. Nothing is copied again by kernels that read runs.
 */
#include "backend/cpu/conv/integer_lines.h"

#include <string.h>

#include "backend/cpu/cut.h"

enum { LARGEST = 256 << 10, SLACK = 32 };
enum {
    ROWS = 96,
    ROWS_MIN = 24,
    PATCHES = 8 << 10,
    IMAGE = 12 << 10,
    IMAGE_MIN = 13 << 7
}; /* outputs of a block, and its patches or its image in bytes */

typedef struct facts {
    takt_integer integer;
    takt_conv_shape shape;
    size_t rows, most;  /* outputs of a block; no fewer, and never less for more lines */
    size_t lines, line; /* of the image: how many a block needs, and their bytes */
    size_t run, runs;   /* consecutive bytes in a line of a window, and how many such runs */
    bool is_direct;     /* one line in and out: no patches */
    size_t *at;         /* where the lines of a window begin in the image; NULL: patches */
    takt_cut cut;
    size_t patches, image, zeros; /* offsets in a worker's scratch; the kernel's comes first */
} facts;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t lines_of(const takt_conv_shape *s)
{
    return (s->out[1] - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] + 1;
}

/* A multiple of the stride. */
static size_t columns_of(const takt_conv_shape *s)
{
    const size_t reach = (s->kernel[2] - 1) * s->dilation[2];
    return (s->out[2] + reach / s->stride[2] + (reach % s->stride[2] > 0)) * s->stride[2];
}

bool takt_integer_lines_fits(const takt_planner *p, const takt_conv_shape *s)
{
    const bool has_blocks = p->settings->is_blocked && p->settings->blocking.rows > 0;
    if (has_blocks || !s->is_nhwc || s->groups != 1 || s->in[0] != 1 || s->kernel[0] != 1 ||
        s->out[0] != 1 || s->before[0] != 0 || s->k == 0 || s->batch * s->positions == 0)
        return false;
    const size_t lines = lines_of(s), columns = columns_of(s);
    return lines < LARGEST && columns < LARGEST && s->cin < LARGEST && lines * columns < LARGEST &&
           lines * columns * s->cin <= LARGEST;
}

static bool has_one_line(const takt_conv_shape *s)
{
    return s->kernel[1] == 1 && s->out[1] == 1 && s->dilation[2] == 1;
}

size_t takt_integer_lines_run(const takt_conv_shape *s, const takt_gemm_i8_info *info)
{
    const bool is_read = info->reads_runs && s->cout <= info->few; /* more are worth patches */
    return is_read && s->dilation[2] == 1 && !has_one_line(s) ? s->kernel[2] * s->cin : 0;
}

/* ---- running ---- */

static void copy_bytes(uint8_t *restrict to, const uint8_t *restrict from, size_t n, int flip)
{
    if (flip == 0)
        memcpy(to, from, n);
    for (size_t i = 0; flip != 0 && i < n; i++)
        to[i] = (uint8_t)(from[i] ^ flip);
}

/* Line `y` of the image. */
static void fill_line(const facts *f, const uint8_t *sample, size_t y, int zero, uint8_t *to)
{
    const takt_conv_shape *s = &f->shape;
    const size_t columns = f->line / s->cin, before = least(s->before[2], columns);
    if (y < s->before[1] || y - s->before[1] >= s->in[1]) {
        memset(to, zero, f->line);
        return;
    }
    const size_t inner = least(s->in[2], columns - before), after = columns - before - inner;
    memset(to, zero, before * s->cin);
    copy_bytes(to + before * s->cin, sample + (y - s->before[1]) * s->x_at[1], inner * s->cin,
               takt_integer_flip(&f->integer));
    memset(to + (before + inner) * s->cin, zero, after * s->cin);
}

/* The lines that outputs [row, end) of one sample read. */
static void fill(const facts *f, const uint8_t *sample, size_t row, size_t end, int zero,
                 uint8_t *image)
{
    const takt_conv_shape *s = &f->shape;
    const size_t first = row / s->out[2] * s->stride[1],
                 last = (end - 1) / s->out[2] * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1];
    for (size_t y = first; y <= last; y++, image += f->line)
        fill_line(f, sample, y, zero, image);
}

/* Copies a few bytes more than n: the next copy overwrites them. */
static inline void copy_run(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        memcpy(to + i, from + i, 16);
}

/* One window from `from`; `runs`: f->runs, or a number that the compiler knows. */
static inline uint8_t *window(const facts *f, const uint8_t *from, uint8_t *to, const size_t runs)
{
    const takt_conv_shape *s = &f->shape;
    const size_t run = f->run, lines = s->kernel[1], down = s->dilation[1] * f->line,
                 apart = s->dilation[2] * s->cin;
    for (size_t k = 0; k < lines; k++, from += down)
        for (size_t i = 0; i < runs; i++, to += run)
            copy_run(to, from + i * apart, run);
    return to;
}

static void gather(const facts *f, const uint8_t *image, size_t row, size_t rows, uint8_t *to)
{
    const takt_conv_shape *s = &f->shape;
    const size_t further = s->stride[2] * s->cin, columns = s->out[2],
                 below = s->stride[1] * f->line;
    for (size_t r = row; r < row + rows;) {
        const size_t column = r % columns, end = least(columns, column + row + rows - r);
        const uint8_t *line = image + (r / columns - row / columns) * below;
        r += end - column;
        if (f->runs == 1)
            for (size_t i = column; i < end; i++)
                to = window(f, line + i * further, to, 1);
        else
            for (size_t i = column; i < end; i++)
                to = window(f, line + i * further, to, f->runs);
    }
}

/* Outputs of the next block: the rest of a line, or whole lines. */
static size_t next_rows(const facts *f, size_t row, size_t end)
{
    const size_t columns = f->shape.out[2], column = row % columns;
    if (f->is_direct)
        return end - row;
    if (f->at == NULL)
        return least(end - row, f->rows);
    return least(end - row, column > 0 ? columns - column : f->rows);
}

/* Outputs [row, end) of sample number `which`. */
static void products(const takt_step *s, const takt_task *t, size_t which, size_t row, size_t end)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const uint8_t *x = takt_view_data(t, &s->in[f->integer.in[TAKT_INTEGER_A]]);
    uint8_t *own = t->scratch_own, *image = own + f->image, *patches = own + f->patches;
    size_t column, last;
    takt_cpu_share(c->cout, 16, takt_remainder(t->index, f->cut.columns), f->cut.columns, &column,
                   &last);
    if (column == last)
        return;
    const int flip = takt_integer_flip(&f->integer),
              zero = (uint8_t)takt_integer_a_zero(&f->integer, s, t) ^ flip;
    for (size_t rows; row < end && !takt_poll_stops(t->poll); row += rows) {
        rows = next_rows(f, row, end);
        fill(f, x + which * c->x_sample, row, row + rows, zero, image);
        const size_t at = (which * c->positions + row) * c->cout + column;
        const takt_i8_image runs = {.data = image + row % c->out[2] * c->stride[2] * c->cin,
                                    .width = c->out[2],
                                    .pitch = c->stride[1] * f->line / (c->stride[2] * c->cin),
                                    .channels = c->stride[2] * c->cin,
                                    .at = f->at,
                                    .run = f->run};
        const takt_integer_block b = {
            .step = s,
            .task = t,
            .a = f->is_direct ? image + row * c->stride[2] * c->cin : patches,
            .a_row = f->is_direct ? c->stride[2] * c->cin : c->k,
            .image = f->at != NULL ? &runs : NULL,
            .a_open = true,
            .flip = flip,
            .rows = rows,
            .column = column,
            .columns = last - column,
            .c = (char *)takt_view_data(t, &s->out[0]) + at * f->integer.result_bytes,
            .ldc = c->cout,
            .scratch = own,
            .zeros = (int32_t *)(void *)(own + f->zeros)};
        if (!f->is_direct && f->at == NULL)
            gather(f, image, row, rows, patches);
        takt_integer_product(&f->integer, &b);
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const size_t positions = f->shape.positions;
    size_t row, end;
    takt_cpu_share(f->shape.batch * positions, f->cut.grain,
                   takt_quotient(t->index, f->cut.columns), f->cut.rows, &row, &end);
    for (size_t last; row < end && !takt_poll_stops(t->poll); row = last) {
        const size_t which = row / positions;
        last = least(end, (which + 1) * positions);
        products(s, t, which, row - which * positions, last - which * positions);
    }
}

static void before(const takt_step *s, const takt_task *t)
{
    takt_integer_pack(&((const facts *)s->data)->integer, s, t);
}

/* ---- compiling ---- */

static void cut_tasks(takt_planner *p, facts *f)
{
    enum {
        TAP = 24,
        PER_ROW = 6
    }; /* copying a line of a window, in operations; a row, in rows by panels */
    const takt_conv_shape *c = &f->shape;
    const size_t m = c->batch * c->positions;
    const double operations = 2.0 * (double)m * (double)c->k * (double)c->cout;
    const double gathering = f->at != NULL ? 0 : TAP * (double)m * (double)(c->kernel[1] * f->runs);
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const takt_cut_work work = {m, (c->cout + 15) / 16, f->integer.info->rows, PER_ROW};
    f->cut = takt_cpu_cut(&work, takt_cpu_tasks(p, operations / 4 + gathering,
                                                (double)c->k * (double)c->cout, threads));
}

/* The most for any number of rows that a block may have. */
static size_t kernel_bytes(const facts *f)
{
    const size_t rows = f->is_direct ? f->shape.positions : f->most;
    size_t most = 0;
    const takt_i8_image runs = {
        .width = f->shape.out[2], .channels = f->shape.stride[2] * f->shape.cin, .run = f->run};
    for (size_t m = 1; m <= rows; m++) {
        const takt_gemm_i8 g = {
            .m = m, .n = f->shape.cout, .k = f->shape.k, .image = f->at != NULL ? &runs : NULL};
        const size_t bytes = f->integer.info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    return takt_cpu_aligned(most);
}

static size_t all_bytes(const facts *f)
{
    const takt_conv_shape *s = &f->shape;
    return ((s->out[1] - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] + 1) * f->line;
}

/* Bytes of a block's image: they fit in cache, and small images are copied in two halves. */
static size_t image_room(const facts *f)
{
    const size_t half = all_bytes(f) / 2;
    return half > IMAGE ? IMAGE : half > IMAGE_MIN ? half : IMAGE_MIN;
}

/* Whole lines of outputs whose image has room, in even blocks, and where the lines of a window
 * begin. */
static takt_status set_runs(takt_planner *p, facts *f)
{
    const takt_conv_shape *s = &f->shape;
    const size_t window = (s->kernel[1] - 1) * s->dilation[1] + 1, fit = image_room(f) / f->line,
                 more = fit > window ? (fit - window) / s->stride[1] : 0,
                 blocks = (s->out[1] + more) / (more + 1),
                 outputs = (s->out[1] + blocks - 1) / blocks;
    f->at = takt_planner_get(p, s->kernel[1] * sizeof *f->at);
    if (f->at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t k = 0; k < s->kernel[1]; k++)
        f->at[k] = k * s->dilation[1] * f->line;
    f->rows = outputs * s->out[2];
    f->most = least(more + 1, s->out[1]) * s->out[2];
    f->lines = (outputs - 1) * s->stride[1] + window;
    return TAKT_OK;
}

/* Whole tiles of outputs whose patches fit in cache, and the lines that they touch. */
static void set_block(facts *f)
{
    const takt_conv_shape *s = &f->shape;
    const size_t tile = f->integer.info->rows, fit = PATCHES / s->k;
    const size_t rows = fit > ROWS ? ROWS : fit < ROWS_MIN ? ROWS_MIN : fit;
    f->rows = f->most = least(s->positions, rows < tile ? tile : rows / tile * tile);
    const size_t outputs = least(s->out[1], (f->rows + s->out[2] - 2) / s->out[2] + 1);
    f->lines = (outputs - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] + 1;
}

/* Whole lines fill the cache's share now more, now less: counted as if they filled it, so that
 * narrower images never need more than wider ones. */
static size_t image_bytes(const facts *f)
{
    const size_t bytes = f->lines * f->line, room = image_room(f);
    return f->at == NULL || bytes > room ? bytes : least(all_bytes(f), room);
}

takt_status takt_integer_lines_compile(takt_planner *p, const takt_conv_shape *s,
                                       const takt_integer *n)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->integer = *n;
    f->shape = *s;
    f->line = columns_of(s) * s->cin;
    f->runs = s->dilation[2] == 1 ? 1 : s->kernel[2];
    f->run = s->kernel[2] / f->runs * s->cin;
    f->is_direct = has_one_line(s);
    f->at = NULL;
    if (n->tap_run > 0)
        TAKT_TRY(set_runs(p, f));
    else
        set_block(f);
    cut_tasks(p, f);
    f->patches = kernel_bytes(f);
    const size_t patches = f->is_direct || f->at != NULL ? 0 : f->rows * s->k + SLACK;
    f->image = f->patches + takt_cpu_aligned(patches);
    const size_t beyond = f->at != NULL ? TAKT_I8_BEYOND * s->stride[2] * s->cin : SLACK;
    f->zeros = f->image + takt_cpu_aligned(image_bytes(f) + beyond);
    p->step->scratch_each = f->zeros + takt_integer_zeros_bytes(&f->integer, s->cout);
    p->step->data = f;
    p->step->run = run;
    p->step->before = f->integer.is_packed ? NULL : before;
    p->step->task_count = f->cut.rows * f->cut.columns;
    return TAKT_OK;
}
