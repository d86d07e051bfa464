/* nms.c - takes the boxes in the order of their scores, the first on ties, unless one that was
 * taken covers them. */
#include "op/util/nms.h"

#include <math.h>

/* A NaN corner is not a limit, and makes the area NaN, so that nothing is covered. */
static takt_nms_box box_at(const takt_nms *w, int64_t i)
{
    const double *p = w->boxes + i * 4;
    takt_nms_box b = {fmin(p[0], p[2]), fmin(p[1], p[3]), fmax(p[0], p[2]), fmax(p[1], p[3]), 0};
    if (w->is_center)
        b = (takt_nms_box){p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2, 0};
    b.area = (b.y2 - b.y1) * (b.x2 - b.x1);
    b.y1 = isnan(b.y1) ? -INFINITY : b.y1;
    b.x1 = isnan(b.x1) ? -INFINITY : b.x1;
    b.y2 = isnan(b.y2) ? INFINITY : b.y2;
    b.x2 = isnan(b.x2) ? INFINITY : b.x2;
    return b;
}

static inline double least(double a, double b)
{
    return a < b ? a : b;
}

static inline double most(double a, double b)
{
    return a > b ? a : b;
}

/* Most pairs share nothing, and need no division. */
static bool covers(const takt_nms_box *a, const takt_nms_box *b, double overlap)
{
    const double h = least(a->y2, b->y2) - most(a->y1, b->y1);
    const double w = least(a->x2, b->x2) - most(a->x1, b->x1);
    if (h <= 0 || w <= 0)
        return 0 > overlap;
    return h * w / (a->area + b->area - h * w) > overlap;
}

/* ---- a heap of boxes, the best first ---- */

static bool is_before(const takt_nms *w, int64_t a, int64_t b)
{
    const double p = w->scores[a], q = w->scores[b];
    const bool is_last = isnan(p), is_other_last = isnan(q);
    if (is_last || is_other_last)
        return is_last == is_other_last ? a < b : is_other_last;
    return p > q || (p == q && a < b);
}

static void sink(const takt_nms *w, int64_t count, int64_t at)
{
    int64_t *heap = w->order;
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_before(w, heap[child + 1], heap[child]);
        if (!is_before(w, heap[child], heap[at]))
            return;
        const int64_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

static int64_t fill(const takt_nms *w)
{
    int64_t count = 0;
    for (int64_t i = 0; i < w->count; i++)
        if (!(w->threshold > -INFINITY) || w->scores[i] > w->threshold)
            w->order[count++] = i;
    for (int64_t i = count / 2; i-- > 0;)
        sink(w, count, i);
    return count;
}

void takt_nms_pick(const takt_nms *w, takt_nms_use *use, void *user)
{
    int64_t taken = 0;
    for (int64_t left = fill(w); left > 0 && taken < w->most;) {
        const int64_t best = w->order[0];
        w->order[0] = w->order[--left];
        sink(w, left, 0);
        const takt_nms_box box = box_at(w, best);
        int64_t i = 0;
        while (i < taken && !covers(&w->taken[i], &box, w->overlap))
            i++;
        const bool is_free = i == taken;
        if (is_free)
            w->taken[taken++] = box;
        if (!use(user, is_free ? best : -1, (size_t)i))
            return;
    }
}
