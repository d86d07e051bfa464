/* verify_bounds.c - every sample of every op: results on points of a box lie between the bounds.
 *
 *     verify_bounds                    a few dozen points a box
 *     verify_bounds --points N [name]  as many as asked for (trust/ledger.tsv)
 */
#include <string.h>

#include "op/ops.h"
#include "test.h"
#include "util/box.h"

int main(int argc, char **argv)
{
    size_t points = 16, boxes = 0, tried = 0, known = 0, all = 0;
    takt_ctx *ctx = NULL;
    if (argc > 2 && strcmp(argv[1], "--points") == 0)
        points = strtoul(argv[2], NULL, 10);
    const char *only = argc > 3 ? argv[3] : NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < takt_op_count; i++)
        for (size_t s = 0; s < 10 && takt_ops[i]->samples[s] != NULL; s++) {
            takt_box_trial t = {
                .ctx = ctx, .op = takt_ops[i], .text = takt_ops[i]->samples[s], .points = points};
            if (only != NULL && strcmp(only, takt_ops[i]->name) != 0)
                continue;
            takt_box_try(&t);
            EXPECT(t.violations == 0, "%s", t.first);
            boxes += t.boxes;
            tried += t.tried;
            if (takt_ops[i]->no_bound != NULL)
                continue; /* it says why it has none */
            known += t.known;
            all += t.all;
        }
    takt_ctx_destroy(ctx);
    printf("%zu boxes, %zu points; finite bounds of %.1f %% of the elements of ops "
           "that have them\n",
           boxes, tried, 100.0 * (double)known / (double)all);
    EXPECT(only != NULL || known * 10 > all * 8, "bounds say too little");
    return test_done();
}
