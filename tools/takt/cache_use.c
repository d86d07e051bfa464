/* cache_use.c - cache hits of a run: by perf, by cachegrind, or by a model. */
#include "cache_use.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"

enum { COUNTED_RUNS = 20, REASON = 200 };

/* Slowdown of cachegrind, and the longest that `auto` waits for it. */
static const double slowdown = 80, patience_ns = 10e9;

/* Flags that a simulated run needs to compute the same; the first three are those of sizes. */
enum { SIZE_FLAGS = 3 };
static const tool_flag_id carried[] = {TAKT_F_INPUT,       TAKT_F_SHAPE,       TAKT_F_DIM,
                                       TAKT_F_SELECT,      TAKT_F_WEIGHTS,     TAKT_F_WEIGHT_RULES,
                                       TAKT_F_ALLOW_LINKS, TAKT_F_DENSE_LIMIT, TAKT_F_SEED,
                                       TAKT_F_MAX_RAM,     TOOL_PLAN_FLAGS,    TAKT_FLAG_IDS};

bool tool_cache_flag(const takt_tool *t)
{
    static const char *const words[] = {"auto", "perf", "cachegrind", "model"};
    const char *word = tool_text_of(t, TAKT_F_COUNTERS);
    if (word == NULL)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    tool_usage_error(t, 1003, "there are auto, perf, cachegrind and model",
                     "--counters %s is not a source of cache figures", word);
    return false;
}

static void note(tool_cache_job *j, const char *text)
{
    const size_t length = strlen(j->note);
    snprintf(j->note + length, sizeof j->note - length, "%s%.*s", length > 0 ? "; " : "", REASON,
             text);
}

/* ---- perf ---- */

/* The last level is left out where only L1 is counted, as on many Arm processors. */
static takt_status count_session(takt_session *s, takt_cache_use *use)
{
    takt_status status = takt_session_count(s, "l1-reads", COUNTED_RUNS, &use->accesses);
    if (status == TAKT_OK)
        status = takt_session_count(s, "l1-misses", COUNTED_RUNS, &use->l1_misses);
    if (status == TAKT_OK &&
        takt_session_count(s, "ll-misses", COUNTED_RUNS, &use->ll_misses) != TAKT_OK)
        use->ll_misses = -1;
    use->l1_misses = fmin(use->l1_misses, use->accesses);
    use->ll_misses = fmin(use->ll_misses, use->accesses);
    return status;
}

/* In a single-threaded session: the kernel counts only the calling thread. */
static takt_status measure(tool_cache_job *j, takt_cache_use *use)
{
    takt_plan *plan;
    takt_session *s = NULL;
    *use = (takt_cache_use){.source = "measured"};
    takt_status status = tool_try_plan(j->t, j->model, j->sizes, 1, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    if (status == TAKT_OK && j->fill(j->user, s) != TAKT_EXIT_OK)
        status = TAKT_ERR_ARGUMENT;
    if (status == TAKT_OK)
        status = count_session(s, use);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return status;
}

/* ---- cachegrind ---- */

/* "--D1=65536,8,64". The number of sets must be a power of two: as many as leave 8 ways or more. */
static void cache_option(char *to, size_t room, const char *name, uint64_t bytes)
{
    const uint64_t line = 64, lines = bytes / line;
    uint64_t sets = 1;
    while (lines / (2 * sets) >= 8)
        sets *= 2;
    snprintf(to, room, "--%s=%llu,%llu,%llu", name,
             (unsigned long long)(lines / sets * sets * line), (unsigned long long)(lines / sets),
             (unsigned long long)line);
}

/* Accesses, L1 misses and last-level misses of this many runs. */
static bool simulate_runs(const tool_cache_job *j, const tool_simulation *s, int runs,
                          double found[3])
{
    tool_buffer said = {0};
    const bool good = tool_simulate(j->t, s, runs, &said) &&
                      tool_simulated(&said, "D   refs:", &found[0]) &&
                      tool_simulated(&said, "D1  misses:", &found[1]) &&
                      tool_simulated(&said, "LLd misses:", &found[2]);
    free(said.at);
    return good;
}

static bool simulate(tool_cache_job *j, takt_cache_use *use)
{
    char l1[64], ll[64];
    const char *options[] = {
        "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null", l1, ll, NULL};
    const tool_simulation s = {options, j->path, j->given,
                               j->given != NULL ? carried + SIZE_FLAGS : carried};
    double few[3], many[3];
    takt_cache_use model = j->modelled;
    cache_option(l1, sizeof l1, "D1", model.l1_bytes);
    cache_option(ll, sizeof ll, "LL", model.ll_bytes);
    if (model.l1_bytes < 4096 || model.ll_bytes < model.l1_bytes) {
        model.l1_bytes = model.ll_bytes = 0; /* unknown: valgrind's defaults */
        options[3] = NULL;
    }
    if (!simulate_runs(j, &s, TOOL_FEW_RUNS, few) || !simulate_runs(j, &s, TOOL_MANY_RUNS, many))
        return false;
    const double runs = TOOL_MANY_RUNS - TOOL_FEW_RUNS;
    *use = (takt_cache_use){.source = "simulated",
                            .accesses = (many[0] - few[0]) / runs,
                            .l1_bytes = model.l1_bytes,
                            .ll_bytes = model.ll_bytes};
    use->l1_misses = fmin(fmax(0, (many[1] - few[1]) / runs), use->accesses);
    use->ll_misses = fmin(fmax(0, (many[2] - few[2]) / runs), use->accesses);
    return use->accesses > 0;
}

static bool is_patient(const tool_cache_job *j)
{
    const double runs = TOOL_FEW_RUNS + TOOL_MANY_RUNS;
    return slowdown * (2 * j->made_ns + runs * j->run_ns) <= patience_ns;
}

static int no_cachegrind(const takt_tool *t)
{
    takt_error e = {.status = TAKT_ERR_UNSUPPORTED, .id = 8004, .offset = -1};
    snprintf(e.message, sizeof e.message,
             "cache hits cannot be simulated here: valgrind is not installed, or could not run "
             "the model");
    snprintf(e.hint, sizeof e.hint, "sudo apt install valgrind, or --counters model");
    return tool_report_error(t, &e);
}

/* ---- choosing ---- */

static takt_status choose(tool_cache_job *j, takt_cache_use *use)
{
    if (measure(j, use) == TAKT_OK)
        return TAKT_OK;
    note(j, takt_last_error_info(j->t->ctx)->message);
    if (!is_patient(j))
        note(j, "cachegrind would take more than 10 s: --counters cachegrind waits for it");
    else if (simulate(j, use))
        return TAKT_OK;
    else
        note(j, "valgrind is not installed, or could not run the model");
    *use = j->modelled;
    return TAKT_OK;
}

int tool_cache_use(tool_cache_job *j, takt_cache_use *use)
{
    const char *word = tool_text_of(j->t, TAKT_F_COUNTERS);
    takt_status status = TAKT_OK;
    j->note[0] = '\0';
    if (strcmp(word, "perf") == 0)
        status = measure(j, use);
    else if (strcmp(word, "model") == 0)
        *use = j->modelled;
    else if (strcmp(word, "auto") == 0)
        status = choose(j, use);
    else if (!simulate(j, use))
        return no_cachegrind(j->t);
    use->note = j->note;
    return tool_finish(j->t, status);
}

/* ---- profiles ---- */

static int bind_inputs(void *user, takt_session *s)
{
    tool_bench *b = user;
    return tool_bind_inputs(&b->run, s);
}

int tool_profile_cache(takt_tool *t, tool_bench *b, takt_profile *p)
{
    const char *path = tool_text_of(t, TAKT_F_MODEL);
    takt_profile_summary sum;
    takt_plan_info info;
    takt_cache_use use;
    tool_cache_job j = {.t = t,
                        .model = b->model,
                        .path = path != NULL ? path : t->args[0],
                        .sizes = b->run.sizes.text,
                        .made_ns = b->load_ns + b->plan_ns,
                        .fill = bind_inputs,
                        .user = b};
    if (tool_text_of(t, TAKT_F_COUNTERS) == NULL)
        return TAKT_EXIT_OK;
    takt_profile_summarize(p, &sum);
    takt_plan_query(b->plan, &info);
    j.run_ns = fmax(1, info.threads) * sum.latency.median;
    int code = tool_finish(t, takt_profile_model_cache(p, &j.modelled));
    if (code == TAKT_EXIT_OK)
        code = tool_cache_use(&j, &use);
    return code != TAKT_EXIT_OK ? code : tool_finish(t, takt_profile_set_cache(p, &use));
}
