/* nms.c - boxes that stay when those are dropped that a better one covers.
 *
 * Of each class of each image the best box is taken again and again, and with it go those that
 * share more than `overlap` of their area with it. As ONNX NonMaxSuppression.
 */
#include <math.h>

#include "op/util/check.h"

enum { BOXES, SCORES, LIMIT, OVERLAP, THRESHOLD };
enum { CENTER, MOST };

/* Rows that there can be: of every class as many as there are boxes, or `most`. */
static takt_status count_rows(takt_infer *in, takt_dim *rows)
{
    const takt_type *scores = in->type[SCORES];
    const int64_t most = in->attr[MOST].i64;
    takt_dim each = scores->dim[2];
    if (most >= 0)
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MIN, each, most, &each));
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, scores->dim[0], scores->dim[1], rows));
    return takt_dim_make(in->dims, TAKT_DIM_MUL, *rows, each, rows);
}

static takt_status infer(takt_infer *in)
{
    const takt_type *boxes = in->type[BOXES];
    bool agree = false;
    TAKT_TRY(takt_infer_dtype(in, BOXES, TAKT_FLOATS, "a float type"));
    TAKT_TRY(takt_infer_rank(in, BOXES, 3, 3));
    TAKT_TRY(takt_infer_rank(in, SCORES, 3, 3));
    TAKT_TRY(takt_check_same_dtype(in, BOXES, SCORES));
    TAKT_TRY(takt_check_dims(in, BOXES, 0, SCORES, 0));
    TAKT_TRY(takt_check_dims(in, BOXES, 1, SCORES, 2));
    TAKT_TRY(takt_check_agree(in, boxes->dim[2], 4, &agree));
    if (!agree)
        return takt_infer_fail(in, TAKT_E_SHAPE, "a box has four numbers");
    TAKT_TRY(takt_infer_dtype(in, LIMIT, TAKT_IN(TAKT_I64), "i64"));
    for (size_t i = LIMIT; i <= THRESHOLD; i++)
        TAKT_TRY(takt_infer_vector(in, i, 1));
    TAKT_TRY(takt_check_same_dtype(in, BOXES, OVERLAP));
    TAKT_TRY(takt_check_same_dtype(in, BOXES, THRESHOLD));
    in->out[0] = (takt_type){.dtype = TAKT_I64, .rank = 2, .dim = {0, 3}};
    in->out[1] = (takt_type){.dtype = TAKT_I64, .rank = 1, .dim = {1}};
    return count_rows(in, &in->out[0].dim[0]);
}

typedef struct work {
    const takt_array *boxes, *scores;
    bool is_center;
    int64_t most, rows;
    double overlap, threshold;
    int64_t *out; /* triples */
    int64_t count;
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

/* The best box left; of equal ones the first. */
static int64_t best_of(const double *scores, const unsigned char *gone, int64_t n)
{
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++)
        if (!gone[i] && (best < 0 || scores[i] > scores[best]))
            best = i;
    return best;
}

static void pick(work *w, int64_t batch, int64_t class, unsigned char *gone)
{
    const int64_t n = w->boxes->dim[1];
    const double *scores = w->scores->f + (batch * w->scores->dim[1] + class) * n;
    for (int64_t i = 0; i < n; i++)
        gone[i] = w->threshold > -INFINITY && !(scores[i] > w->threshold);
    for (int64_t taken = 0; taken < w->most && w->count < w->rows; taken++) {
        const int64_t best = best_of(scores, gone, n);
        if (best < 0)
            return;
        const box chosen = box_at(w, batch, best);
        for (int64_t i = 0; i < n; i++)
            if (!gone[i] && shared(chosen, box_at(w, batch, i)) > w->overlap)
                gone[i] = 1;
        gone[best] = 1;
        const int64_t row[3] = {batch, class, best};
        for (int k = 0; k < 3; k++)
            w->out[3 * w->count + k] = row[k];
        w->count++;
    }
}

static takt_status eval(takt_eval *e)
{
    const takt_array *scores = &e->in[SCORES];
    work w = {.boxes = &e->in[BOXES],
              .scores = scores,
              .is_center = e->attr[CENTER].boolean,
              .most = e->in[LIMIT].i[0],
              .rows = e->out[0].dim[0],
              .overlap = e->in[OVERLAP].f[0],
              .threshold = e->in[THRESHOLD].f[0],
              .out = e->out[0].i};
    unsigned char *gone = takt_arena_array(e->scratch, (size_t)w.boxes->dim[1] + 1, 1);
    if (gone == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t b = 0; scores->count > 0 && b < scores->dim[0]; b++)
        for (int64_t k = 0; k < scores->dim[1]; k++)
            pick(&w, b, k, gone);
    e->out[1].i[0] = w.count;
    return TAKT_OK;
}

/* Comparing two boxes takes about 40 operations. */
static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *scores = takt_type_of(g, n->in[SCORES]);
    const double each = (double)scores->dim[2], most = (double)n->attr[MOST].i64;
    const double all = (double)scores->dim[0] * (double)scores->dim[1] * each;
    cost->flops = 40 * all * (most >= 0 && most < each ? most + 1 : each);
    cost->bytes = 4 * (all + 4 * (double)scores->dim[0] * each);
}

const takt_op takt_op_nms = {
    .name = "nms",
    .summary = "boxes that no better one covers, as rows of image, class and box; zeros after "
               "them; and how many they are",
    .in_min = 5,
    .in_max = 5,
    .in_names = {"boxes", "scores", "limit", "overlap", "threshold"},
    .out_count = 2,
    .attrs = {[CENTER] = {.name = "center",
                          .type = TAKT_ATTR_BOOL,
                          .summary = "a box is its middle, width and height; else two corners"},
              [MOST] = {.name = "most",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = -1,
                        .summary = "what limit is at most: memory; -1: as many as boxes"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_I64),
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .no_gradient = "its results are places",
    .no_bound = "places are not followed",
    .fixed = 31,
    .samples = {"nms(f32[1, 6, 4] in (0, 1), f32[1, 2, 6] in (0, 1), i64[1] in (4, 4), "
                "f32[1] in (0.5, 0.5), f32[1] in (0.1, 0.1))",
                "nms(f64[2, 3, 4] in (0, 1), f64[2, 1, 3] in (0, 1), i64[1] in (2, 2), "
                "f64[1] in (0.2, 0.2), f64[1] in (-1, -1), center=true, most=2)"},
};
