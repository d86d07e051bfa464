/* step_model.c - the training step as a model: to be planned, profiled and explained. */
#include "api/train/trainer.h"
#include "base/mem.h"

takt_status takt_train_model(const takt_model *model, const takt_train_options *options,
                             takt_model **step)
{
    takt_trainer *t;
    takt_graph *g = NULL;
    *step = NULL;
    TAKT_TRY(takt_trainer_create(model, options, &t));
    takt_step_spec spec = t->spec;
    const takt_optimizer *o = spec.optimizer;
    const size_t groups = spec.group_count + 1;
    double *rate = takt_arena_array(&t->arena, groups, sizeof *rate);
    double *scalar = takt_arena_array(&t->arena, groups * TAKT_OPT_SCALARS, sizeof *scalar);
    if (rate == NULL || scalar == NULL) {
        takt_trainer_destroy(t);
        return TAKT_ERR_MEMORY;
    }
    for (size_t i = 0; i < groups; i++) {
        const takt_step_group *own = i > 0 ? &spec.groups[i - 1] : NULL;
        rate[i] = (own != NULL && own->rate > 0 ? own->rate : t->rate) *
                  takt_schedule_factor(&t->schedule, t->schedule.warmup);
        if (o->at_step != NULL)
            o->at_step(own != NULL ? own->hyper : spec.hyper, rate[i], t->schedule.warmup + 1,
                       scalar + i * TAKT_OPT_SCALARS);
    }
    spec.fixed_rate = rate;
    spec.fixed_scalars = scalar;
    takt_status status = takt_step_build(model->training, &spec, NULL, &g);
    if (status == TAKT_OK)
        status = takt_model_derive(model, g, step);
    takt_trainer_destroy(t);
    return status;
}
