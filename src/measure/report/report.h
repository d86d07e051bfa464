/* report.h - the parts of reports on models, plans and sessions. */
#ifndef TAKT_MEASURE_REPORT_REPORT_H
#define TAKT_MEASURE_REPORT_REPORT_H

#include <takt/report.h>

#include "api/layers.h"
#include "api/plan_config.h"
#include "api/session/session.h"
#include "base/report.h"

/* State and arena of a training step; writes nothing for other plans. */
void takt_report_training(takt_report *r, const takt_plan *plan);

/* A row per layer: name and type, result, parameters, multiply-adds. */
void takt_layers_tree(const takt_layers *l, takt_table *t);

/* Where a run can be stopped, and for how long it cannot. */
void takt_report_stops(takt_report *r, const takt_plan *plan);
/* Segments, copies and memory outside the host; nothing for a plan that only uses the host. */
void takt_report_spaces(takt_report *r, const takt_plan *plan);
/* Memory and work of a plan with ranges at some sizes; writes nothing for other plans. */
TAKT_MUST_USE takt_status takt_report_ranges(takt_report *r, const takt_plan *plan);
/* touched.c: the bytes of every size as a formula; `cells` as below. */
TAKT_MUST_USE takt_status takt_report_touched(takt_report *r, takt_plan *top, int64_t *cells);
/* guards.c: at which sizes the steps change; `cells` are those of the size program. */
TAKT_MUST_USE takt_status takt_report_guards(takt_report *r, takt_plan *top, int64_t *cells);
/* The intended use of the model, if its author gave one. */
void takt_report_doc(takt_report *r, const takt_graph *g);

/* The number of inputs and outputs, and port `i` of them, inputs first. */
size_t takt_report_ports(const takt_session *s);
const takt_session_port *takt_report_port(const takt_session *s, size_t i, const takt_desc **desc);

/* The memory statement; `minimum`: the arena of the best order; `s`: or NULL. */
void takt_report_memory(takt_report *r, const takt_plan *plan, const takt_session *s,
                        size_t minimum);

#endif
