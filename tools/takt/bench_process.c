/* bench_process.c - the same benchmark in several fresh processes. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench_job.h"
#include "process.h"

/* Results that a process had when it was stopped, if any. */
static int take_part(bench_job *j, const char *path)
{
    takt_bench *part = NULL;
    struct stat found;
    if (stat(path, &found) == 0 && found.st_size > 0 &&
        takt_bench_load(j->t->ctx, path, &part) == TAKT_OK && takt_bench_count(part) > 0 &&
        takt_bench_timing(part, 0)->count > 0 && takt_bench_absorb(j->bench, part) != TAKT_OK)
        fputs("note: what the last process measured is left out\n", stderr);
    takt_bench_destroy(part);
    return TAKT_EXIT_INTERRUPTED;
}

static int one_process(bench_job *j, const char *path, const volatile sig_atomic_t *stop)
{
    static const tool_flag_id ours[] = {TAKT_F_REPEAT_PROCESS, TAKT_F_FILE,  TAKT_F_FORMAT,
                                        TAKT_F_JSON,           TAKT_F_QUIET, TAKT_F_METRICS,
                                        TAKT_FLAG_IDS};
    tool_command c = {.stop = stop};
    tool_buffer err = {0};
    takt_bench *part = NULL;
    char self[4096];
    tool_command_add(&c, "%s", tool_self(self, sizeof self));
    tool_command_add(&c, "benchmark");
    tool_command_add(&c, "run");
    tool_command_add(&c, "--repeat-process=1");
    tool_command_add(&c, "--quiet");
    tool_command_add(&c, "--format=json");
    tool_command_add(&c, "--output=%s", path);
    tool_command_add(&c, "--metrics=latency,throughput,memory%s", j->info.energy ? ",energy" : "");
    tool_command_again(&c, j->t, ours);
    int code = tool_spawn(&c, NULL, &err);
    tool_command_free(&c);
    if (*stop != 0) {
        free(err.at);
        return take_part(j, path);
    }
    if (code != TAKT_EXIT_OK && code != TAKT_EXIT_BUDGET && err.at != NULL)
        fputs(err.at, stderr);
    free(err.at);
    if (code != TAKT_EXIT_OK && code != TAKT_EXIT_BUDGET)
        return code < 0 ? TAKT_EXIT_FAILED : code;
    code = tool_finish(j->t, takt_bench_load(j->t->ctx, path, &part));
    if (code == TAKT_EXIT_OK)
        code = tool_finish(j->t, takt_bench_absorb(j->bench, part));
    takt_bench_destroy(part);
    return code;
}

int bench_measure_processes(bench_job *j, uint64_t processes, const volatile sig_atomic_t *stop)
{
    char path[1024], part[1040];
    int code = TAKT_EXIT_OK;
    if (!tool_temporary(j->t, path, sizeof path))
        return TAKT_EXIT_FAILED;
    for (uint64_t i = 0; i < processes && code == TAKT_EXIT_OK; i++) {
        if (truncate(path, 0) != 0) /* output of the last one */
            code = tool_cannot_write(j->t, path);
        else
            code = *stop != 0 ? TAKT_EXIT_INTERRUPTED : one_process(j, path, stop);
        takt_bench_set_incomplete(j->bench, code != TAKT_EXIT_OK || i + 1 < processes);
        if (code == TAKT_EXIT_OK && i + 1 < processes)
            bench_keep(j);
    }
    unlink(path);
    snprintf(part, sizeof part, "%s.part", path);
    unlink(part); /* of one that was killed */
    return code;
}
