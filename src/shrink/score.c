/* score.c - how often a model is right, sample by sample. */
#include "shrink/score.h"

#include <math.h>

/* Whether fewer than `top` elements are ahead of element `label`; equal ones count if they come
 * first, so that NaN everywhere is not right. */
static bool is_among(const float *row, int64_t classes, int64_t label, int top)
{
    int before = 0;
    if (label < 0 || label >= classes || isnan(row[label]))
        return false;
    for (int64_t i = 0; i < classes; i++)
        before += row[i] > row[label] || (row[i] == row[label] && i < label);
    return before < top;
}

static takt_status score_run(takt_feed *f, takt_shrink_run *r, uint64_t run, int top,
                             int64_t *labels, takt_score *s)
{
    uint64_t count;
    TAKT_TRY(takt_feed_labels(f, run, labels, &count));
    TAKT_TRY(takt_feed_put(f, r, run, &count));
    TAKT_TRY(takt_shrink_run_once(r));
    const takt_tensor_view *y = takt_session_output(r->session, 0);
    if (y == NULL)
        return TAKT_ERR_MEMORY;
    int64_t all = 1;
    for (int d = 0; d < y->rank; d++)
        all *= y->dims[d];
    const int64_t classes = all / (int64_t)count;
    if (y->dtype != TAKT_F32 || classes < 2 || classes * (int64_t)count != all) {
        takt_fail(f->ctx, TAKT_E_SHRINK_DATA,
                  "the model's first output is not a row of scores for each sample");
        return takt_fail_hint(f->ctx, "scores count right classes: leave the labelled data "
                                      "(--data) out");
    }
    if (top >= classes) {
        takt_fail(f->ctx, TAKT_E_SHRINK_DATA, "top%d of %lld classes is always right", top,
                  (long long)classes);
        return takt_fail_hint(f->ctx, "take top1 (--metric top1)");
    }
    for (uint64_t i = 0; i < count; i++) {
        const bool right =
            is_among((const float *)y->data + (int64_t)i * classes, classes, labels[i], top);
        s->right[s->count++] = right;
        s->hits += right;
    }
    return TAKT_OK;
}

takt_status takt_score_graph(takt_feed *f, takt_graph *g, int top, takt_arena *arena, takt_score *s)
{
    takt_shrink_run r;
    *s = (takt_score){0};
    TAKT_TRY(takt_shrink_run_init(&r, f->model, g, f->sizes, f->threads));
    s->right = takt_arena_get(arena, f->samples);
    int64_t *labels = takt_arena_array(arena, f->per_run, sizeof *labels);
    takt_status status = s->right != NULL && labels != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (uint64_t run = 0; status == TAKT_OK && run < f->runs; run++)
        status = score_run(f, &r, run, top, labels, s);
    takt_shrink_run_deinit(&r);
    return status;
}

takt_share takt_score_share(const takt_score *s)
{
    const double z = 1.959964, n = (double)s->count, p = n > 0 ? (double)s->hits / n : 0;
    if (n == 0)
        return (takt_share){0, 0, 1};
    const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    const double half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return (takt_share){p, fmax(0, middle - half), fmin(1, middle + half)};
}

takt_share takt_score_lost(const takt_score *a, const takt_score *b)
{
    double only_a = 0, only_b = 0;
    const double n = (double)a->count;
    for (uint64_t i = 0; i < a->count && i < b->count; i++) {
        only_a += a->right[i] && !b->right[i];
        only_b += !a->right[i] && b->right[i];
    }
    if (n == 0)
        return (takt_share){0, 0, 0};
    const double d = (only_a - only_b) / n;
    const double half =
        1.959964 * sqrt(fmax(0, only_a + only_b - (only_a - only_b) * (only_a - only_b) / n)) / n;
    return (takt_share){d, d - half, d + half};
}
