/* stats_json.h - statistics in the format of result files. */
#ifndef TAKT_MEASURE_STATS_JSON_H
#define TAKT_MEASURE_STATS_JSON_H

#include <takt/measure.h>

#include "base/json.h"

/* Members of an open object; every value times `scale`. */
void takt_stats_write(takt_json_writer *w, const takt_stats *s, double scale);

#endif
