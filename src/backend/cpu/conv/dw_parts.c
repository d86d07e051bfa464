/* dw_parts.c - a gradient by weights whose threads share samples. */
#include "backend/cpu/conv/dw_parts.h"

#include "backend/cpu/conv/run.h"
#include "kernel/gemm_f32/gemm_f32.h"

enum { CHUNK = TAKT_GEMM_CHUNK, BYTES = 8 << 20 };

float *takt_dw_parts_of(const takt_dw_parts *d, const takt_conv_shape *c, const takt_task *t,
                        size_t sample, size_t chunk)
{
    return (float *)(void *)((char *)t->scratch + d->at) +
           (sample * d->chunks + chunk) * c->k * c->cout;
}

void takt_dw_store(const takt_conv_shape *c, const float *sums, size_t first, size_t end, float *dw)
{
    for (size_t k = first; k < end; k++)
        for (size_t o = 0; o < c->cout; o++)
            dw[o * c->w_out + k / c->cin * c->w_tap + k % c->cin * c->w_in] =
                sums[(k - first) * c->cout + o];
}

void takt_dw_parts_add(const takt_dw_parts *d, const takt_conv_shape *c, const takt_step *s,
                       const takt_task *t)
{
    size_t first, end;
    takt_cpu_share(c->k, 1, t->index, s->task_count, &first, &end);
    const size_t each = c->k * c->cout, count = (end - first) * c->cout;
    float *total = takt_dw_parts_of(d, c, t, 0, 0) + first * c->cout;
    const float *part = total + each;
    for (size_t i = 1; i < c->batch * d->chunks; i++, part += each)
        for (size_t k = 0; k < count; k++)
            total[k] += part[k];
    takt_dw_store(c, total, first, end, takt_view_data(t, &s->out[0]));
}

/* Whether each thread has several samples, and the sums of all chunks take little memory: under a
 * limit, an eighth of it. */
static bool is_shared(const takt_planner *p, const takt_conv_shape *c, size_t tasks, double bytes)
{
    enum { EACH = 2 };
    const size_t memory = p->settings->memory_limit, arena = p->settings->activation_limit;
    const size_t least = memory == 0 || (arena > 0 && arena < memory) ? arena : memory;
    const size_t most = least > 0 && least / 8 < BYTES ? least / 8 : BYTES;
    return tasks > 1 && c->batch >= EACH * tasks && bytes <= (double)most &&
           bytes <= (double)p->scratch_room;
}

void takt_dw_parts_plan(takt_planner *p, const takt_conv_shape *c, takt_step_run_fn *prepare,
                        takt_dw_parts *d)
{
    const size_t threads = p->settings->threads > 1 ? (size_t)p->settings->threads : 1;
    const size_t chunks = (c->positions + CHUNK - 1) / CHUNK;
    const double bytes =
        (double)(c->batch * chunks) * (double)(c->k * c->cout) * (double)sizeof(float);
    takt_step *s = p->step;
    const takt_cost cost = d->cost;
    const size_t tasks = takt_cpu_tasks(p, cost.flops, cost.bytes, threads);
    if (!is_shared(p, c, tasks, bytes)) {
        s->task_count = takt_cpu_tasks(p, cost.flops, cost.bytes, (c->k + d->grain - 1) / d->grain);
        return;
    }
    d->chunks = chunks;
    d->at = takt_conv_reserve(s, (size_t)bytes);
    s->prepare = prepare;
    s->prepare_count = takt_cpu_tasks(p, cost.flops, cost.bytes, c->batch);
    s->task_count = takt_cpu_tasks(p, 0, bytes, c->k);
    /* A step of one task has the scratch of one thread. */
    s->task_count = s->task_count > 1 ? s->task_count : 2;
}

size_t takt_dw_parts_rows(const takt_dw_parts *d, const takt_conv_shape *c, const takt_step *s)
{
    const size_t grains = (c->k + d->grain - 1) / d->grain;
    const size_t rows = (grains + s->task_count - 1) / s->task_count * d->grain;
    return d->chunks > 0 || rows > c->k ? c->k : rows;
}
