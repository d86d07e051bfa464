/* dx_phases.c - groups positions of x that are reached by the same taps, and groups that form one
 * product. */
#include "backend/cpu/conv/dx.h"
#include "base/size.h"

enum {
    LOOK_BACK = 32
};                                                       /* numbers of bundles that are tried for a
                                                          * phase */
enum { FEW_CHANNELS = 32, PART = 4, PART_OF_MANY = 16 }; /* of a bundle's rows may be wasted */

/* Which taps of an axis reach a residue: the first one, and all further ones in equal steps. */
typedef struct axis_taps {
    size_t *first; /* by residue; the size of the kernel where there is none */
    size_t step;
} axis_taps;

/* Takes time bounded by the stride: a file may ask for a kernel of any size. */
static takt_status find_taps(takt_planner *p, const takt_conv_shape *c, int axis, axis_taps *taps)
{
    const size_t stride = c->stride[axis], kernel = c->kernel[axis];
    const size_t pace = c->dilation[axis] % stride;
    taps->first = takt_planner_get(p, stride * sizeof *taps->first);
    if (taps->first == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < stride; i++)
        taps->first[i] = kernel;
    size_t t = 0;
    for (size_t residue = 0; t < kernel && (t == 0 || residue != 0); t++) {
        taps->first[residue] = t;
        residue = (residue + pace) % stride;
    }
    taps->step = t;
    return TAKT_OK;
}

static void set_axis(const takt_conv_shape *c, int i, size_t residue, const axis_taps *taps,
                     takt_dx_phase *p)
{
    const size_t stride = c->stride[i], offset = c->before[i] % stride;
    const size_t first = taps->first[residue];
    p->first[i] = (residue + stride - offset) % stride;
    p->count[i] = p->first[i] < c->in[i] ? (c->in[i] - p->first[i] + stride - 1) / stride : 0;
    if (first == c->kernel[i])
        return;
    p->tap[i] = first;
    p->taps[i] = 1 + (c->kernel[i] - 1 - first) / taps->step;
    p->tap_step[i] = p->taps[i] > 1 ? taps->step : 0;
    p->from[i] = ((ptrdiff_t)(p->first[i] + c->before[i]) - (ptrdiff_t)(first * c->dilation[i])) /
                 (ptrdiff_t)stride;
}

static bool has_taps_of(const takt_dx_phase *a, const takt_dx_phase *b)
{
    return a->taps[0] == b->taps[0] && a->taps[1] == b->taps[1] && a->taps[2] == b->taps[2];
}

/* Adds the phase unless too many rows would be wasted. */
static bool join(const takt_conv_shape *c, takt_dx_bundle *b, const takt_dx_phase *p)
{
    takt_dx_bundle all = *b;
    if (b->members > 0 && !has_taps_of(b->like, p))
        return false;
    for (int i = 0; i < 3; i++) {
        const ptrdiff_t end = p->from[i] + (ptrdiff_t)p->count[i];
        const ptrdiff_t low = b->members > 0 ? b->low[i] : p->from[i];
        const ptrdiff_t high = b->members > 0 ? low + (ptrdiff_t)b->count[i] : end;
        all.low[i] = low < p->from[i] ? low : p->from[i];
        all.count[i] = (size_t)((high > end ? high : end) - all.low[i]);
        all.step[i] = (ptrdiff_t)(p->tap_step[i] * c->dilation[i] / c->stride[i]);
    }
    all.rows = all.count[0] * all.count[1] * all.count[2];
    all.own += p->rows;
    all.members++;
    const size_t room = all.own / (c->cin < FEW_CHANNELS ? PART : PART_OF_MANY);
    if (all.rows > (all.own + room) / all.members)
        return false;
    all.like = b->members > 0 ? b->like : p;
    *b = all;
    return true;
}

/* Which bundle each phase is in, by its number; phases without rows are in none. */
static void set_members(const takt_conv_shape *c, takt_dx_phases *f, size_t *bundle_of)
{
    for (size_t i = 0; i < f->phase_count; i++) {
        const takt_dx_phase *p = &f->phases[i];
        bundle_of[i] = f->phase_count;
        for (size_t k = 1; p->rows > 0 && k <= f->bundle_count && k <= LOOK_BACK; k++)
            if (join(c, &f->bundles[f->bundle_count - k], p)) {
                bundle_of[i] = f->bundle_count - k;
                break;
            }
        if (p->rows > 0 && bundle_of[i] == f->phase_count) {
            (void)join(c, &f->bundles[f->bundle_count], p);
            bundle_of[i] = f->bundle_count++;
        }
    }
    size_t at = 0;
    for (size_t i = 0; i < f->bundle_count; i++) {
        f->bundles[i].first_member = at;
        at += f->bundles[i].members;
        f->bundles[i].members = 0;
    }
    for (size_t i = 0; i < f->phase_count; i++)
        if (bundle_of[i] < f->bundle_count) {
            takt_dx_bundle *b = &f->bundles[bundle_of[i]];
            f->order[b->first_member + b->members++] = i;
        }
}

/* Whether a row of dy is a complete patch: there is one tap, and it covers all of dy. */
static bool is_row(const takt_conv_shape *c, const takt_dx_bundle *b)
{
    bool is = c->is_nhwc;
    for (int i = 0; i < 3; i++)
        is = is && b->like->taps[i] == 1 && b->low[i] == 0 && b->count[i] == c->out[i];
    return is;
}

static takt_status set_bundles(takt_planner *planner, const takt_conv_shape *c, takt_panels panels,
                               takt_dx_phases *f)
{
    size_t packed = 0, *bundle_of = takt_planner_get(planner, f->phase_count * sizeof *bundle_of);
    f->order = takt_planner_get(planner, f->phase_count * sizeof *f->order);
    f->bundles = takt_planner_get(planner, f->phase_count * sizeof *f->bundles);
    if (bundle_of == NULL || f->order == NULL || f->bundles == NULL)
        return TAKT_ERR_MEMORY;
    set_members(c, f, bundle_of);
    for (size_t i = 0; i < f->bundle_count; i++) {
        takt_dx_bundle *b = &f->bundles[i];
        b->k = b->like->taps[0] * b->like->taps[1] * b->like->taps[2] * c->cout;
        b->n = b->members * c->cin;
        b->packed = packed;
        b->reads_rows = is_row(c, b);
        packed += b->k * takt_panels_columns(panels, b->n);
    }
    f->group_floats = packed;
    return TAKT_OK;
}

takt_status takt_dx_phases_plan(takt_planner *planner, const takt_conv_shape *c, takt_panels panels,
                                takt_dx_phases *f)
{
    size_t bytes;
    if (!takt_size_mul(c->stride[0] * c->stride[1], c->stride[2], &f->phase_count) ||
        !takt_size_mul(f->phase_count, sizeof *f->phases, &bytes))
        return takt_fail(planner->ctx, TAKT_E_OVERFLOW, "the stride of a convolution is too large");
    f->phases = takt_planner_get(planner, bytes);
    if (f->phases == NULL)
        return TAKT_ERR_MEMORY;
    axis_taps taps[3];
    for (int axis = 0; axis < 3; axis++)
        TAKT_TRY(find_taps(planner, c, axis, &taps[axis]));
    for (size_t i = 0; i < f->phase_count; i++) {
        takt_dx_phase *p = &f->phases[i];
        size_t residue[3];
        takt_conv_unflatten(c->stride, i, residue);
        for (int axis = 0; axis < 3; axis++)
            set_axis(c, axis, residue[axis], &taps[axis], p);
        p->rows = p->count[0] * p->count[1] * p->count[2];
    }
    return set_bundles(planner, c, panels, f);
}

size_t takt_dx_tap(const takt_conv_shape *c, const takt_dx_phase *p, size_t t)
{
    size_t at[3];
    takt_conv_unflatten(p->taps, t, at);
    for (int i = 0; i < 3; i++)
        at[i] = p->tap[i] + at[i] * p->tap_step[i];
    return (at[0] * c->kernel[1] + at[1]) * c->kernel[2] + at[2];
}
