/* verify_bounds.c - every sample of every op: results at points of a box are within the bounds.
 *
 *     verify_bounds                    a few dozen points a box
 *     verify_bounds --points N [name]  as many as asked for (trust/ledger.tsv)
 */
#include <string.h>

#include "op/ops.h"
#include "test.h"
#include "util/box.h"
#include "verify/bounds.h"

typedef takt_id make_fn(takt_graph *g, takt_id a, takt_id b);

static takt_id product(takt_graph *g, takt_id a, takt_id b)
{
    return takt_matmul(g, a, b, false, false);
}

static takt_id chain(takt_graph *g, takt_id a, takt_id b)
{
    return takt_unary(g, &takt_op_relu, takt_sub(g, takt_add(g, a, b), b));
}

/* Nodes of `op` in the bounds of f32 values; if it is NULL, those in f64, except casts. */
static size_t count_nodes(takt_ctx *ctx, make_fn *make, bool is_known, const takt_op *op)
{
    const takt_type type = {.dtype = TAKT_F32, .rank = 2, .dim = {4, 4}};
    const bool known[] = {false, is_known};
    takt_graph *g = NULL;
    takt_bounds i;
    size_t count = 0;
    EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g));
    const takt_id a = takt_graph_input(g, "a", &type), b = takt_graph_input(g, "b", &type);
    takt_graph_output(g, "y", make(g, a, b));
    if (EXPECT_OK(ctx, takt_bounds_init(g, &(takt_bounds_options){.is_known = known}, &i))) {
        for (size_t k = 0; k < i.graph->count; k++) {
            const takt_node *n = &i.graph->nodes[k];
            const bool is_wide =
                n->type[0].dtype == TAKT_F64 && n->op != &takt_op_input && n->op != &takt_op_cast;
            count += op != NULL ? n->op == op : is_wide;
        }
        takt_bounds_deinit(&i);
    }
    takt_graph_destroy(g);
    return count;
}

/* What bounds may cost. */
static void few_nodes(takt_ctx *ctx)
{
    EXPECT(count_nodes(ctx, product, true, &takt_op_matmul) == 2, "products with known weights");
    EXPECT(count_nodes(ctx, product, false, &takt_op_matmul) == 3, "products of two intervals");
    EXPECT(count_nodes(ctx, chain, true, NULL) == 0, "sums with a point are in f32");
    EXPECT(count_nodes(ctx, chain, false, NULL) == 0, "sums of intervals are in f32");
}

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
    few_nodes(ctx);
    takt_ctx_destroy(ctx);
    printf("%zu boxes, %zu points; finite bounds of %.1f %% of the elements of ops "
           "that have them\n",
           boxes, tried, 100.0 * (double)known / (double)all);
    EXPECT(only != NULL || known * 10 > all * 8, "bounds say too little");
    return test_done();
}
