/* depthwise.c - convolution of each channel by itself, channels last, some output rows at a time.
 */
#include "backend/cpu/conv/depthwise.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    const bool is_conv = g->nodes[node].op == &takt_op_conv;
    return is_conv && (takt_conv_is_depthwise(g, node) || takt_conv_is_narrow_depthwise(g, node))
               ? NULL
               : "";
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

/* The rows of x that `lines` output rows read, in the layout that the kernel expects. */
static void find_rows(const takt_cpu_lines *f, const float *sample, size_t within, size_t lines,
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

static void run(const takt_step *s, const takt_task *t)
{
    const takt_cpu_lines *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const size_t per_sample = c->out[0] * c->out[1];
    const float *x = takt_conv_in(&f->memory, s, t, 0);
    takt_depthwise_f32 d;
    takt_lines_begin(f, s, t, &d);
    size_t first, end;
    takt_cpu_share(c->batch * per_sample, f->grain, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end && !takt_poll_stops(t->poll); row += d.lines) {
        const size_t within = row % per_sample, plane = c->out[1] - within % c->out[1];
        d.lines = end - row < plane ? end - row : plane;
        d.lines = d.lines > TAKT_DEPTHWISE_LINES ? TAKT_DEPTHWISE_LINES - 1 : d.lines;
        find_rows(f, x + row / per_sample * c->x_sample, within, d.lines, takt_lines_rows(f, t));
        takt_lines_run(f, s, t, &d, row);
    }
}

static void prepare(const takt_step *s, const takt_task *t)
{
    takt_conv_widen_x(&((const takt_cpu_lines *)s->data)->memory, s, t);
}

/* ---- compiling ---- */

static takt_status compile(takt_planner *p)
{
    takt_cpu_lines *f = takt_planner_get(p, sizeof *f);
    size_t x;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_input(p, p->graph->nodes[p->group->nodes[0]].in[0], &x));
    TAKT_TRY(takt_lines_compile(p, f));
    takt_conv_memory_blocks(p, f->shape.dtype, false, true, &f->memory);
    if (f->shape.dtype != TAKT_F32) {
        p->step->prepare = prepare;
        p->step->prepare_count = takt_conv_widen_tasks(p, &f->memory);
    }
    p->step->data = f;
    p->step->run = run;
    p->step->task_count = takt_lines_tasks(p, f);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_depthwise = {.name = "depthwise",
                                          .family = TAKT_FAMILY_CONV,
                                          .accepts = accepts,
                                          .absorbs = takt_epilogue_absorbs,
                                          .compile = compile};
