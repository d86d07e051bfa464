/* stats_json.c - statistics in the format of result files. */
#include "measure/stats_json.h"

static void interval(takt_json_writer *w, const char *key, takt_interval i, double scale)
{
    takt_json_put_open(w, key, '[');
    takt_json_number(w, i.low * scale);
    takt_json_number(w, i.high * scale);
    takt_json_close(w, ']');
}

static const char *const names[TAKT_PERCENTILES] = {"50", "90", "95", "99"};

void takt_stats_write(takt_json_writer *w, const takt_stats *s, double scale)
{
    takt_json_put_unsigned(w, "n", s->count);
    takt_json_put_number(w, "mean", s->mean * scale);
    takt_json_put_number(w, "std", s->std * scale);
    takt_json_put_number(w, "min", s->min * scale);
    takt_json_put_number(w, "max", s->max * scale);
    takt_json_put_number(w, "median", s->median * scale);
    takt_json_put_number(w, "mad", s->mad * scale);
    takt_json_put_open(w, "percentiles", '{');
    for (int i = 0; i < TAKT_PERCENTILES; i++)
        takt_json_put_number(w, names[i], s->percentiles[i].value * scale);
    takt_json_close(w, '}');
    takt_json_put_open(w, "resolved", '{');
    for (int i = 0; i < TAKT_PERCENTILES; i++) {
        takt_json_put_bool(w, names[i], s->percentiles[i].resolved);
    }
    takt_json_close(w, '}');
    takt_json_put_open(w, "ci95", '{');
    interval(w, "mean", s->mean_ci, scale);
    interval(w, "median", s->median_ci, scale);
    interval(w, "p90", s->percentiles[1].ci, scale);
    interval(w, "p95", s->percentiles[2].ci, scale);
    interval(w, "p99", s->percentiles[3].ci, scale);
    takt_json_close(w, '}');
    takt_json_put_open(w, "outliers", '{');
    takt_json_put_unsigned(w, "mild", s->mild);
    takt_json_put_unsigned(w, "severe", s->severe);
    takt_json_close(w, '}');
}
