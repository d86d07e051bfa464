/* bench.h - the parts of measuring a case. */
#ifndef TAKT_MEASURE_SESSION_BENCH_H
#define TAKT_MEASURE_SESSION_BENCH_H

#include "api/session/session.h"
#include "measure/bench.h"

/* Times and load of a scenario other than single-stream. What was measured before a failure is
 * kept. */
TAKT_MUST_USE takt_status takt_bench_measure_load(takt_bench *b, takt_session *s,
                                                  const takt_bench_case *o, takt_bench_row *r);
/* The human-readable result. */
TAKT_MUST_USE takt_status takt_bench_text(const takt_bench *b, takt_text *text);

#endif
