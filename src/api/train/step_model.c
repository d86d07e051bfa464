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
    double scalar[TAKT_OPT_SCALARS] = {0};
    const double rate = t->rate * takt_schedule_factor(&t->schedule, t->schedule.warmup);
    if (o->at_step != NULL)
        o->at_step(spec.hyper, rate, t->schedule.warmup + 1, scalar);
    spec.fixed_rate = &rate;
    spec.fixed_scalars = scalar;
    takt_status status = takt_step_build(model->training, &spec, NULL, &g);
    if (status == TAKT_OK)
        status = takt_model_derive(model, g, step);
    takt_trainer_destroy(t);
    return status;
}
