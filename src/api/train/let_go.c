/* let_go.c - weights that the session of a training has a copy of need no other.
 *
 * The first values of a state are kept by the plan, by the model of the step, by the one for
 * evaluation and by the model that the trainer was made from: one storage, which goes when all of
 * them let go of it. A state without first values begins with zeros; no session of a trainer begins
 * again, and a plan for other sizes takes its state over from the session before.
 */
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"

static void release(const takt_model *m, const char *name)
{
    const takt_slot *slot = takt_graph_find_slot(m->graph, name);
    if (slot != NULL)
        takt_tensor_release(&m->slots[slot - m->graph->slots]);
}

void takt_train_let_go(takt_trainer *t)
{
    takt_plan *plan = t->step.session->plan;
    takt_graph *own = t->step.model->graph;
    for (size_t i = 0; i < plan->graph->slot_count; i++) {
        const char *name = plan->graph->slots[i].name;
        takt_tensor_release(&plan->initial[i]);
        release(t->step.model, name);
        release(t->eval.model, name);
        release(t->model, name);
        for (size_t k = 0; k < own->slot_count; k++) /* plans for other sizes make none either */
            if (strcmp(own->slots[k].name, name) == 0)
                own->slots[k].init = (takt_init){.kind = TAKT_INIT_CONSTANT};
    }
    t->step.model->key = 0;
}
