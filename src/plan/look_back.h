/* look_back.h - the steps just before a step whose results it may find spread over several caches:
 * a backend queries them when it divides the step into tasks, and the answer is part of what makes
 * two steps twins. */
#ifndef TAKT_PLAN_LOOK_BACK_H
#define TAKT_PLAN_LOOK_BACK_H

#include "plan/plan.h"

enum { TAKT_LOOK_BACK = 4 /* steps */ };

/* The step among them, before step `index`, that wrote the buffer, or -1. */
static inline int32_t takt_look_back(const takt_plan *plan, size_t index, uint32_t buffer)
{
    for (size_t k = 1; k <= TAKT_LOOK_BACK && k <= index; k++) {
        const takt_step *s = &plan->steps[index - k];
        for (size_t i = 0; i < s->out_count; i++)
            if (s->out[i].buffer == buffer)
                return (int32_t)(index - k);
    }
    return -1;
}

#endif
