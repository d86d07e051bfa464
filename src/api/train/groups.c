/* groups.c - parameter groups with their own learning rate and optimizer settings. */
#include "api/train/trainer.h"
#include "base/text.h"

static takt_status read_group(takt_trainer *t, const takt_param_group *from, takt_step_group *to)
{
    takt_step_spec *spec = &t->spec;
    if (from->takes == NULL)
        return takt_fail(t->ctx, TAKT_E_OPTION, "a parameter group has no function takes");
    if (!(from->rate >= 0 && from->rate <= 1e6))
        return takt_fail(t->ctx, TAKT_E_OPTION, "the rate of a group must be from 0 to 1e6, not %g",
                         from->rate);
    *to = (takt_step_group){.takes = from->takes, .user = from->user, .rate = from->rate};
    for (size_t i = 0; i < TAKT_OPT_HYPERS; i++)
        to->hyper[i] = spec->hyper[i];
    if (from->numbers == NULL || from->numbers[0] == '\0')
        return TAKT_OK;
    TAKT_TRY(takt_hyper_change(t->ctx, spec->optimizer->name, spec->optimizer->hyper,
                               TAKT_OPT_HYPERS, from->numbers, to->hyper));
    return takt_optimizer_check(t->ctx, spec->optimizer, to->hyper);
}

takt_status takt_trainer_groups(takt_trainer *t, const takt_train_options *o)
{
    takt_step_group *groups = takt_arena_array(&t->arena, o->group_count, sizeof *groups);
    if (groups == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < o->group_count; i++)
        TAKT_TRY(read_group(t, &o->groups[i], &groups[i]));
    t->spec.groups = groups;
    t->spec.group_count = o->group_count;
    return TAKT_OK;
}
