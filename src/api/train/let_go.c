/* let_go.c - frees weights that the training session has its own copy of.
 *
 * The initial values of a state are shared by the plan, the model of the step, the one for
 * evaluation and the model that the trainer was made from: one storage, freed when all of them
 * release it. A state without initial values begins with zeros; a trainer never resets its session,
 * and a plan for other sizes takes its state from the previous session.
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
        for (size_t k = 0; k < own->slot_count; k++) /* plans for other sizes do not make one
                                                      * either */
            if (strcmp(own->slots[k].name, name) == 0)
                own->slots[k].init = (takt_init){.kind = TAKT_INIT_CONSTANT};
    }
    t->step.model->key = 0;
}
