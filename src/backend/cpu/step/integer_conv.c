/* integer_conv.c - convolutions of 8-bit integers, channels last, on integer kernels.
 *
 * As step/conv.c: a 1x1 convolution is a product on the data in place, others read an image where
 * the kernel can, else they gather patches: from a small image with its border, or from x.
 */
#include <string.h>

#include "backend/cpu/conv/integer_image.h"
#include "backend/cpu/conv/integer_lines.h"
#include "backend/cpu/conv/shape.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/integer.h"
#include "base/size.h"
#include "op/util/conv.h"

/* Patches of a block stay in L2; in L1 if the weights do too: then larger blocks gain nothing. */
enum { PATCH_BYTES = 128 << 10, NEAR_BYTES = 16 << 10, ROWS_MIN = 48, ROWS_MAX = 192 };
/* Cost of a row besides multiplying, in rows by panels. */
enum { DIRECT_ROW = 4, GATHERED_ROW = 8 };

typedef struct facts {
    takt_integer integer;
    takt_conv_shape shape;
    bool is_direct;
    size_t rows; /* positions of a block */
    takt_cut cut;
    size_t patches, zeros; /* offsets in a worker's scratch; the kernel's comes first */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_integer_conv && n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC &&
           !takt_integer_is_depthwise(g, n);
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* ---- running ---- */

/* The input under tap (a, b, c) of the window at `at`; NULL: in the padding. */
static const uint8_t *tap_at(const takt_conv_shape *s, const uint8_t *x, const size_t at[3],
                             const size_t tap[3])
{
    for (int i = 0; i < 3; i++) {
        const size_t in = at[i] * s->stride[i] + tap[i] * s->dilation[i];
        if (in < s->before[i] || in - s->before[i] >= s->in[i])
            return NULL;
        x += (in - s->before[i]) * s->x_at[i];
    }
    return x;
}

enum { SLACK = 16 }; /* bytes after the patches that may be written */

/* Copies n bytes, or a few more if they exist, since a copy of known size costs far less. */
static inline uint8_t *copy_run(uint8_t *to, const uint8_t *from, size_t n, const uint8_t *end)
{
    if (n <= SLACK && (size_t)(end - from) >= SLACK)
        memcpy(to, from, SLACK);
    else
        memcpy(to, from, n);
    return to + n;
}

/* Taps of the last axis, which are contiguous in memory if there is one group and no dilation: all
 * those inside the image at once. `row`: the row of x they read; NULL: in the padding. */
static uint8_t *run_of_taps(const takt_conv_shape *s, const uint8_t *row, size_t column, int zero,
                            uint8_t *to, const uint8_t *end)
{
    const size_t taps = s->kernel[2], start = column * s->stride[2], before = s->before[2];
    if (row != NULL && start >= before && start + taps <= before + s->in[2])
        return copy_run(to, row + (start - before) * s->cin, taps * s->cin, end);
    const size_t first = start >= before ? 0 : before - start < taps ? before - start : taps;
    const size_t room = before + s->in[2] > start ? before + s->in[2] - start : 0;
    const size_t last = row == NULL ? first : room < first ? first : room < taps ? room : taps;
    memset(to, zero, first * s->cin);
    if (last > first)
        memcpy(to + first * s->cin, row + (start + first - before) * s->cin,
               (last - first) * s->cin);
    memset(to + last * s->cin, zero, (taps - last) * s->cin);
    return to + taps * s->cin;
}

static uint8_t *tap_by_tap(const takt_conv_shape *s, const uint8_t *sample, const size_t at[3],
                           int zero, uint8_t *to)
{
    size_t tap[3];
    for (size_t k = 0; k < s->taps; k++, to += s->cin) {
        takt_conv_unflatten(s->kernel, k, tap);
        const uint8_t *from = tap_at(s, sample, at, tap);
        if (from != NULL)
            memcpy(to, from, s->cin);
        else
            memset(to, zero, s->cin);
    }
    return to;
}

/* Row `k` of the window at `at`; NULL: in the padding. */
static const uint8_t *row_of(const takt_conv_shape *s, const uint8_t *sample, const size_t at[3],
                             size_t k)
{
    const size_t i = at[0] * s->stride[0] + k / s->kernel[1] * s->dilation[0] - s->before[0];
    const size_t j = at[1] * s->stride[1] + k % s->kernel[1] * s->dilation[1] - s->before[1];
    return i < s->in[0] && j < s->in[1] ? sample + i * s->x_at[0] + j * s->x_at[1] : NULL;
}

/* The patches of `count` outputs of one line, which read the same rows of x. */
static uint8_t *row_by_row(const takt_conv_shape *s, const uint8_t *sample, const size_t at[3],
                           size_t count, int zero, uint8_t *to)
{
    enum { KEPT = 16 };
    const uint8_t *kept[KEPT], *end = sample + s->area * s->cin;
    const size_t lines = s->kernel[0] * s->kernel[1];
    for (size_t k = 0; k < lines && k < KEPT; k++)
        kept[k] = row_of(s, sample, at, k);
    for (size_t column = at[2]; column < at[2] + count; column++)
        for (size_t k = 0; k < lines; k++)
            to = run_of_taps(s, k < KEPT ? kept[k] : row_of(s, sample, at, k), column, zero, to,
                             end);
    return to;
}

static void gather(const facts *f, const uint8_t *x, const takt_integer_block *b, size_t row,
                   uint8_t *to)
{
    const takt_conv_shape *s = &f->shape;
    const int zero = (uint8_t)takt_integer_a_zero(&f->integer, b->step, b->task);
    const bool is_run = s->groups == 1 && s->dilation[2] == 1;
    for (size_t r = row, count; r < row + b->rows; r += count) {
        const uint8_t *sample = x + r / s->positions * s->x_sample + b->group * s->cin;
        size_t at[3];
        takt_conv_unflatten(s->out, r % s->positions, at);
        const size_t line = s->out[2] - at[2], left = row + b->rows - r;
        count = !is_run ? 1 : line < left ? line : left;
        to = is_run ? row_by_row(s, sample, at, count, zero, to)
                    : tap_by_tap(s, sample, at, zero, to);
    }
}

static void products(const takt_step *s, const takt_task *t, size_t row, size_t end)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const size_t outputs = c->groups * c->cout;
    const uint8_t *x = takt_view_data(t, &s->in[f->integer.in[TAKT_INTEGER_A]]);
    uint8_t *patches = (uint8_t *)t->scratch_own + f->patches;
    size_t column, last;
    takt_cpu_share(c->cout, 16, takt_remainder(t->index, f->cut.columns), f->cut.columns, &column,
                   &last);
    for (size_t rows; row < end && column < last && !takt_poll_stops(t->poll); row += rows) {
        rows = f->is_direct || end - row < f->rows ? end - row : f->rows;
        for (size_t g = 0; g < c->groups; g++) {
            takt_integer_block b = {
                .step = s,
                .task = t,
                .a = f->is_direct ? x + row * c->x_at[2] + g * c->cin : patches,
                .a_row = f->is_direct ? c->x_at[2] : c->k,
                .rows = rows,
                .group = g,
                .column = column,
                .columns = last - column,
                .c = (char *)takt_view_data(t, &s->out[0]) +
                     (row * outputs + g * c->cout + column) * f->integer.result_bytes,
                .ldc = outputs,
                .scratch = t->scratch_own,
                .zeros = (int32_t *)(void *)((char *)t->scratch_own + f->zeros)};
            if (!f->is_direct)
                gather(f, x, &b, row, patches);
            takt_integer_product(&f->integer, &b);
        }
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t row, end;
    takt_cpu_share(f->shape.batch * f->shape.positions, f->cut.grain,
                   takt_quotient(t->index, f->cut.columns), f->cut.rows, &row, &end);
    products(s, t, row, end);
}

static void before(const takt_step *s, const takt_task *t)
{
    takt_integer_pack(&((const facts *)s->data)->integer, s, t);
}

/* ---- compiling ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_direct(const takt_conv_shape *c)
{
    for (int i = 0; i < 3; i++)
        if (c->kernel[i] != 1 || c->stride[i] != 1 || c->in[i] != c->out[i])
            return false;
    return true;
}

static void cut_tasks(takt_planner *p, facts *f)
{
    enum { TAP = 160 }; /* operations to find a tap of a position and copy its channels */
    const takt_conv_shape *c = &f->shape;
    const size_t m = c->batch * c->positions, panels = c->groups > 1 ? 1 : (c->cout + 15) / 16;
    const double operations = 2.0 * (double)m * (double)c->k * (double)(c->cout * c->groups);
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const takt_cut_work work = {m, panels, f->integer.info->rows,
                                f->is_direct ? DIRECT_ROW : GATHERED_ROW};
    const double gathering = f->is_direct ? 0 : TAP * (double)m * (double)(c->taps * c->groups);
    f->cut = takt_cpu_cut(&work, takt_cpu_tasks(p, operations / 4 + gathering,
                                                (double)c->k * (double)c->cout, threads));
}

/* The most that the kernel needs for any share, or any block of one. */
static size_t kernel_bytes(const facts *f)
{
    const size_t m = f->shape.batch * f->shape.positions;
    const size_t sizes = f->is_direct ? f->cut.rows : f->rows;
    size_t most = 0, first, end;
    for (size_t i = 0; i < sizes; i++) {
        takt_cpu_share(m, f->cut.grain, i, f->cut.rows, &first, &end);
        const takt_gemm_i8 g = {
            .m = f->is_direct ? end - first : i + 1, .n = f->shape.cout, .k = f->shape.k};
        const size_t bytes = f->integer.info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    return takt_cpu_aligned(most);
}

static takt_status set_scratch(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const size_t bytes = c->k * c->cout <= NEAR_BYTES ? NEAR_BYTES : PATCH_BYTES;
    const size_t fit = c->k > 0 ? bytes / c->k : ROWS_MAX;
    size_t patches = 0;
    f->rows = fit < ROWS_MIN ? ROWS_MIN : fit > ROWS_MAX ? ROWS_MAX : fit;
    if (p->settings->is_blocked && p->settings->blocking.rows > 0)
        f->rows = least(p->settings->blocking.rows, c->batch * c->positions);
    if (!f->is_direct && (!takt_size_mul(f->rows, c->k, &patches) || patches > SIZE_MAX / 16))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the patches of a convolution are too large");
    f->patches = kernel_bytes(f);
    f->zeros = f->patches + (f->is_direct ? 0 : takt_cpu_aligned(patches + SLACK));
    p->step->scratch_each = f->zeros + takt_integer_zeros_bytes(&f->integer, c->groups * c->cout);
    return TAKT_OK;
}

static void set_tasks(takt_planner *p, void *facts_of)
{
    facts *f = facts_of;
    (void)set_scratch(p, f); /* which has succeeded with more rows */
    p->step->task_count = f->cut.rows * f->cut.columns;
}

static takt_status compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    const takt_conv_shape *c = &f->shape;
    f->is_direct = is_direct(c);
    f->integer =
        (takt_integer){.n = c->cout, .k = c->k, .groups = c->groups, .row = 1, .col = c->k};
    const takt_gemm_i8_info *info = takt_planner_kernel(p, "gemm_i8")->info;
    const bool has_image = !f->is_direct && takt_integer_image_fits(p, c, info),
               has_lines = !f->is_direct && !has_image && takt_integer_lines_fits(p, c);
    f->integer.tap_run = has_lines ? takt_integer_lines_run(c, info) : 0;
    TAKT_TRY(takt_integer_compile(p, &f->integer, true));
    if (has_image)
        return takt_integer_image_compile(p, c, &f->integer);
    if (has_lines)
        return takt_integer_lines_compile(p, c, &f->integer);
    cut_tasks(p, f);
    TAKT_TRY(set_scratch(p, f));
    takt_cpu_fit(p, &f->cut, c->batch * c->positions, set_tasks, f);
    s->data = f;
    s->run = run;
    s->before = f->integer.is_packed ? NULL : before;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_integer_conv = {.name = "integer_conv",
                                             .family = TAKT_FAMILY_CONV,
                                             .accepts = accepts,
                                             .absorbs = takt_integer_absorbs,
                                             .keeps = keeps,
                                             .compile = compile};
