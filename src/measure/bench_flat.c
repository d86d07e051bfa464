/* bench_flat.c - one row per combination, all parameters as columns: JSONL, CSV, Markdown. */
#include "measure/bench.h"

typedef enum kind { TEXT, WHOLE, REAL } kind;

/* One column of one row. */
typedef struct cell {
    const char *name;
    kind kind;
    const char *text;
    uint64_t whole;
    double real;
} cell;

enum { COLUMNS = 27 };

/* A result that another program wrote may not say how it was computed. */
static const char *known(const char *word)
{
    return word != NULL ? word : "unknown";
}

static size_t cells(const takt_bench *b, const takt_bench_row *r, cell *c)
{
    const takt_stats *s = &r->timing.stats;
    const cell row[COLUMNS] = {
        {"model", TEXT, b->model, 0, 0},
        {"type", TEXT, b->type, 0, 0},
        {"timestamp", TEXT, b->timestamp, 0, 0},
        {"fingerprint", TEXT, b->fingerprint, 0, 0},
        {"batch_size", WHOLE, NULL, (uint64_t)r->batch, 0},
        {"threads", WHOLE, NULL, (uint64_t)r->threads, 0},
        {"scenario", TEXT, takt_scenario_name(r->usage.scenario), 0, 0},
        {"backend", TEXT, known(r->config.backend), 0, 0},
        {"precision", TEXT, known(r->config.precision), 0, 0},
        {"numerics", TEXT, known(r->config.numerics), 0, 0},
        {"n", WHOLE, NULL, s->count, 0},
        {"median_ms", REAL, NULL, 0, s->median * 1e-6},
        {"median_low_ms", REAL, NULL, 0, s->median_ci.low * 1e-6},
        {"median_high_ms", REAL, NULL, 0, s->median_ci.high * 1e-6},
        {"mean_ms", REAL, NULL, 0, s->mean * 1e-6},
        {"std_ms", REAL, NULL, 0, s->std * 1e-6},
        {"min_ms", REAL, NULL, 0, s->min * 1e-6},
        {"max_ms", REAL, NULL, 0, s->max * 1e-6},
        {"p90_ms", REAL, NULL, 0, s->percentiles[1].value * 1e-6},
        {"p90_resolved", WHOLE, NULL, s->percentiles[1].resolved, 0},
        {"p99_ms", REAL, NULL, 0, s->percentiles[3].value * 1e-6},
        {"p99_resolved", WHOLE, NULL, s->percentiles[3].resolved, 0},
        {"samples_per_s", REAL, NULL, 0, takt_bench_rate(r)},
        {"planned_peak_bytes", WHOLE, NULL, r->planned_peak, 0},
        {"allocations_per_run", WHOLE, NULL, r->allocations, 0},
        {"noise_pct", REAL, NULL, 0, 100 * r->noise},
        {"incomplete", WHOLE, NULL, !r->timing.is_complete, 0},
    };
    for (size_t i = 0; i < COLUMNS; i++)
        c[i] = row[i];
    return COLUMNS;
}

void takt_bench_jsonl(takt_text *text, const takt_bench *b)
{
    cell c[COLUMNS];
    for (size_t i = 0; i < b->count; i++) {
        takt_json_writer w;
        takt_json_begin(&w, text, false);
        takt_json_open(&w, '{');
        const size_t count = cells(b, &b->rows[i], c);
        for (size_t k = 0; k < count; k++) {
            takt_json_key(&w, c[k].name);
            if (c[k].kind == TEXT)
                takt_json_string(&w, c[k].text);
            else if (c[k].kind == WHOLE)
                takt_json_unsigned(&w, c[k].whole);
            else
                takt_json_number(&w, c[k].real);
        }
        takt_json_close(&w, '}');
        takt_text_put(text, "\n", 1);
    }
}

/* RFC 4180: quoted if need be, quotes doubled. */
static void csv_text(takt_text *text, const char *value)
{
    takt_text_put(text, "\"", 1);
    for (; *value != '\0'; value++) {
        if (*value == '"')
            takt_text_put(text, "\"", 1);
        takt_text_put(text, value, 1);
    }
    takt_text_put(text, "\"", 1);
}

static void plain(takt_text *text, const cell *c)
{
    if (c->kind == WHOLE)
        takt_text_add(text, "%llu", (unsigned long long)c->whole);
    else
        takt_text_add(text, "%.6g", c->real);
}

void takt_bench_csv(takt_text *text, const takt_bench *b)
{
    cell c[COLUMNS];
    for (size_t i = 0; i < b->count; i++) {
        const size_t count = cells(b, &b->rows[i], c);
        for (size_t k = 0; i == 0 && k < count; k++)
            takt_text_add(text, "%s%s", k > 0 ? "," : "", c[k].name);
        if (i == 0)
            takt_text_put(text, "\n", 1);
        for (size_t k = 0; k < count; k++) {
            takt_text_add(text, "%s", k > 0 ? "," : "");
            if (c[k].kind == TEXT)
                csv_text(text, c[k].text);
            else
                plain(text, &c[k]);
        }
        takt_text_put(text, "\n", 1);
    }
}

void takt_bench_md(takt_text *text, const takt_bench *b)
{
    takt_text_add(
        text,
        "| batch | threads | weights | median ms | 95 %% interval | p90 ms | p99 ms | samples/s "
        "| peak bytes | n |\n");
    takt_text_add(text, "|--:|--:|:--|--:|:-:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < b->count; i++) {
        const takt_bench_row *r = &b->rows[i];
        const takt_stats *s = &r->timing.stats;
        takt_text_add(
            text,
            "| %lld | %d | %s | %.4g | %.4g to %.4g | %s%.4g | %s%.4g | %.*f | %llu | %zu |\n",
            (long long)r->batch, r->threads, known(r->config.precision), s->median * 1e-6,
            s->median_ci.low * 1e-6, s->median_ci.high * 1e-6,
            s->percentiles[1].resolved ? "" : ">= ", s->percentiles[1].value * 1e-6,
            s->percentiles[3].resolved ? "" : ">= ", s->percentiles[3].value * 1e-6,
            takt_bench_rate(r) < 100 ? 2 : 0, takt_bench_rate(r),
            (unsigned long long)r->planned_peak, s->count);
    }
}
