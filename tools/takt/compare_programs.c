/* compare_programs.c - two builds of Takt on one model, each run in a fresh process,
 * alternately. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "process.h"
#include "progress.h"
#include "signals.h"

/* A handler has no argument to find it by. */
static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

enum { LEAST_BLOCKS = 6, MOST_BLOCKS = 24, LEAST_KEPT = 4 };

typedef struct shift {
    compare_job *j;
    compare_side *side[2];
    char path[1024];
    double times[2][MOST_BLOCKS];
    size_t blocks;
} shift;

/* The median of one process, in nanoseconds. */
static int time_once(shift *s, int which, double *ns)
{
    static const tool_flag_id ours[] = {
        TAKT_F_BIN_A,  TAKT_F_BIN_B,    TAKT_F_FILE,   TAKT_F_FORMAT, TAKT_F_JSON,
        TAKT_F_QUIET,  TAKT_F_FAIL_ON,  TAKT_F_MARGIN, TAKT_F_MODELS, TAKT_F_RESULTS,
        TAKT_F_BLOCKS, TAKT_F_DURATION, TAKT_F_INJECT, TAKT_FLAG_IDS};
    tool_command c = {.stop = &is_interrupted};
    tool_buffer err = {0};
    takt_bench *bench = NULL;
    tool_command_add(&c, "%s", s->side[which]->program);
    tool_command_add(&c, "benchmark");
    tool_command_add(&c, "run");
    tool_command_add(&c, "--quiet");
    tool_command_add(&c, "--format=json");
    tool_command_add(&c, "--output=%s", s->path);
    tool_command_add(&c, "--duration=50ms");
    tool_command_again(&c, s->j->t, ours);
    int code = tool_spawn(&c, NULL, &err);
    tool_command_free(&c);
    if (is_interrupted != 0) {
        code = TAKT_EXIT_INTERRUPTED;
    } else if (code == 127 && access(s->side[which]->program, X_OK) != 0 &&
               strchr(s->side[which]->program, '/') != NULL) {
        code = tool_usage_error(s->j->t, 1003, "give the path of a takt that was built",
                                "%s cannot be run: %s", s->side[which]->program, strerror(errno));
    } else if (code != TAKT_EXIT_OK) {
        fprintf(stderr, "%s%s: status %d\n", err.at != NULL ? err.at : "", s->side[which]->program,
                code);
        code = TAKT_EXIT_FAILED;
    } else {
        code = tool_finish(s->j->t, takt_bench_load(s->j->t->ctx, s->path, &bench));
    }
    if (code == TAKT_EXIT_OK)
        *ns = takt_bench_timing(bench, 0)->stats.median;
    takt_run_config config;
    if (code == TAKT_EXIT_OK && takt_bench_config(bench, 0, &config))
        compare_keep_config(s->side[which], &config);
    takt_bench_destroy(bench);
    free(err.at);
    return code;
}

/* A B B A, then B A A B. */
static int one_block(shift *s)
{
    double sum[2] = {0, 0};
    for (int i = 0; i < 4; i++) {
        const int which = (i == 1 || i == 2) != (s->blocks % 2 != 0);
        double ns;
        const int code = time_once(s, which, &ns);
        if (code != TAKT_EXIT_OK)
            return code;
        sum[which] += ns / 2;
    }
    s->times[0][s->blocks] = sum[0];
    s->times[1][s->blocks++] = sum[1];
    return TAKT_EXIT_OK;
}

static int fight(shift *s, size_t other)
{
    const uint64_t begun = tool_now_ns();
    const uint64_t most = tool_number_of(s->j->t, TAKT_F_BLOCKS, MOST_BLOCKS);
    takt_timing t[2] = {{0}, {0}};
    takt_comparison c;
    uint64_t max_ns;
    if (!tool_duration(s->j->t, TAKT_F_DURATION, 10000000000, &max_ns))
        return TAKT_EXIT_USAGE;
    if (most > MOST_BLOCKS)
        return tool_usage_error(s->j->t, 1003, "--blocks 24, and a longer --duration",
                                "two programs are compared in at most %d blocks", MOST_BLOCKS);
    tool_progress progress = tool_progress_begin(s->j->t, "comparing", "", max_ns);
    while (s->blocks < most && (s->blocks < LEAST_BLOCKS || tool_now_ns() - begun < max_ns)) {
        const int code = one_block(s);
        tool_progress_at(&progress, tool_now_ns() - begun);
        if (code == TAKT_EXIT_INTERRUPTED && s->blocks >= LEAST_KEPT)
            break; /* the measurements until then are compared */
        if (code != TAKT_EXIT_OK)
            return code;
    }
    tool_progress_end(&progress);
    if (is_interrupted != 0)
        fprintf(stderr, "note: interrupted after %zu blocks\n", s->blocks);
    for (int i = 0; i < 2; i++) {
        t[i] = (takt_timing){.samples = s->times[i], .count = s->blocks, .is_complete = true};
        const int code = tool_finish(
            s->j->t, takt_stats_compute(s->j->t->ctx, s->times[i], s->blocks, &t[i].stats));
        if (code != TAKT_EXIT_OK)
            return code;
    }
    int code =
        tool_finish(s->j->t, takt_timing_compare(s->j->t->ctx, &t[0], &t[1], s->j->margin, &c));
    if (code == TAKT_EXIT_OK)
        code = compare_report(s->j, other, &c, &t[0], &t[1]);
    return is_interrupted != 0 && compare_is_verdict(code) ? TAKT_EXIT_INTERRUPTED : code;
}

int compare_programs(compare_job *j, size_t other)
{
    shift s = {.j = j, .side = {&j->sides[0], &j->sides[other]}};
    tool_signals signals;
    int code = TAKT_EXIT_FAILED;
    tool_signals_catch(&signals, interrupt);
    if (tool_temporary(j->t, s.path, sizeof s.path)) {
        code = fight(&s, other);
        unlink(s.path);
    }
    tool_signals_restore(&signals);
    return code;
}
