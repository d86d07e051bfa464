/* nms.c - takes the best remaining box repeatedly; the first on ties. */
#include "op/util/nms.h"

#include <math.h>

typedef struct box {
    double y1, x1, y2, x2;
} box;

static box box_at(const takt_nms *w, int64_t i)
{
    const double *p = w->boxes + i * 4;
    if (w->is_center)
        return (box){p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
    return (box){fmin(p[0], p[2]), fmin(p[1], p[3]), fmax(p[0], p[2]), fmax(p[1], p[3])};
}

static double shared(box a, box b)
{
    const double h = fmin(a.y2, b.y2) - fmax(a.y1, b.y1), w = fmin(a.x2, b.x2) - fmax(a.x1, b.x1);
    if (h <= 0 || w <= 0)
        return 0;
    const double both = (a.y2 - a.y1) * (a.x2 - a.x1) + (b.y2 - b.y1) * (b.x2 - b.x1);
    return h * w / (both - h * w);
}

static int64_t best_of(const takt_nms *w)
{
    int64_t best = -1;
    for (int64_t i = 0; i < w->count; i++)
        if (!w->gone[i] && (best < 0 || w->scores[i] > w->scores[best]))
            best = i;
    return best;
}

void takt_nms_pick(const takt_nms *w, bool (*take)(void *user, int64_t box), void *user)
{
    for (int64_t i = 0; i < w->count; i++)
        w->gone[i] = w->threshold > -INFINITY && !(w->scores[i] > w->threshold);
    for (int64_t taken = 0; taken < w->most; taken++) {
        const int64_t best = best_of(w);
        if (best < 0)
            return;
        const box chosen = box_at(w, best);
        for (int64_t i = 0; i < w->count; i++)
            if (!w->gone[i] && shared(chosen, box_at(w, i)) > w->overlap)
                w->gone[i] = 1;
        w->gone[best] = 1;
        if (!take(user, best))
            return;
    }
}
