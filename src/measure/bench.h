/* bench.h - a benchmark's result: where it was made, and what was measured. */
#ifndef TAKT_MEASURE_BENCH_H
#define TAKT_MEASURE_BENCH_H

#include <takt/counters.h>
#include <takt/load.h>
#include <takt/results.h>

#include "base/json.h"
#include "measure/ceilings.h"
#include "os/other_load.h"

typedef struct takt_bench_op {
    const char *name, *type, *bound;
    takt_bound limit; /* what `bound` says */
    double time_us, share, flops, bytes, percent;
} takt_bench_op;

/* The scenario, and costs other than time. */
typedef struct takt_bench_usage {
    takt_scenario_kind scenario;
    size_t streams, unanswered;
    double qps_asked, qps; /* of a load */
    takt_stats waiting;
    takt_peak peak;
    takt_slo slo; /* limit_ns 0: none */
    double slo_ns;
    bool slo_met;
    bool slo_sure;      /* there are enough times for that percentile */
    double cpu_pct;     /* of the processors that the process may use; < 0: unknown */
    double joules;      /* per run */
    const char *energy; /* the counter that was used; NULL: none */
    double events;      /* per run */
    const char *event, *source;
    takt_cache_use cache;    /* source NULL: not requested */
    takt_cache_use modelled; /* accesses 0: unknown */
    double *process_medians; /* nanoseconds; in the bench's arena */
    size_t processes;
    takt_interval process_ci; /* of their mean */
} takt_bench_usage;

typedef struct takt_bench_row {
    int64_t batch;
    int threads;
    takt_run_config config; /* in the bench's arena; NULL: unknown */
    takt_timing timing;
    takt_stats throughput; /* samples a second */
    double load_ns, plan_ns;
    uint64_t planned_peak, rss_delta, allocations;
    double live_mean, live_std; /* over the steps */
    double noise;               /* what A/A shows, as a part */
    takt_bench_op *ops;         /* in the bench's arena */
    size_t op_count;
    takt_bench_usage usage;
} takt_bench_row;

struct takt_bench {
    takt_ctx *ctx;
    takt_arena arena;
    const char *model, *model_sha256, *type, *timestamp, *fingerprint;
    const char *cpu, *memory, *os, *commit; /* of a result that was read */
    const char **command;
    size_t command_count;
    bool has_ceilings, latency, throughput, memory_usage, energy;
    int usable;     /* processors that the measuring process might use; 0: unknown */
    bool is_debug;  /* an unoptimised or instrumented build measured this */
    bool is_loaded; /* read from a file: it may be another machine */
    bool is_cut;    /* the file, or the program that measures, says that it is incomplete */
    takt_ceilings ceilings;
    takt_bench_row *rows;
    size_t count, capacity;
    size_t expected;                  /* requested cases; 0: unknown */
    takt_ticks ticks;                 /* when it was begun */
    takt_other_load others;           /* since then */
    uint64_t rss_before, peak_before; /* resident bytes at that point, and their peak up to it */
};

/* A new row at the end, zeroed. */
TAKT_MUST_USE takt_status takt_bench_push(takt_bench *b, takt_bench_row **row);
/* The worst of the rows, in percent; whether a row has times enough for an A/A comparison. */
double takt_bench_noise_pct(const takt_bench *b);
bool takt_bench_has_noise(const takt_bench *b);
/* The row with the most samples a second. */
size_t takt_bench_best(const takt_bench *b);

/* Samples a second, whatever the scenario. */
double takt_bench_rate(const takt_bench_row *r);
/* "batch 8, 2 threads", with the scenario where it is another than usual. */
void takt_bench_label(takt_text *text, const takt_bench_row *r);
/* Without optimisation, or with sanitizers. */
bool takt_build_is_debug(void);

void takt_bench_json(takt_json_writer *w, const takt_bench *b);
/* Keys of the result that come from `more`. */
void takt_bench_usage_json(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r);
void takt_bench_usage_read(takt_bench *b, const takt_json *results, takt_bench_row *r);
/* Lines for people: load, SLO, utilisation, energy, events, processes. */
void takt_bench_usage_text(takt_text *text, const takt_bench *b, const takt_bench_row *r);
void takt_bench_jsonl(takt_text *text, const takt_bench *b);
void takt_bench_csv(takt_text *text, const takt_bench *b);
void takt_bench_md(takt_text *text, const takt_bench *b);
void takt_bench_gbench(takt_json_writer *w, const takt_bench *b);
void takt_bench_html(takt_text *text, const takt_bench *b);

/* 'A' to 'D': from the A/A difference, stolen time and the load of other processes. Times of a busy
 * machine may agree with each other and still be wrong. */
char takt_noise_grade(double noise_pct, const takt_other_load *others);

/* The steps that make 80 % of the time, a line or two each. */
void takt_bottlenecks_text(const takt_bench *b, const takt_bench_row *r, bool with_remedies,
                           takt_text *text);
/* Passes a text on and frees it. */
TAKT_MUST_USE takt_status takt_bench_deliver(takt_ctx *ctx, takt_text *text, takt_sink_fn *sink,
                                             void *user);

#endif
