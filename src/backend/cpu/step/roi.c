/* roi.c - largest elements in bins of regions of interest, and gradients of bins.
 *
 * In double and in the interpreter's order, so that the bits are its bits. A gradient sums up one
 * plane of x at a time.
 */
#include "backend/cpu/regions.h"
#include "base/size.h"
#include "op/record/max_roi_pool_dx.h"
#include "op/record/roi_align_dx.h"

typedef struct facts {
    takt_regions of;
    size_t count;       /* elements of y */
    uint32_t batch, dy; /* which input */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_roi_align_dx || op == &takt_op_max_roi_pool ||
                   op == &takt_op_max_roi_pool_dx
               ? NULL
               : "";
}

static takt_roi_source source(const takt_step *s, const takt_task *t, uint32_t input)
{
    return (takt_roi_source){.data = takt_view_data(t, &s->in[input]), .dtype = s->in[input].dtype};
}

static takt_roi_data open_data(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    return (takt_roi_data){
        .x = source(s, t, 0), .rois = source(s, t, 1), .batch = source(s, t, f->batch)};
}

/* The image of a region, or the first one for a bad number, which is recorded. */
static size_t image_of(const facts *f, const takt_roi_data *d, size_t region, takt_fault *fault)
{
    int64_t given;
    const int64_t image = takt_roi_image(&f->of.roi, d, region, &given);
    if (image < 0)
        takt_fault_note(fault, region, given);
    return image < 0 ? 0 : (size_t)image;
}

static void close_fault(const takt_fault *fault, const takt_task *t)
{
    if (fault->index != TAKT_FAULT_NONE && t->fault != NULL)
        takt_fault_merge(t->fault, fault);
}

enum { POLLED = 256 }; /* results, or regions, between two polls */

static void run_forward(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_roi_data d = open_data(s, t);
    const size_t channels = (size_t)f->of.roi.channels;
    takt_fault fault = {.index = TAKT_FAULT_NONE};
    void *y = takt_view_data(t, &s->out[0]);
    size_t first, end;
    takt_cpu_share(f->count, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++) {
        if (i % POLLED == 0 && takt_poll_stops(t->poll))
            break;
        const size_t image = image_of(f, &d, i / f->of.bins / channels, &fault);
        const size_t plane = (image * channels + i / f->of.bins % channels) * f->of.plane;
        takt_dtype_put_f(s->out[0].dtype, y, i,
                         f->of.roi.batch > 0 ? takt_roi_value(&f->of.roi, &d, i, plane) : 0);
    }
    close_fault(&fault, t);
}

/* Planes of x, shared among the tasks. */
static void run_backward(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_roi_data d = open_data(s, t);
    const takt_roi_source dy = source(s, t, f->dy);
    const size_t channels = (size_t)f->of.roi.channels, regions = (size_t)f->of.roi.count;
    takt_fault fault = {.index = TAKT_FAULT_NONE};
    double *sum = t->scratch_own;
    void *dx = takt_view_data(t, &s->out[0]);
    size_t first, end;
    takt_cpu_share((size_t)f->of.roi.batch * channels, 1, t->index, s->task_count, &first, &end);
    for (size_t p = first; p < end && !takt_poll_stops(t->poll); p++) {
        for (size_t k = 0; k < f->of.plane; k++)
            sum[k] = 0;
        for (size_t region = 0; region < regions; region++) {
            if (region % POLLED == 0 && takt_poll_stops(t->poll))
                break;
            if (image_of(f, &d, region, &fault) != p / channels)
                continue;
            const size_t at = (region * channels + p % channels) * f->of.bins;
            for (size_t k = 0; k < f->of.bins; k++)
                takt_roi_spread(&f->of.roi, &d, at + k, p * f->of.plane, takt_roi_get(&dy, at + k),
                                sum);
        }
        for (size_t k = 0; k < f->of.plane; k++)
            takt_dtype_put_f(s->out[0].dtype, dx, p * f->of.plane + k, sum[k]);
    }
    close_fault(&fault, t);
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_regions_plan(p, &f->of));
    f->count = (size_t)(f->of.roi.count * f->of.roi.channels) * f->of.bins;
    f->batch = f->of.roi.fields == 4 ? 2 : 1;
    f->dy = n->in_count - 1;
    const bool is_forward = n->op == &takt_op_max_roi_pool;
    const size_t planes = (size_t)(f->of.roi.batch * f->of.roi.channels);
    p->step->data = f;
    p->step->run = is_forward ? run_forward : run_backward;
    if (!is_forward && !takt_size_mul(f->of.plane, sizeof(double), &p->step->scratch_each))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "%s: a plane of x is too large", n->op->name);
    p->step->task_count =
        takt_cpu_tasks(p, 100.0 * (double)f->count, 0, is_forward ? f->count : planes);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_roi = {.name = "roi", .accepts = accepts, .compile = compile};
