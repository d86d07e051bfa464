/* nms.c - non-maximum suppression: drops boxes that overlap a better one.
 *
 * For each class of each image the best box is taken repeatedly, and boxes that overlap it by more
 * than `overlap` of their area are dropped. As ONNX NonMaxSuppression.
 */
#include "op/util/nms.h"

#include "op/util/check.h"

enum { BOXES, SCORES, LIMIT, OVERLAP, THRESHOLD };
enum { CENTER, MOST };

/* The maximum number of rows: for every class as many as there are boxes, or `most`. */
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

typedef struct found {
    int64_t batch, class, rows, count;
    int64_t *out; /* triples */
} found;

static bool use(void *user, int64_t box, size_t compared)
{
    found *f = user;
    (void)compared;
    if (box < 0)
        return true;
    const int64_t row[3] = {f->batch, f->class, box};
    for (int k = 0; k < 3; k++)
        f->out[3 * f->count + k] = row[k];
    return ++f->count < f->rows;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *boxes = &e->in[BOXES], *scores = &e->in[SCORES];
    const int64_t n = boxes->dim[1], classes = scores->dim[1];
    takt_nms w = {.count = n,
                  .is_center = e->attr[CENTER].boolean,
                  .most = e->in[LIMIT].i[0],
                  .overlap = e->in[OVERLAP].f[0],
                  .threshold = e->in[THRESHOLD].f[0],
                  .taken = takt_arena_array(e->scratch, (size_t)n + 1, sizeof *w.taken),
                  .order = takt_arena_array(e->scratch, (size_t)n + 1, sizeof *w.order)};
    found f = {.rows = e->out[0].dim[0], .out = e->out[0].i};
    if (w.taken == NULL || w.order == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t i = 0; scores->count > 0 && f.count < f.rows && i < scores->dim[0] * classes;
         i++) {
        f.batch = i / classes;
        f.class = i % classes;
        w.boxes = boxes->f + f.batch * n * 4;
        w.scores = scores->f + i * n;
        takt_nms_pick(&w, use, &f);
    }
    e->out[1].i[0] = f.count;
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
