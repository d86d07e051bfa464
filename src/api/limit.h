/* limit.h - refusing a plan that needs more memory than the caller allows. */
#ifndef TAKT_API_LIMIT_H
#define TAKT_API_LIMIT_H

#include <takt/plan.h>

#include "api/model.h"

/* Adds to the context's error which options would fit, each planned to know its bytes. */
TAKT_MUST_USE takt_status takt_limit_refuse(const takt_model *m, const takt_plan_options *o,
                                            int threads);

#endif
