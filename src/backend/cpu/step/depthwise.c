/* depthwise.c - convolution of each channel by itself, channels last, some output rows at a time.
 */
#include <string.h>

#include "backend/cpu/conv_end.h"
#include "backend/cpu/conv_finish.h"
#include "backend/cpu/conv_run.h"
#include "backend/cpu/conv_shape.h"
#include "kernel/depthwise_f32/depthwise_f32.h"

enum {
    LINES = 9, /* of outputs at a time; none is left alone if there are more than one */
    GRAIN = 2, /* lines that a task does together: kernels are fastest with two */
    PACE = 3   /* times as long as a product takes for its operations, at best */
};

typedef struct facts {
    takt_conv_shape shape;
    takt_conv_end end;
    takt_depthwise_f32_fn *run;
    size_t w;
    bool is_packed;
    size_t packed_at;           /* of the weights in shared scratch, unless is_packed */
    size_t x_step;              /* rows of x from one line of outputs to the next */
    size_t pointers, registers; /* offsets in a worker's scratch, after the zeros */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_conv && takt_conv_is_depthwise(g, node) ? NULL : "";
}

/* [channels][taps] to [taps][channels]. */
static void pack(const takt_conv_shape *c, const float *w, float *to)
{
    for (size_t t = 0; t < c->taps; t++)
        for (size_t i = 0; i < c->groups; i++)
            to[t * c->groups + i] = w[i * c->taps + t];
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    pack(&((const facts *)user)->shape, from, to);
    return TAKT_OK;
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    pack(&f->shape, takt_view_data(t, &s->in[f->w]),
         (float *)(void *)((char *)t->scratch + f->packed_at));
}

/* ---- running ---- */

/* Row (a, b) of the kernel for output row (plane, line), or NULL where it is padding. */
static const float *row_of(const takt_conv_shape *c, const float *sample, const size_t at[2],
                           size_t a, size_t b)
{
    const size_t i = at[0] * c->stride[0] + a * c->dilation[0];
    const size_t j = at[1] * c->stride[1] + b * c->dilation[1];
    const bool inside = i >= c->before[0] && i - c->before[0] < c->in[0] && j >= c->before[1] &&
                        j - c->before[1] < c->in[1];
    return inside ? sample + (i - c->before[0]) * c->x_at[0] + (j - c->before[1]) * c->x_at[1]
                  : NULL;
}

/* The rows of x that `lines` output rows read, as the kernel wants them. */
static void find_rows(const facts *f, const float *sample, size_t within, size_t lines,
                      const float **rows)
{
    const takt_conv_shape *c = &f->shape;
    for (size_t l = 0; l < lines; l++, rows += f->x_step) {
        const size_t at[2] = {(within + l) / c->out[1], (within + l) % c->out[1]};
        for (size_t a = 0; a < c->kernel[0]; a++)
            for (size_t b = 0; b < c->kernel[1]; b++)
                rows[a * c->kernel[1] + b] = row_of(c, sample, at, a, b);
    }
}

/* The kernel does what it knows, this step the rest, while the lines are near. */
static void lines_of_outputs(const takt_step *s, const takt_task *t, takt_depthwise_f32 *d,
                             size_t row)
{
    const facts *f = s->data;
    takt_conv_ending ending = {.end = &f->end,
                               .run = {.epilogue = &f->end.epilogue,
                                       .step = s,
                                       .task = t,
                                       .registers = (char *)t->scratch_own + f->registers,
                                       .row = row * f->shape.out[2]}};
    takt_epilogue_f32 e;
    const bool ends = takt_conv_end_for(&ending, &e);
    const bool is_known = f->end.epilogue.residual < 0 && takt_conv_end_is_simple(&f->end);
    d->bias = is_known ? e.bias : NULL;
    d->relu = is_known && f->end.epilogue.act == TAKT_GEMM_ACT_RELU;
    d->limit = f->end.limit;
    d->y = (float *)takt_view_data(t, &s->out[0]) + row * f->shape.out[2] * f->shape.groups;
    f->run(d);
    const takt_conv_block block = {.y = d->y,
                                   .ld = f->shape.groups,
                                   .rows = d->lines * f->shape.out[2],
                                   .columns = f->shape.groups};
    if (ends && !is_known)
        takt_conv_finish(&e, &block);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const size_t per_sample = c->out[0] * c->out[1];
    const float *x = takt_view_data(t, &s->in[0]);
    const float **rows = (const float **)(void *)((char *)t->scratch_own + f->pointers);
    memset(t->scratch_own, 0, TAKT_DEPTHWISE_ZEROS * c->groups * sizeof(float));
    takt_depthwise_f32 d = {
        .x_step = f->x_step,
        .channels = c->groups,
        .columns = c->out[2],
        .width = c->in[2],
        .rows = c->kernel[0] * c->kernel[1],
        .taps = c->kernel[2],
        .stride = c->stride[2],
        .dilation = c->dilation[2],
        .before = c->before[2],
        .x = rows,
        .zeros = t->scratch_own,
        .w = f->is_packed ? takt_view_data(t, &s->in[f->w])
                          : (const float *)(const void *)((const char *)t->scratch + f->packed_at)};
    size_t first, end;
    takt_cpu_share(c->batch * per_sample, GRAIN, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end; row += d.lines) {
        const size_t within = row % per_sample, plane = c->out[1] - within % c->out[1];
        d.lines = end - row < plane ? end - row : plane;
        d.lines = d.lines > LINES ? LINES - 1 : d.lines;
        find_rows(f, x + row / per_sample * c->x_sample, within, d.lines, rows);
        lines_of_outputs(s, t, &d, row);
    }
}

/* ---- compiling ---- */

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    const size_t bytes = f->shape.groups * f->shape.taps * sizeof(float);
    size_t x;
    TAKT_TRY(takt_planner_input(p, n->in[0], &x));
    f->is_packed = takt_planner_is_constant(p, n->in[1]) && !takt_planner_in_prologue(p);
    if (f->is_packed)
        return takt_planner_packed(p, n->in[1], "depthwise", bytes, pack_constant, f, &f->w);
    f->packed_at = takt_conv_reserve(p->step, bytes);
    p->step->before = before;
    return takt_planner_input(p, n->in[1], &f->w);
}

static takt_status compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    const takt_conv_shape *c = &f->shape;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    f->run = takt_kernel_as_depthwise_f32(takt_planner_kernel(p, "depthwise_f32"));
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_conv_end_compile(p, c->groups, &f->end));
    const size_t rows = c->batch * c->out[0] * c->out[1], taps = c->kernel[0] * c->kernel[1];
    f->x_step = c->kernel[0] == 1 && c->dilation[1] == 1 ? c->stride[1] : taps;
    const double outputs = (double)rows * (double)c->out[2] * (double)c->groups;
    f->pointers = (TAKT_DEPTHWISE_ZEROS * c->groups * sizeof(float) + 63) & ~(size_t)63;
    f->registers =
        f->pointers + ((((LINES - 1) * f->x_step + taps) * sizeof(float *) + 63) & ~(size_t)63);
    s->scratch_each = f->registers + ((takt_conv_end_scratch(&f->end) + 63) & ~(size_t)63);
    s->data = f;
    s->run = run;
    s->task_count = takt_cpu_tasks(p, 2 * PACE * outputs * (double)c->taps, 8 * outputs,
                                   (rows + GRAIN - 1) / GRAIN);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_depthwise = {.name = "depthwise",
                                          .family = TAKT_FAMILY_CONV,
                                          .accepts = accepts,
                                          .absorbs = takt_epilogue_absorbs,
                                          .compile = compile};
