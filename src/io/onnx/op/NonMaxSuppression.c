/* NonMaxSuppression.c - NonMaxSuppression: boxes and scores must be known when the model is loaded,
 * because the number of boxes that stay depends on them. */
#include <math.h>

#include "io/onnx/adapt.h"

typedef struct work {
    takt_call *c;
    const takt_array *boxes, *scores;
    bool is_center;
    int64_t most;
    double overlap, score;
    int64_t *out; /* triples */
    size_t count;
} work;

typedef struct box {
    double y1, x1, y2, x2;
} box;

static box box_at(const work *w, int64_t batch, int64_t i)
{
    const double *p = w->boxes->f + (batch * w->boxes->dim[1] + i) * 4;
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

/* The best box left, again and again; ties go to the first. */
static void pick(work *w, int64_t batch, int64_t class, unsigned char *gone)
{
    const int64_t n = w->boxes->dim[1];
    const double *scores = w->scores->f + (batch * w->scores->dim[1] + class) * n;
    for (int64_t i = 0; i < n; i++)
        gone[i] = w->score > -INFINITY && !(scores[i] > w->score);
    /* Comparing two boxes takes about 40 operations, most of them calls of fmin and fmax. */
    for (int64_t taken = 0; taken < w->most && takt_onnx_affords(w->c, 40 * (double)n); taken++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!gone[i] && (best < 0 || scores[i] > scores[best]))
                best = i;
        if (best < 0)
            return;
        const box chosen = box_at(w, batch, best);
        for (int64_t i = 0; i < n; i++)
            if (!gone[i] && shared(chosen, box_at(w, batch, i)) > w->overlap)
                gone[i] = 1;
        gone[best] = 1;
        const int64_t row[3] = {batch, class, best};
        for (int k = 0; k < 3; k++)
            w->out[3 * w->count + (size_t)k] = row[k];
        w->count++;
    }
}

static takt_status adapt(takt_call *c)
{
    work w = {
        .c = c, .boxes = takt_onnx_known_floats(c, 0), .scores = takt_onnx_known_floats(c, 1)};
    const takt_ints most = takt_onnx_known_ints(c, 2);
    w.most = most.count > 0 ? most.at[0] : 0;
    w.overlap = takt_onnx_known_f(c, 3, 0);
    w.score = takt_onnx_known_f(c, 4, -INFINITY);
    w.is_center = takt_onnx_i(c, "center_point_box", 0) != 0;
    if (c->status != TAKT_OK)
        return c->status;
    if (w.boxes->rank != 3 || w.scores->rank != 3 || w.boxes->dim[2] != 4 ||
        w.boxes->dim[1] != w.scores->dim[2] || w.boxes->dim[0] != w.scores->dim[0])
        return takt_onnx_refuse(c, "boxes and scores do not fit");
    unsigned char *gone = takt_onnx_get(c, (size_t)w.boxes->dim[1], 1);
    w.out = takt_onnx_get(c, 3 * w.scores->count, sizeof *w.out);
    if (gone == NULL || w.out == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t b = 0; b < w.scores->dim[0]; b++)
        for (int64_t k = 0; k < w.scores->dim[1] && takt_onnx_affords(c, 40); k++)
            pick(&w, b, k, gone); /* of no boxes there may be billions of classes */
    if (c->status != TAKT_OK)
        return c->status;
    const takt_id list = takt_onnx_i64s(c, w.out, 3 * w.count);
    return takt_onnx_done(c, takt_onnx_shape(c, list, (int64_t[]){(int64_t)w.count, 3}, 2));
}

const takt_onnx_op takt_onnx_NonMaxSuppression = {.names = {"NonMaxSuppression"}, .adapt = adapt};
