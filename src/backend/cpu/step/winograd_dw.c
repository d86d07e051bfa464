/* winograd_dw.c - gradient of a 3x3 convolution with respect to its weights by Winograd's
 * F(4x4, 3x3): dw = Gt M G with M = sum over tiles of (Bt x B) * (A dy At).
 *
 * M is 36 matrices [cin][cout]. Each task owns a block of them, channels in by channels out. It
 * takes 128 tiles at a time, counted over all samples, transforms what x and dy
 * have there, multiplies point by point, and adds the product to what it has so far. At the end
 * Gt M G is computed in double and rounded once.
 */
#include <string.h>

#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/winograd_run.h"
#include "kernel/winograd_dy_f32/winograd_dy_f32.h"
#include "op/util/conv.h"

enum { OUT = TAKT_WINOGRAD_OUT, IN = TAKT_WINOGRAD_IN, POINTS = TAKT_WINOGRAD_POINTS };
enum { TILES = 128 };                   /* of a chunk: part of the order of sums (decision 33) */
enum { BLOCK = 128, BLOCK_LEAST = 16 }; /* channels of a task's block */

typedef struct facts {
    takt_conv_shape shape;
    takt_winograd_f32_fn *to_v;
    takt_winograd_dy_f32_fn *to_d;
    takt_gemm_f32_fn *multiply;
    const takt_gemm_blocking *blocking;
    takt_panels panels;
    size_t across, tiles;                  /* tiles in a row of dy, and in the whole batch */
    size_t ins, outs, in_count, out_count; /* channels of a block, and how many blocks */
    size_t v, d, sums[2], zeros; /* offsets in a worker's scratch; the kernel's is first */
    size_t x_at, dy_at;          /* in scratch, of the forms with channels last, for nchw */
} facts;

static float *at(void *memory, size_t offset)
{
    return (float *)(void *)((char *)memory + offset);
}

/* Channels that a task computes, and the chunk of tiles that it is at. */
typedef struct job {
    const facts *f;
    const takt_task *t;
    const float *x, *dy;
    size_t in, ins, out, outs;
    size_t first, count;
} job;

static size_t d_stride(const job *j)
{
    return takt_winograd_stride(j->count, takt_panels_columns(j->f->panels, j->outs));
}

/* Pointers to size x size pixels of an image from (row, column) on, which may be outside of it. */
typedef struct window {
    const float *image, *zeros;
    size_t height, width, channels;
    size_t row, column; /* negatives wrap to large values */
    size_t size;
} window;

static bool is_inside(const window *w)
{
    return w->row < w->height && w->column < w->width && w->row + w->size <= w->height &&
           w->column + w->size <= w->width;
}

static const float *pixel(const window *w, size_t row, size_t column)
{
    return row < w->height && column < w->width ? w->image + (row * w->width + column) * w->channels
                                                : w->zeros;
}

static void find_taps(const window *w, const float **taps)
{
    for (size_t i = 0; i < w->size; i++)
        for (size_t j = 0; j < w->size; j++)
            *taps++ = pixel(w, w->row + i, w->column + j);
}

/* ---- a chunk ---- */

static void transform_x(const job *j, size_t tile, const window *p)
{
    const takt_conv_shape *c = &j->f->shape;
    const float *taps[IN * IN];
    const window w = {.image = j->x + tile / (j->f->tiles / c->batch) * c->x_sample + j->in,
                      .zeros = at(j->t->scratch_own, j->f->zeros),
                      .height = c->in[1],
                      .width = c->in[2],
                      .channels = c->cin,
                      .row = p->row - c->before[1],
                      .column = p->column - c->before[2],
                      .size = IN};
    takt_winograd_f32 v = {.channels = j->ins,
                           .points = at(j->t->scratch_own, j->f->v) + (tile - j->first) * j->ins,
                           .point_stride = takt_winograd_stride(j->count, j->ins),
                           .row = c->in[2] * c->cin,
                           .column = c->cin};
    if (is_inside(&w))
        v.x = pixel(&w, w.row, w.column);
    else {
        find_taps(&w, taps);
        v.taps = taps;
    }
    j->f->to_v(&v);
}

/* Right into the panels of a product: each has its tiles one after the other. */
static void transform_dy(const job *j, size_t tile, const window *p)
{
    const takt_conv_shape *c = &j->f->shape;
    const takt_panels panels = j->f->panels;
    const float *taps[OUT * OUT], *moved[OUT * OUT];
    const window w = {.image = j->dy + tile / (j->f->tiles / c->batch) * c->y_sample + j->out,
                      .zeros = at(j->t->scratch_own, j->f->zeros),
                      .height = c->out[1],
                      .width = c->out[2],
                      .channels = c->cout,
                      .row = p->row,
                      .column = p->column,
                      .size = OUT};
    const bool inside = is_inside(&w);
    takt_winograd_dy_f32 d = {.point_stride = d_stride(j),
                              .taps = inside ? NULL : moved,
                              .row = c->out[2] * c->cout,
                              .column = c->cout};
    if (!inside)
        find_taps(&w, taps);
    for (size_t k = 0; k < takt_panels_count(panels, j->outs); k++) {
        const size_t from = takt_panels_column(panels, j->outs, k);
        const size_t width = takt_panels_column(panels, j->outs, k + 1) - from;
        d.channels = j->outs - from < width ? j->outs - from : width;
        d.dy = inside ? pixel(&w, w.row, w.column) + from : NULL;
        for (size_t i = 0; !inside && i < OUT * OUT; i++)
            moved[i] = taps[i] + from;
        d.points = at(j->t->scratch_own, j->f->d) + from * j->count + (tile - j->first) * width;
        j->f->to_d(&d);
    }
}

/* Columns that fill the last panel up are multiplied, too. */
static void clear_gaps(const job *j)
{
    const size_t count = takt_panels_count(j->f->panels, j->outs);
    const size_t from = takt_panels_column(j->f->panels, j->outs, count - 1);
    const size_t columns = takt_panels_columns(j->f->panels, j->outs);
    if (columns == j->outs)
        return;
    for (size_t p = 0; p < POINTS; p++)
        memset(at(j->t->scratch_own, j->f->d) + p * d_stride(j) + from * j->count, 0,
               (columns - from) * j->count * sizeof(float));
}

/* sums[to] = sums[1 - to] + the chunk; the first one only stores it. */
static void multiply(const job *j, int to)
{
    const facts *f = j->f;
    const size_t each = j->ins * j->outs;
    for (size_t p = 0; p < POINTS; p++) {
        const takt_epilogue_f32 add = {.residual =
                                           at(j->t->scratch_own, f->sums[1 - to]) + p * each,
                                       .residual_stride = j->outs};
        const takt_gemm_f32 g = {.m = j->ins,
                                 .n = j->outs,
                                 .k = j->count,
                                 .a = at(j->t->scratch_own, f->v) +
                                      p * takt_winograd_stride(j->count, j->ins),
                                 .a_row = 1,
                                 .a_col = j->ins,
                                 .b = at(j->t->scratch_own, f->d) + p * d_stride(j),
                                 .b_n = j->outs,
                                 .c = at(j->t->scratch_own, f->sums[to]) + p * each,
                                 .ldc = j->outs,
                                 .epilogue = j->first > 0 ? &add : NULL,
                                 .scratch = j->t->scratch_own,
                                 .blocking = f->blocking,
                                 .poll = j->t->poll};
        f->multiply(&g);
    }
}

/* ---- the end ---- */

enum { SIDE = 8 }; /* outputs that are transformed side by side */

/* Gt of six times SIDE values that lie `from` apart, to three that lie `to` apart. */
static void times_gt(const double *m, size_t from, double *w, size_t to)
{
    for (size_t i = 0; i < SIDE; i++) {
        const double a = m[i + from], b = m[i + 2 * from], c = m[i + 3 * from], d = m[i + 4 * from];
        const double near = (a + b) * (1.0 / 6), far = c + d;
        w[i] = m[i] * 0.25 - near + far * (1.0 / 24);
        w[i + to] = (b - a) * (1.0 / 6) + (c - d) * (1.0 / 12);
        w[i + 2 * to] = far * (1.0 / 6) - near + m[i + 5 * from];
    }
}

/* The nine taps from input channel `i` to `count` outputs from `o` on, both of the block. */
static void store_taps(const job *j, const float *sums, size_t i, size_t o, size_t count, float *dw)
{
    const takt_conv_shape *c = &j->f->shape;
    double m[POINTS * SIDE], half[3 * IN * SIDE], w[9 * SIDE];
    for (size_t p = 0; p < POINTS; p++)
        for (size_t k = 0; k < SIDE; k++)
            m[p * SIDE + k] = k < count ? (double)sums[(p * j->ins + i) * j->outs + o + k] : 0;
    for (size_t k = 0; k < IN; k++)
        times_gt(m + k * SIDE, IN * SIDE, half + k * SIDE, IN * SIDE);
    for (size_t k = 0; k < 3; k++)
        times_gt(half + IN * k * SIDE, SIDE, w + 3 * k * SIDE, SIDE);
    for (size_t k = 0; k < count; k++)
        for (size_t t = 0; t < 9; t++)
            dw[(j->out + o + k) * c->w_out + t * c->w_tap + (j->in + i) * c->w_in] =
                (float)w[t * SIDE + k];
}

static void store(const job *j, const float *sums, float *dw)
{
    for (size_t o = 0; o < j->outs; o += SIDE)
        for (size_t i = 0; i < j->ins; i++)
            store_taps(j, sums, i, o, j->outs - o < SIDE ? j->outs - o : SIDE, dw);
}

static void block(job *j, float *dw)
{
    const facts *f = j->f;
    const size_t down = (f->shape.out[1] + OUT - 1) / OUT;
    int to = 0;
    if (f->tiles == 0)
        memset(at(j->t->scratch_own, f->sums[1]), 0, POINTS * j->ins * j->outs * sizeof(float));
    for (j->first = 0; j->first < f->tiles && !takt_poll_stops(j->t->poll); j->first += TILES) {
        j->count = f->tiles - j->first < TILES ? f->tiles - j->first : TILES;
        clear_gaps(j);
        for (size_t i = j->first; i < j->first + j->count; i++) {
            const window p = {.row = i / f->across % down * OUT, .column = i % f->across * OUT};
            transform_x(j, i, &p);
            transform_dy(j, i, &p);
        }
        multiply(j, to);
        to = 1 - to;
    }
    store(j, at(j->t->scratch_own, f->sums[1 - to]), dw);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    job j = {.f = f, .t = t};
    size_t first, end;
    j.x = c->is_nhwc ? takt_view_data(t, &s->in[0]) : at(t->scratch, f->x_at);
    j.dy = c->is_nhwc ? takt_view_data(t, &s->in[1]) : at(t->scratch, f->dy_at);
    memset(at(t->scratch_own, f->zeros), 0, BLOCK * sizeof(float));
    takt_cpu_share(f->in_count * f->out_count, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++) {
        takt_cpu_share(c->cin, 1, i % f->in_count, f->in_count, &j.in, &j.ins);
        takt_cpu_share(c->cout, 1, i / f->in_count, f->out_count, &j.out, &j.outs);
        j.ins -= j.in;
        j.outs -= j.out;
        block(&j, takt_view_data(t, &s->out[0]));
    }
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    takt_winograd_transpose(t, takt_view_data(t, &s->in[0]), at(t->scratch, f->x_at), c->batch,
                            c->cin, c->area);
    takt_winograd_transpose(t, takt_view_data(t, &s->in[1]), at(t->scratch, f->dy_at), c->batch,
                            c->cout, c->positions);
}

/* ---- compiling ---- */

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    return n->op == &takt_op_winograd_conv_dw && n->type->dtype == TAKT_F32 ? NULL : "";
}

static size_t parts(size_t count, size_t each)
{
    return count > 0 ? (count + each - 1) / each : 1;
}

/* A block for every thread, each as near to a square as can be. More of them would not pay: a task
 * transforms its channels of x and of dy for all tiles, so that smaller blocks transform more. */
static void cut_blocks(facts *f, size_t threads)
{
    const takt_conv_shape *c = &f->shape;
    f->ins = c->cin < BLOCK ? c->cin : BLOCK;
    f->outs = c->cout < BLOCK ? c->cout : BLOCK;
    while (parts(c->cin, f->ins) * parts(c->cout, f->outs) < threads &&
           (f->ins > BLOCK_LEAST || f->outs > BLOCK_LEAST)) {
        size_t *larger = f->ins > f->outs ? &f->ins : &f->outs;
        *larger = (*larger + 1) / 2;
    }
    f->in_count = parts(c->cin, f->ins);
    f->out_count = parts(c->cout, f->outs);
}

static size_t aligned(size_t floats)
{
    return takt_cpu_aligned(floats * sizeof(float));
}

static void set_scratch(takt_step *s, facts *f, const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    const size_t count = f->tiles < TILES ? f->tiles : TILES;
    size_t kernel = 0;
    for (size_t less = 0; less < 2; less++)
        for (size_t last = 0; last < 2; last++) {
            const size_t rows = f->ins - (f->ins > less ? less : 0);
            const takt_gemm_f32 g = {.m = rows,
                                     .n = f->outs - (f->outs > last ? last : 0),
                                     .k = count,
                                     .a_row = 1,
                                     .a_col = rows,
                                     .blocking = f->blocking};
            const size_t bytes = info->scratch_bytes(&g);
            kernel = bytes > kernel ? bytes : kernel;
        }
    const size_t sums = aligned(POINTS * f->ins * f->outs);
    f->v = takt_cpu_aligned(kernel);
    f->d = f->v + aligned(POINTS * takt_winograd_stride(count, f->ins));
    f->sums[0] = f->d + aligned(POINTS * takt_winograd_stride(count, f->outs + 2 * f->panels.wide));
    f->sums[1] = f->sums[0] + sums;
    f->zeros = f->sums[1] + sums;
    s->scratch_each = f->zeros + aligned(BLOCK);
    if (!c->is_nhwc) {
        f->x_at = takt_conv_reserve(s, c->batch * c->x_sample * sizeof(float));
        f->dy_at = takt_conv_reserve(s, c->batch * c->y_sample * sizeof(float));
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, id);
    const takt_conv_shape *c = &f->shape;
    f->to_v = takt_kernel_as_winograd_f32(takt_planner_kernel(p, "winograd_f32"));
    f->to_d = takt_kernel_as_winograd_dy_f32(takt_planner_find(p, "winograd_dy_f32"));
    const takt_kernel *gemm = takt_planner_find(p, "gemm_f32");
    f->multiply = takt_kernel_as_gemm_f32(gemm);
    f->panels = ((const takt_gemm_f32_info *)gemm->info)->panels;
    TAKT_TRY(takt_cpu_blocking(p, &f->blocking));
    size_t index;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    f->across = (c->out[2] + OUT - 1) / OUT;
    f->tiles = c->batch * f->across * ((c->out[1] + OUT - 1) / OUT);
    takt_cost cost = {0};
    n->op->cost(p->graph, n, &cost);
    const size_t most = parts(c->cin, BLOCK_LEAST) * parts(c->cout, BLOCK_LEAST);
    const size_t tasks = takt_cpu_tasks(p, cost.flops / 4, cost.bytes, most);
    const size_t threads = p->settings->threads > 1 ? (size_t)p->settings->threads : 1;
    cut_blocks(f, tasks < threads ? tasks : threads);
    set_scratch(s, f, gemm->info);
    s->data = f;
    s->run = run;
    s->before = c->is_nhwc ? NULL : before;
    s->task_count = tasks < f->in_count * f->out_count ? tasks : f->in_count * f->out_count;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_winograd_dw = {
    .name = "winograd_dw", .family = TAKT_FAMILY_CONV, .accepts = accepts, .compile = compile};
