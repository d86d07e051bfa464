/* plan_config.h - how a plan computes, as reports say it. */
#ifndef TAKT_API_PLAN_CONFIG_H
#define TAKT_API_PLAN_CONFIG_H

#include "base/inner.h"
#include "base/report.h"
#include "plan/plan.h"

/* The type that a step's weights are stored in if it is narrower than f32: "bf16"; or NULL. */
TAKT_INNER const char *takt_step_weights(const takt_plan *plan, const takt_step *step);
/* The plan's settings: "config" in JSON; in text, only what differs from the defaults. */
TAKT_INNER void takt_report_config(takt_report *r, const takt_plan *plan);

#endif
