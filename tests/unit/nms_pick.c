/* nms_pick.c - the boxes that non-maximum suppression keeps, against its definition: the best box
 * that is left is taken, and what it covers is dropped. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "op/util/nms.h"

enum { MOST = 300 };

typedef struct kept {
    int64_t box[MOST], count;
} kept;

static bool keep(void *user, int64_t box, size_t compared)
{
    kept *k = user;
    (void)compared;
    if (box >= 0)
        k->box[k->count++] = box;
    return true;
}

static double shared(const double *a, const double *b)
{
    const double h =
        fmin(fmax(a[0], a[2]), fmax(b[0], b[2])) - fmax(fmin(a[0], a[2]), fmin(b[0], b[2]));
    const double w =
        fmin(fmax(a[1], a[3]), fmax(b[1], b[3])) - fmax(fmin(a[1], a[3]), fmin(b[1], b[3]));
    const double both =
        fabs(a[2] - a[0]) * fabs(a[3] - a[1]) + fabs(b[2] - b[0]) * fabs(b[3] - b[1]);
    return h <= 0 || w <= 0 ? 0 : h * w / (both - h * w);
}

static void by_definition(const takt_nms *w, kept *k)
{
    bool gone[MOST];
    for (int64_t i = 0; i < w->count; i++)
        gone[i] = !(w->scores[i] > w->threshold);
    while (k->count < w->most) {
        int64_t best = -1;
        for (int64_t i = 0; i < w->count; i++)
            if (!gone[i] && (best < 0 || w->scores[i] > w->scores[best]))
                best = i;
        if (best < 0)
            return;
        k->box[k->count++] = best;
        gone[best] = true;
        for (int64_t i = 0; i < w->count; i++)
            gone[i] |= shared(w->boxes + 4 * best, w->boxes + 4 * i) > w->overlap;
    }
}

/* Few scores, so that there are ties; and corners in any order. */
static void random_boxes(void)
{
    static double boxes[4 * MOST], scores[MOST];
    static takt_nms_box taken[MOST];
    static int64_t order[MOST];
    uint64_t state = 7;
    for (int round = 0; round < 200; round++) {
        takt_nms w = {boxes,
                      scores,
                      round % MOST,
                      false,
                      round % 3 == 0 ? 20 : MOST,
                      0.1 * (round % 8),
                      round % 5 == 0 ? 0.5 : 0,
                      taken,
                      order};
        for (int64_t i = 0; i < 5 * w.count; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            *(i < w.count ? &scores[i] : &boxes[i - w.count]) =
                (double)(state >> 59) / (i < w.count ? 32 : 4);
        }
        kept want = {.count = 0}, got = {.count = 0};
        by_definition(&w, &want);
        takt_nms_pick(&w, keep, &got);
        EXPECT(got.count == want.count &&
                   memcmp(got.box, want.box, (size_t)want.count * sizeof *want.box) == 0,
               "round %d: %lld boxes, not %lld", round, (long long)got.count,
               (long long)want.count);
    }
}

TEST_MAIN(random_boxes)
