/* benchmark_seeds.c - the figures that well-known guides claim, measured on this machine. */
#define _POSIX_C_SOURCE 200809L
#include "seeds.h"
#include "signals.h"

static int parts(seed_job *j)
{
    int (*const all[])(seed_job *) = {seed_times, seed_backends, seed_batching, seed_ladder,
                                      seed_metrics};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int code = all[i](j);
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return TAKT_EXIT_OK;
}

/* Figures mean nothing without the machine and the threads that they were measured on. */
static void heading(const seed_job *j)
{
    takt_cpu cpu;
    takt_cpu_caps(&cpu);
    const int threads = j->threads > 0 ? j->threads : cpu.threads;
    if (j->json) {
        printf("\"machine\": ");
        tool_print_string(stdout, cpu.model);
        printf(", \"threads\": %d, \"dtype\": \"f32\",\n", threads);
    } else {
        printf("  %s, %d thread%s, f32 where a row says nothing else\n", cpu.model, threads,
               threads == 1 ? "" : "s");
    }
}

static int run(takt_tool *t)
{
    seed_job j = {.t = t, .json = tool_on(t, TAKT_F_JSON)};
    const char *targets = tool_text_of(t, TAKT_F_TARGETS);
    j.threads = (int)tool_number_of(t, TAKT_F_THREADS, 0);
    if (!tool_duration(t, TAKT_F_DURATION, 200000000, &j.max_ns))
        return TAKT_EXIT_USAGE;
    int code = tool_ceilings(t, false, &j.ceilings);
    if (code != TAKT_EXIT_OK)
        return code;
    printf("%s", j.json ? "{" : "");
    heading(&j);
    tool_signals signals;
    tool_interrupts_catch(&signals);
    code = targets != NULL ? seed_targets(&j, targets) : parts(&j);
    tool_signals_restore(&signals);
    if (code == TAKT_EXIT_INTERRUPTED && targets == NULL) {
        printf(j.json ? "\"interrupted\": true,\n\"missed\": %zu}\n" : "\n", j.missed);
        fprintf(stderr, "note: interrupted: the rows are those that were measured until then\n");
    }
    if (code != TAKT_EXIT_OK)
        return code;
    if (j.json)
        printf(",\n\"missed\": %zu}\n", j.missed);
    return targets != NULL && j.missed > 0 ? TAKT_EXIT_BUDGET : TAKT_EXIT_OK;
}

const takt_verb takt_verb_benchmark_seeds = {
    .name = "benchmark-seeds",
    .task = TAKT_TASK_MEASURE,
    .summary = "measure the figures that the performance guides claim",
    .arguments = "",
    .arg_min = 0,
    .arg_max = 0,
    .about = "Prints next to each claim the minimum time that this machine's measured ceilings\n"
             "allow: no software can be faster here. With --targets, your own figures are used\n"
             "instead; exit status 4: one of them is not met.",
    .example = "takt benchmark seeds",
    .flags = {TAKT_F_TARGETS, TAKT_F_THREADS, TAKT_F_SEED, TAKT_F_DURATION, TAKT_FLAG_IDS},
    .run = run,
};
