/* bench_measure.c - runs every combination of a benchmark, until it is done or interrupted. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "bench_job.h"
#include "signals.h"

/* A handler has no argument to find these by. */
static takt_session *volatile running;
static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    takt_session *s = running;
    (void)signal_number;
    is_interrupted = 1;
    if (s != NULL)
        takt_session_cancel(s);
}

static takt_status keep_part(void *user)
{
    bench_job *j = user;
    bench_keep(j);
    tool_progress_at(&j->progress, tool_now_ns() - j->progress.begun_ns);
    return TAKT_OK;
}

static int measure(bench_job *j, takt_plan *plan, int64_t batch, double plan_ns)
{
    int code;
    takt_bench_case c = j->usual;
    takt_session *s = tool_make_session(j->t, plan, &code);
    if (s == NULL)
        return code;
    if (!j->has_noted)
        tool_note_config(j->t, plan);
    j->has_noted = true;
    c.batch = batch;
    c.load_ns = j->load_ns;
    c.plan_ns = plan_ns;
    c.keep = keep_part;
    c.keep_user = j;
    code = tool_fill_inputs(j->t, s);
    if (code == TAKT_EXIT_OK) {
        running = s;
        j->progress = tool_progress_begin(j->t, "measuring", "", c.timing.max_ns);
        const takt_status status =
            is_interrupted ? TAKT_ERR_CANCELLED : takt_bench_add(j->bench, s, &c);
        tool_progress_end(&j->progress);
        running = NULL;
        if (is_interrupted)
            code = TAKT_EXIT_INTERRUPTED;
        else if (status != TAKT_OK && takt_session_error(s)->status == status)
            code = tool_report_error(j->t, takt_session_error(s));
        else
            code = tool_finish(j->t, status);
    }
    takt_session_destroy(s);
    return code;
}

/* The sizes of -D, --shape and -i, and this batch size. */
static bool sizes_for(bench_job *j, uint64_t batch, tool_sizes *sizes)
{
    const char *name = tool_batch_name(j->model);
    if (!tool_sizes_given(j->t, j->model, sizes))
        return false;
    if (batch == 0)
        return true;
    if (name != NULL)
        return tool_sizes_add(j->t, sizes, name, (int64_t)batch, "--batch-size");
    tool_usage_error(j->t, 1003, "its inputs have fixed sizes",
                     "the model has no dimension that --batch-size could mean");
    return false;
}

/* From any source: --batch-size, -D, --shape or a file. */
static int64_t batch_of(const bench_job *j, const tool_sizes *sizes)
{
    const char *name = tool_batch_name(j->model);
    const long long size = name != NULL ? tool_size_of(sizes, name) : -1;
    return size >= 0 ? size : 1;
}

/* Batch sizes of a list that do not fit into --memory-limit are left out. */
static bool is_too_large(bench_job *j, takt_status status, uint64_t batch)
{
    if (j->batch_count < 2 || status != TAKT_ERR_LIMIT ||
        takt_last_error_info(j->t->ctx)->id != 4002)
        return false;
    fprintf(stderr, "note: batch %llu does not fit into --memory-limit\n",
            (unsigned long long)batch);
    j->left_out++;
    return true;
}

/* Several streams share the processors, so each has one thread by default. */
static takt_status plan_for(bench_job *j, const char *sizes, uint64_t threads, takt_plan **plan)
{
    if (threads == 0 && j->usual.scenario != TAKT_SINGLE_STREAM)
        threads = 1;
    return tool_try_plan(j->t, j->model, sizes, (int)threads, plan);
}

static int one(bench_job *j, uint64_t threads, uint64_t batch)
{
    tool_sizes sizes;
    int code;
    if (!sizes_for(j, batch, &sizes))
        return TAKT_EXIT_USAGE;
    const uint64_t start = tool_now_ns();
    takt_plan *plan;
    const takt_status status = plan_for(j, sizes.text, threads, &plan);
    if (status != TAKT_OK)
        return is_too_large(j, status, batch) ? TAKT_EXIT_OK : tool_planned(j->t, status);
    const double plan_ns = (double)(tool_now_ns() - start);
    const size_t before = takt_bench_count(j->bench);
    code = measure(j, plan, batch_of(j, &sizes), plan_ns);
    takt_plan_destroy(plan);
    if (code == TAKT_EXIT_OK && j->event != NULL && takt_bench_count(j->bench) > before)
        code = bench_count_events(j, before, sizes.text);
    if (code == TAKT_EXIT_OK && tool_text_of(j->t, TAKT_F_COUNTERS) != NULL &&
        takt_bench_count(j->bench) > before)
        code = bench_count_cache(j, before, sizes.text);
    return code;
}

/* After each of several cases. */
static void keep(bench_job *j, size_t asked)
{
    takt_bench_expect(j->bench, asked - j->left_out);
    const size_t count = takt_bench_count(j->bench);
    if (count > 0 && count < asked - j->left_out)
        bench_keep(j);
}

static int combinations(bench_job *j)
{
    const size_t threads = j->thread_count > 0 ? j->thread_count : 1;
    const size_t batches = j->batch_count > 0 ? j->batch_count : 1;
    const size_t asked = threads * batches * (j->precision_count > 0 ? j->precision_count : 1);
    takt_bench_expect(j->bench, asked);
    for (size_t i = 0; i < asked; i++) {
        const size_t thread = i / batches % threads, batch = i % batches;
        if (j->precision_count > 0 &&
            !tool_replace(j->t, TAKT_F_PRECISION, j->precisions[i / batches / threads]))
            return tool_finish(j->t, TAKT_ERR_MEMORY);
        const int code = one(j, j->thread_count > 0 ? j->threads[thread] : 0,
                             j->batch_count > 0 ? j->batches[batch] : 0);
        if (code != TAKT_EXIT_OK)
            return code;
        keep(j, asked);
    }
    if (takt_bench_count(j->bench) > 0)
        return TAKT_EXIT_OK;
    return tool_report_error(j->t, takt_last_error_info(j->t->ctx)); /* no batch size fits */
}

int bench_measure_all(bench_job *j, uint64_t processes)
{
    tool_signals signals;
    tool_signals_catch(&signals, interrupt);
    const int code =
        processes > 1 ? bench_measure_processes(j, processes, &is_interrupted) : combinations(j);
    tool_signals_restore(&signals);
    return code;
}
