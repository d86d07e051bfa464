/* run.c - helpers that the convolution steps share. */
#include "backend/cpu/conv/run.h"

#include <stdint.h>

#include "backend/cpu/conv/grad.h"
#include "backend/cpu/cost_model.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/pace.h"

static size_t count_of(const takt_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dim[d];
    return count;
}

size_t takt_conv_reserve(takt_step *s, size_t bytes)
{
    const size_t at = takt_cpu_aligned(s->scratch_bytes);
    s->scratch_bytes = at + takt_cpu_aligned(bytes);
    return at;
}

void takt_conv_memory_plan(takt_planner *p, takt_dtype dtype, int skip, takt_conv_memory *m)
{
    *m = (takt_conv_memory){.dtype = dtype};
    if (dtype == TAKT_F32)
        return;
    takt_step *s = p->step;
    m->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    for (int k = 0; k < 2; k++) {
        m->in_count[k] = k == skip || (size_t)k >= s->in_count ? 0 : count_of(&s->in[k]);
        m->in[k] = takt_conv_reserve(s, m->in_count[k] * sizeof(float));
    }
    m->out_count = count_of(&s->out[0]);
    m->out = takt_conv_reserve(s, m->out_count * sizeof(float));
}

void takt_conv_memory_blocks(takt_planner *p, takt_dtype dtype, bool is_direct, bool is_packed,
                             takt_conv_memory *m)
{
    *m = (takt_conv_memory){.dtype = dtype};
    if (dtype == TAKT_F32)
        return;
    takt_step *s = p->step;
    m->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    m->in_count[0] = is_direct ? 0 : count_of(&s->in[0]);
    m->in_count[1] = is_packed ? 0 : count_of(&s->in[1]);
    for (int k = 0; k < 2; k++)
        m->in[k] = takt_conv_reserve(s, m->in_count[k] * sizeof(float));
}

takt_status takt_conv_grad_open(takt_planner *p, takt_conv_shape *shape, takt_cost *cost)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    size_t index;
    *shape = takt_conv_shape_of(p->graph, id);
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    *cost = (takt_cost){0};
    n->op->cost(p->graph, n, cost);
    return TAKT_OK;
}

size_t takt_conv_widen_tasks(const takt_planner *p, const takt_conv_memory *m)
{
    enum { LEAST = 4096 }; /* elements of a task */
    const double bytes = (double)m->in_count[0] * (sizeof(float) + sizeof(uint16_t));
    return takt_cpu_tasks(p, 0, bytes, m->in_count[0] / LEAST + 1);
}

void takt_conv_widen_x(const takt_conv_memory *m, const takt_step *s, const takt_task *t)
{
    const takt_convert c = {.to = TAKT_F32, .from = m->dtype};
    size_t first, end;
    takt_cpu_share(m->in_count[0], 64, t->index, s->prepare_count, &first, &end);
    takt_pace_convert(t, m->convert, &c, (float *)(void *)((char *)t->scratch + m->in[0]) + first,
                      (const uint16_t *)takt_view_data(t, &s->in[0]) + first, end - first);
}

void takt_conv_widen_w(const takt_conv_memory *m, const takt_step *s, const takt_task *t)
{
    const takt_convert c = {.to = TAKT_F32, .from = m->dtype};
    if (m->in_count[1] > 0)
        takt_pace_convert(t, m->convert, &c, (char *)t->scratch + m->in[1],
                          takt_view_data(t, &s->in[1]), m->in_count[1]);
}

void takt_conv_round(const takt_conv_memory *m, const takt_step *s, const takt_task *t,
                     const takt_conv_rounded *r)
{
    const takt_convert c = {.to = m->dtype, .from = TAKT_F32};
    uint16_t *to = (uint16_t *)takt_view_data(t, &s->out[0]) + r->row * r->width + r->column;
    if (r->columns == r->width) {
        m->convert(&c, to, r->from, r->rows * r->columns);
        return;
    }
    for (size_t i = 0; i < r->rows; i++)
        m->convert(&c, to + i * r->width, r->from + i * r->columns, r->columns);
}

void takt_conv_widen(const takt_conv_memory *m, const takt_step *s, const takt_task *t)
{
    const takt_convert c = {.to = TAKT_F32, .from = m->dtype};
    for (int k = 0; k < 2 && m->convert != NULL; k++)
        if (m->in_count[k] > 0)
            takt_pace_convert(t, m->convert, &c, (char *)t->scratch + m->in[k],
                              takt_view_data(t, &s->in[k]), m->in_count[k]);
}

void takt_conv_narrow(const takt_conv_memory *m, const takt_step *s, const takt_task *t)
{
    const takt_convert c = {.to = m->dtype, .from = TAKT_F32};
    if (m->convert != NULL)
        takt_pace_convert(t, m->convert, &c, takt_view_data(t, &s->out[0]),
                          (char *)t->scratch + m->out, m->out_count);
}

const float *takt_conv_in(const takt_conv_memory *m, const takt_step *s, const takt_task *t, int k)
{
    return m->convert != NULL && m->in_count[k] > 0
               ? (const float *)(const void *)((const char *)t->scratch + m->in[k])
               : takt_view_data(t, &s->in[k]);
}

float *takt_conv_out(const takt_conv_memory *m, const takt_step *s, const takt_task *t)
{
    return m->convert != NULL ? (float *)(void *)((char *)t->scratch + m->out)
                              : takt_view_data(t, &s->out[0]);
}
