/* depthwise.c - lines of a depthwise convolution, for the steps that compute some. */
#include "backend/cpu/conv/depthwise.h"

#include <string.h>

#include "backend/cpu/conv/finish.h"
#include "backend/cpu/conv/run.h"

enum { PACE = 3 }; /* at best this many times slower per operation than a product */

/* ---- compiling ---- */

/* [channels][taps] to [taps][channels]. */
static void pack(const takt_conv_shape *c, const void *from, float *to)
{
    const float *w = from;
    for (size_t t = 0; t < c->taps; t++)
        for (size_t i = 0; i < c->groups; i++)
            to[t * c->groups + i] = c->dtype == TAKT_F32
                                        ? w[i * c->taps + t]
                                        : (float)takt_dtype_get_f(c->dtype, from, i * c->taps + t);
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    pack(&((const takt_cpu_lines *)user)->shape, from, to);
    return TAKT_OK;
}

/* For a separate step, whose `data` are the facts. */
static void before(const takt_step *s, const takt_task *t)
{
    const takt_cpu_lines *f = s->data;
    pack(&f->shape, takt_view_data(t, &s->in[f->w]),
         (float *)(void *)((char *)t->scratch + f->packed_at));
}

static takt_status add_weights(takt_planner *p, takt_cpu_lines *f)
{
    const takt_id w = p->graph->nodes[p->group->nodes[0]].in[1];
    const size_t bytes = f->shape.groups * f->shape.taps * sizeof(float);
    f->is_packed = takt_planner_is_kept(p, w);
    if (f->is_packed)
        return takt_planner_packed(p, w, "depthwise", bytes, pack_constant, f, &f->w);
    f->packed_at = takt_conv_reserve(p->step, bytes);
    p->step->before = before;
    return takt_planner_input(p, w, &f->w);
}

takt_status takt_lines_compile(takt_planner *p, takt_cpu_lines *f)
{
    takt_step *s = p->step;
    const takt_conv_shape *c = &f->shape;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    const takt_kernel *kernel = takt_planner_kernel(p, "depthwise_f32");
    f->run = takt_kernel_as_depthwise_f32(kernel);
    f->grain = ((const takt_depthwise_f32_info *)kernel->info)->lines;
    TAKT_TRY(add_weights(p, f));
    TAKT_TRY(takt_conv_end_compile(p, c->groups, &f->end));
    const size_t taps = c->kernel[0] * c->kernel[1];
    f->x_step = c->kernel[0] == 1 && c->dilation[1] == 1 ? c->stride[1] : taps;
    f->zeros = takt_cpu_aligned(s->scratch_each);
    f->pointers = f->zeros + takt_cpu_aligned(TAKT_DEPTHWISE_ZEROS * c->groups * sizeof(float));
    f->registers = f->pointers + takt_cpu_aligned(((TAKT_DEPTHWISE_LINES - 1) * f->x_step + taps) *
                                                  sizeof(float *));
    f->lines = f->registers + takt_cpu_aligned(takt_conv_end_scratch(&f->end));
    s->scratch_each = f->lines;
    if (c->dtype != TAKT_F32)
        s->scratch_each +=
            takt_cpu_aligned(TAKT_DEPTHWISE_LINES * c->out[2] * c->groups * sizeof(float));
    return TAKT_OK;
}

size_t takt_lines_tasks(const takt_planner *p, const takt_cpu_lines *f)
{
    const takt_conv_shape *c = &f->shape;
    const size_t lines = c->batch * c->out[0] * c->out[1];
    const double outputs = (double)lines * (double)c->out[2] * (double)c->groups;
    return takt_cpu_tasks(p, 2 * PACE * outputs * (double)c->taps, 8 * outputs,
                          (lines + f->grain - 1) / f->grain);
}

/* ---- running ---- */

const float **takt_lines_rows(const takt_cpu_lines *f, const takt_task *t)
{
    return (const float **)(void *)((char *)t->scratch_own + f->pointers);
}

void takt_lines_begin(const takt_cpu_lines *f, const takt_step *s, const takt_task *t,
                      takt_depthwise_f32 *d)
{
    const takt_conv_shape *c = &f->shape;
    float *zeros = (float *)(void *)((char *)t->scratch_own + f->zeros);
    memset(zeros, 0, TAKT_DEPTHWISE_ZEROS * c->groups * sizeof(float));
    *d = (takt_depthwise_f32){
        .x_step = f->x_step,
        .channels = c->groups,
        .columns = c->out[2],
        .width = c->in[2],
        .rows = c->kernel[0] * c->kernel[1],
        .taps = c->kernel[2],
        .stride = c->stride[2],
        .dilation = c->dilation[2],
        .before = c->before[2],
        .x = takt_lines_rows(f, t),
        .zeros = zeros,
        .w = f->is_packed ? takt_view_data(t, &s->in[f->w])
                          : (const float *)(const void *)((const char *)t->scratch + f->packed_at)};
}

/* The kernel does the part of the epilogue that it supports, this function the rest, while the
 * lines are in cache. */
void takt_lines_run(const takt_cpu_lines *f, const takt_step *s, const takt_task *t,
                    takt_depthwise_f32 *d, size_t row)
{
    takt_conv_ending ending =
        takt_conv_end_at(&f->end, s, t, f->registers, row * f->shape.out[2], 0);
    takt_epilogue_f32 e;
    const bool ends = takt_conv_end_for(&ending, &e);
    const bool clips = takt_conv_end_clips(&f->end);
    const bool is_known =
        f->end.epilogue.residual < 0 && (clips || takt_conv_end_is_simple(&f->end));
    d->bias = is_known ? e.bias : NULL;
    d->relu = is_known && f->end.epilogue.act == TAKT_GEMM_ACT_RELU;
    d->clips = clips;
    d->lo = f->end.lo;
    d->limit = clips ? f->end.hi : f->end.limit;
    const size_t across = f->shape.out[2], width = f->shape.groups;
    const bool rounds = f->shape.dtype != TAKT_F32;
    d->y = rounds ? (float *)(void *)((char *)t->scratch_own + f->lines)
                  : (float *)takt_view_data(t, &s->out[0]) + row * across * width;
    f->run(d);
    const takt_conv_block block = {
        .y = d->y, .ld = width, .rows = d->lines * across, .columns = width};
    if (ends && !is_known)
        takt_conv_finish(&e, &block);
    else if (ends && e.tail != NULL)
        e.tail(e.user, block.y, block.ld, 0, 0, block.rows, block.columns);
    const takt_conv_rounded result = {d->y, block.rows, width, row * across, 0, width};
    if (rounds)
        takt_conv_round(&f->memory, s, t, &result);
}
