/* prune_taylor.c - how much the loss would change without a channel, to first order.
 *
 * The sum of weight times gradient over all its weights, squared, summed over the batches of the
 * data (P. Molchanov and others, 2019).
 */
#include <string.h>

#include "grad/grad.h"
#include "op/ops.h"
#include "shrink/feed.h"
#include "shrink/prune.h"
#include "train/step.h"

enum { BATCH = 16 };

/* The model with its loss and the gradient of every parameter as outputs. */
static takt_status build(takt_pruning *p, takt_model **out)
{
    takt_step_spec spec = {0};
    takt_graph *eval, *g;
    TAKT_TRY(takt_loss_parse(p->ctx, "cross_entropy", &spec.loss, spec.loss_hyper));
    TAKT_TRY(takt_step_build_eval(p->model->graph, &spec, &eval));
    const takt_status status = takt_grad(p->ctx, eval, TAKT_STEP_SUM, NULL, 0, &g);
    takt_graph_destroy(eval);
    return status == TAKT_OK ? takt_model_derive(p->model, g, out) : status;
}

/* Adds weight times gradient of one leaf to the sets along one of its axes. */
static void add(takt_pruning *p, takt_axis_ref at, const float *gradient, double *sum)
{
    const takt_tensor *t = takt_prune_value(p, at.node);
    const float *w = takt_tensor_data(t);
    size_t inner = 1;
    for (int d = at.axis + 1; d < t->type.rank; d++)
        inner *= (size_t)t->type.dim[d];
    for (size_t i = 0; i < takt_tensor_count(t); i++) {
        const uint32_t index = (uint32_t)(i / inner % (size_t)t->type.dim[at.axis]);
        sum[takt_groups_unit(&p->sets, at, index)] += (double)w[i] * (double)gradient[i];
    }
}

/* The gradient of the slot behind a leaf; NULL if it has none. */
static const float *gradient_of(takt_pruning *p, takt_shrink_run *r, takt_id id)
{
    const takt_graph *g = p->model->graph;
    for (size_t i = 0; i < g->slot_count; i++) {
        if (g->slots[i].value != id || g->slots[i].type.dtype != TAKT_F32 ||
            p->model->slots[i].storage == NULL)
            continue;
        for (size_t k = 0; k < takt_session_output_count(r->session); k++) {
            const char *name = takt_session_output_desc(r->session, k)->name;
            if (strncmp(name, "grad.", 5) != 0 || strcmp(name + 5, g->slots[i].name) != 0)
                continue;
            const takt_tensor_view *v = takt_session_output(r->session, k);
            return v != NULL ? v->data : NULL;
        }
    }
    return NULL;
}

static takt_status gather(takt_pruning *p, takt_feed *f, takt_shrink_run *r, bool *any)
{
    double *sum = takt_arena_array(&p->arena, p->sets.element_count, sizeof *sum);
    if (sum == NULL)
        return TAKT_ERR_MEMORY;
    for (uint64_t run = 0; run < f->runs; run++) {
        uint64_t count;
        TAKT_TRY(takt_feed_put(f, r, run, &count));
        TAKT_TRY(takt_shrink_run_once(r));
        memset(sum, 0, p->sets.element_count * sizeof *sum);
        for (size_t k = 0; k < p->sets.axis_count; k++) {
            const takt_axis_ref at = p->sets.axes[k].at;
            const float *gradient = gradient_of(p, r, at.node);
            if (gradient != NULL)
                add(p, at, gradient, sum);
            *any = *any || gradient != NULL;
        }
        for (size_t e = 0; e < p->sets.element_count; e++)
            p->importance[e] += sum[e] * sum[e];
    }
    return TAKT_OK;
}

takt_status takt_prune_taylor(takt_pruning *p)
{
    takt_model *m = NULL;
    takt_feed f = {0};
    takt_shrink_run r = {0};
    bool any = false;
    if (p->o.data == NULL) {
        takt_fail(p->ctx, TAKT_E_SHRINK_DATA, "taylor needs samples with labels");
        return takt_fail_hint(p->ctx, "give them with --data V, or judge by magnitude");
    }
    TAKT_TRY(build(p, &m));
    takt_status status = takt_feed_init(&f, m, p->o.data, p->o.sizes, BATCH, 0);
    if (status == TAKT_OK) {
        takt_graph_retain(m->graph);
        status = takt_shrink_run_init(&r, m, m->graph, f.sizes, p->o.threads);
    }
    if (status == TAKT_OK)
        status = gather(p, &f, &r, &any);
    takt_shrink_run_deinit(&r);
    takt_feed_deinit(&f);
    takt_model_destroy(m);
    if (status != TAKT_OK || any)
        return status;
    takt_fail(p->ctx, TAKT_E_SHRINK_NOTHING, "the model has no parameter that has a gradient");
    return takt_fail_hint(p->ctx, "judge by the weights: magnitude (--criterion magnitude)");
}
