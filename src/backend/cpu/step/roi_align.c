/* roi_align.c - interpolated samples in bins of regions.
 *
 * Where a bin reads, and with which weights, is found once for a block of channels. Sums are in
 * double and in the interpreter's order, so that the bits are its bits.
 */
#include "op/record/roi_align.h"
#include "backend/cpu/pace.h"
#include "backend/cpu/regions.h"

enum {
    CHANNELS = 64, /* most of a block, whose lines stay in L1 from one bin to the next */
    TAPS = 128,    /* found before any channel is read */
    SIDE = 4,      /* channels whose sums are made side by side */
};

typedef struct facts {
    takt_regions of;
    size_t side, blocks, units; /* channels of a block; unit: a row of bins of a block */
} facts;

/* Elements of a plane and their weights. */
typedef struct taps {
    size_t count;
    int64_t at[TAPS];
    double weight[TAPS];
} taps;

/* One value for each channel of a block: the sum so far, or the largest part. */
typedef struct block {
    takt_roi_source x;
    size_t first, plane; /* element of x that the first channel begins at; of a channel */
    size_t channels;
    bool is_max, is_empty;
    double value[CHANNELS];
} block;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_roi_align ? NULL : "";
}

static void add_side(block *b, const taps *t, size_t c)
{
    const float *x = (const float *)b->x.data + b->first + c * b->plane;
    const size_t plane = b->plane;
    double sum[SIDE] = {b->value[c], b->value[c + 1], b->value[c + 2], b->value[c + 3]};
    for (size_t k = 0; k < t->count; k++) {
        const float *at = x + t->at[k];
        const double weight = t->weight[k];
        for (size_t i = 0; i < SIDE; i++)
            sum[i] += weight * (double)at[i * plane];
    }
    for (size_t i = 0; i < SIDE; i++)
        b->value[c + i] = sum[i];
}

static double part_of(const block *b, const taps *t, size_t c, size_t k)
{
    return t->weight[k] * takt_roi_get(&b->x, b->first + c * b->plane + (size_t)t->at[k]);
}

/* The largest part, as if one by one in order; the first stays if none is larger. */
static void look(block *b, const taps *t)
{
    for (size_t c = 0; c < b->channels; c++) {
        double most = b->is_empty && t->count > 0 ? part_of(b, t, c, 0) : b->value[c];
        for (size_t k = b->is_empty ? 1 : 0; k < t->count; k++) {
            const double part = part_of(b, t, c, k);
            most = part > most ? part : most;
        }
        b->value[c] = most;
    }
    b->is_empty = b->is_empty && t->count == 0;
}

static void use(block *b, taps *t)
{
    size_t c = 0;
    if (b->is_max)
        look(b, t);
    else if (b->x.dtype == TAKT_F32)
        for (; c + SIDE <= b->channels; c += SIDE)
            add_side(b, t, c);
    for (; c < b->channels && !b->is_max; c++)
        for (size_t k = 0; k < t->count; k++)
            b->value[c] += part_of(b, t, c, k);
    t->count = 0;
}

/* One bin of all channels of a block; false if it is not wanted any more. */
static bool fill(const facts *f, block *b, const takt_roi_grid *g, takt_pace *pace)
{
    taps t;
    t.count = 0;
    b->is_empty = true;
    for (size_t c = 0; c < b->channels; c++)
        b->value[c] = 0;
    const int64_t samples = g->count_y * g->count_x;
    for (int64_t i = 0; i < samples; i++) {
        const takt_roi_taps one = takt_roi_taps_at(&f->of.roi, g, i);
        if (takt_pace_stops(pace, 1))
            return false;
        for (int k = 0; k < one.count; k++) {
            t.at[t.count] = one.at[k];
            t.weight[t.count++] = one.weight[k];
        }
        if (t.count + 4 <= TAPS)
            continue;
        if (takt_pace_stops(pace, t.count * b->channels))
            return false;
        use(b, &t);
    }
    use(b, &t);
    return true;
}

/* Unit `unit`: a row of bins of a block of channels of a region. */
static bool run_unit(const takt_step *s, const takt_task *t, const takt_roi_data *d, size_t unit,
                     takt_fault *fault)
{
    const facts *f = s->data;
    const size_t rows = (size_t)f->of.roi.rows, columns = (size_t)f->of.roi.columns;
    const size_t channels = (size_t)f->of.roi.channels, region = unit / rows / f->blocks;
    const size_t from = unit / rows % f->blocks * f->side;
    int64_t given;
    const int64_t image = takt_roi_image(&f->of.roi, d, region, &given);
    if (image < 0)
        takt_fault_note(fault, region, given);
    block b = {.x = d->x,
               .first = ((image < 0 ? 0 : (size_t)image) * channels + from) * f->of.plane,
               .plane = f->of.plane,
               .channels = channels - from < f->side ? channels - from : f->side,
               .is_max = f->of.roi.mode == TAKT_ROI_MAX};
    void *y = takt_view_data(t, &s->out[0]);
    takt_pace pace = takt_pace_of(t);
    for (size_t k = 0; k < columns; k++) {
        const size_t bin = unit % rows * columns + k;
        takt_roi_grid g = takt_roi_bin(&f->of.roi, d, region, bin);
        if (f->of.roi.batch == 0)
            g.count_y = 0;
        if (takt_poll_stops(t->poll) || !fill(f, &b, &g, &pace))
            return false;
        const double divisor = b.is_max ? 1 : takt_roi_divisor(&g);
        const size_t at = (region * channels + from) * f->of.bins + bin;
        if (s->out[0].dtype == TAKT_F32)
            for (size_t c = 0; c < b.channels; c++)
                ((float *)y)[at + c * f->of.bins] = (float)(b.value[c] / divisor);
        else
            for (size_t c = 0; c < b.channels; c++)
                takt_dtype_put_f(s->out[0].dtype, y, at + c * f->of.bins, b.value[c] / divisor);
    }
    return true;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_roi_data d = {
        .x = {.data = takt_view_data(t, &s->in[0]), .dtype = s->in[0].dtype},
        .rois = {.data = takt_view_data(t, &s->in[1]), .dtype = s->in[1].dtype},
        .batch = {.data = takt_view_data(t, &s->in[2]), .dtype = s->in[2].dtype}};
    takt_fault fault = {.index = TAKT_FAULT_NONE};
    size_t first, end;
    takt_cpu_share(f->units, 1, t->index, s->task_count, &first, &end);
    for (size_t unit = first; unit < end && run_unit(s, t, &d, unit, &fault); unit++)
        continue;
    if (fault.index != TAKT_FAULT_NONE && t->fault != NULL)
        takt_fault_merge(t->fault, &fault);
}

/* Smaller blocks where there are few rows of bins, so that every thread has work. */
static void cut(facts *f, int threads)
{
    const size_t rows = (size_t)(f->of.roi.count * f->of.roi.rows),
                 channels = (size_t)f->of.roi.channels;
    size_t side = CHANNELS;
    while (side > SIDE && rows * ((channels + side - 1) / side) < (size_t)threads)
        side /= 2;
    f->side = side;
    f->blocks = (channels + side - 1) / side;
    f->units = rows * f->blocks;
}

static takt_status compile(takt_planner *p)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_regions_plan(p, &f->of));
    cut(f, p->settings->threads);
    p->step->data = f;
    p->step->run = run;
    p->step->task_count = takt_cpu_tasks(
        p, 100.0 * (double)(f->of.roi.count * f->of.roi.channels) * (double)f->of.bins, 0,
        f->units);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_roi_align = {
    .name = "roi_align", .accepts = accepts, .compile = compile};
