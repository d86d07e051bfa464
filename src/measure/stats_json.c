/* stats_json.c - statistics in the shape that result files have. */
#include "measure/stats_json.h"

static void number(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    takt_json_number(w, value);
}

static void interval(takt_json_writer *w, const char *key, takt_interval i, double scale)
{
    takt_json_key(w, key);
    takt_json_open(w, '[');
    takt_json_number(w, i.low * scale);
    takt_json_number(w, i.high * scale);
    takt_json_close(w, ']');
}

static const char *const names[TAKT_PERCENTILES] = {"50", "90", "95", "99"};

void takt_stats_write(takt_json_writer *w, const takt_stats *s, double scale)
{
    takt_json_key(w, "n");
    takt_json_unsigned(w, s->count);
    number(w, "mean", s->mean * scale);
    number(w, "std", s->std * scale);
    number(w, "min", s->min * scale);
    number(w, "max", s->max * scale);
    number(w, "median", s->median * scale);
    number(w, "mad", s->mad * scale);
    takt_json_key(w, "percentiles");
    takt_json_open(w, '{');
    for (int i = 0; i < TAKT_PERCENTILES; i++)
        number(w, names[i], s->percentiles[i].value * scale);
    takt_json_close(w, '}');
    takt_json_key(w, "resolved");
    takt_json_open(w, '{');
    for (int i = 0; i < TAKT_PERCENTILES; i++) {
        takt_json_key(w, names[i]);
        takt_json_bool(w, s->percentiles[i].resolved);
    }
    takt_json_close(w, '}');
    takt_json_key(w, "ci95");
    takt_json_open(w, '{');
    interval(w, "mean", s->mean_ci, scale);
    interval(w, "median", s->median_ci, scale);
    interval(w, "p90", s->percentiles[1].ci, scale);
    interval(w, "p95", s->percentiles[2].ci, scale);
    interval(w, "p99", s->percentiles[3].ci, scale);
    takt_json_close(w, '}');
    takt_json_key(w, "outliers");
    takt_json_open(w, '{');
    takt_json_key(w, "mild");
    takt_json_unsigned(w, s->mild);
    takt_json_key(w, "severe");
    takt_json_unsigned(w, s->severe);
    takt_json_close(w, '}');
}
