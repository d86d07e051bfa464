/* bench_counter.c - instructions of a run: counted by the processor, else simulated by callgrind.
 */
#include <stdlib.h>

#include "bench_job.h"
#include "cache_use.h"
#include "simulate.h"

enum { COUNTED_RUNS = 20 };

/* Flags that a simulated run needs to compute the same. */
static const tool_flag_id carried[] = {
    TAKT_F_INPUT,  TAKT_F_WEIGHTS, TAKT_F_WEIGHT_RULES, TAKT_F_ALLOW_LINKS, TAKT_F_DENSE_LIMIT,
    TAKT_F_SELECT, TAKT_F_SEED,    TAKT_F_MAX_RAM,      TOOL_PLAN_FLAGS,    TAKT_FLAG_IDS};

/* "==123== Collected : 456789" for this many runs; 0 if callgrind did not finish. */
static double collected(const takt_tool *t, const tool_simulation *s, int runs)
{
    tool_buffer said = {0};
    double count = 0;
    if (!tool_simulate(t, s, runs, &said) || !tool_simulated(&said, "Collected :", &count))
        count = 0;
    free(said.at);
    return count;
}

double bench_simulate(takt_tool *t, const char *model, const char *sizes)
{
    static const char *const options[] = {"--tool=callgrind", "--callgrind-out-file=/dev/null",
                                          NULL};
    const tool_simulation s = {options, model, sizes, carried};
    const double few = collected(t, &s, TOOL_FEW_RUNS);
    const double many = few > 0 ? collected(t, &s, TOOL_MANY_RUNS) : 0;
    return many > few ? (many - few) / (TOOL_MANY_RUNS - TOOL_FEW_RUNS) : 0;
}

/* Counted by the processor; false: not available. */
static bool count_really(bench_job *j, const char *sizes, double *per_run)
{
    takt_plan *plan;
    takt_session *s = NULL;
    takt_status status = tool_try_plan(j->t, j->model, sizes, 1, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    if (status == TAKT_OK && tool_fill_inputs(j->t, s) == TAKT_EXIT_OK)
        status = takt_session_count(s, j->event, COUNTED_RUNS, per_run);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return status == TAKT_OK && *per_run > 0;
}

int bench_count_events(bench_job *j, size_t index, const char *sizes)
{
    double per_run = 0;
    const char *source = "measured";
    if (!count_really(j, sizes, &per_run)) {
        source = "simulated";
        per_run = bench_simulate(j->t, j->info.model, sizes);
    }
    if (per_run == 0) {
        takt_error e = {.status = TAKT_ERR_UNSUPPORTED, .id = 8004, .offset = -1};
        snprintf(e.message, sizeof e.message,
                 "%s cannot be counted here: the kernel grants no counter, and valgrind could not "
                 "run the model",
                 j->event);
        snprintf(e.hint, sizeof e.hint, "sudo apt install valgrind");
        return tool_report_error(j->t, &e);
    }
    return tool_finish(j->t, takt_bench_set_counter(j->bench, index, j->event, per_run, source));
}

/* ---- caches ---- */

static int fill(void *user, takt_session *s)
{
    return tool_fill_inputs(user, s);
}

int bench_count_cache(bench_job *j, size_t index, const char *sizes)
{
    takt_cache_use use;
    const takt_timing *t = takt_bench_timing(j->bench, index);
    tool_cache_job job = {.t = j->t,
                          .model = j->model,
                          .path = j->info.model,
                          .sizes = sizes,
                          .given = sizes,
                          .made_ns = j->load_ns,
                          .fill = fill,
                          .user = j->t};
    job.run_ns = takt_bench_threads(j->bench, index) * t->stats.median;
    int code = tool_finish(j->t, takt_bench_model_cache(j->bench, index, &job.modelled));
    if (code == TAKT_EXIT_OK)
        code = tool_cache_use(&job, &use);
    return code != TAKT_EXIT_OK ? code
                                : tool_finish(j->t, takt_bench_set_cache(j->bench, index, &use));
}
