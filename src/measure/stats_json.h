/* stats_json.h - statistics in the shape that result files have. */
#ifndef TAKT_MEASURE_STATS_JSON_H
#define TAKT_MEASURE_STATS_JSON_H

#include <takt/measure.h>

#include "base/json.h"

/* Members of an object that is open; every value times `scale`. */
void takt_stats_write(takt_json_writer *w, const takt_stats *s, double scale);

#endif
