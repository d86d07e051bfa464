/* doctor.c - checks the causes of slow runs, high memory use or low rates, measuring each. */
#include "doctor.h"

#include <stdlib.h>

/* First the causes that spoil everything else (a busy machine, a leak), then the largest gain. */
static int by_gain(const void *a, const void *b)
{
    const double x = ((const tool_finding *)a)->gain, y = ((const tool_finding *)b)->gain;
    const double u = x == -1 ? 2 : x < 0 ? 0 : x, v = y == -1 ? 2 : y < 0 ? 0 : y;
    return (u < v) - (u > v);
}

static bool is_cause(const tool_finding *f)
{
    return f->gain >= 0.05 || f->gain == -1;
}

static void print_json(const tool_patient *p)
{
    printf("{\"schema\": \"takt-doctor/1\", \"median_ms\": %.6g, \"peak_bytes\": %llu, "
           "\"findings\": [",
           p->run_ns * 1e-6, (unsigned long long)p->info.peak);
    for (size_t i = 0; i < p->count; i++) {
        const tool_finding *f = &p->findings[i];
        printf("%s\n  {\"cause\": ", i > 0 ? "," : "");
        tool_print_string(stdout, f->cause);
        printf(", \"is_cause\": %s, \"figure\": ", is_cause(f) ? "true" : "false");
        tool_print_string(stdout, f->figure);
        printf(", \"remedy\": ");
        tool_print_string(stdout, f->remedy);
        if (f->gain == -1)
            printf(", \"gain_pct\": null}");
        else
            printf(", \"gain_pct\": %.4g}", 100 * (f->gain > 0 ? f->gain : 0));
    }
    printf("\n]}\n");
}

static void print_text(const tool_patient *p)
{
    size_t causes = 0;
    char time[TAKT_TIME_TEXT];
    printf("a run takes %s with %d thread%s and %.4g MB\n", tool_figure_time(p->run_ns, time),
           p->info.threads, p->info.threads > 1 ? "s" : "", (double)p->info.peak * 1e-6);
    for (size_t i = 0; i < p->count; i++) {
        const tool_finding *f = &p->findings[i];
        if (!is_cause(f))
            continue;
        printf("\n%zu. %s: %s\n   do: %s\n", ++causes, f->cause, f->figure, f->remedy);
        if (f->gain >= 0)
            printf("   gain: at most %.0f %%\n", 100 * f->gain);
        else
            printf("   gain: cannot be tried out from here\n");
    }
    if (causes == 0)
        printf("\nnothing was found that would save 5 %%\n");
    printf("\nnot the cause:\n");
    for (size_t i = 0; i < p->count; i++)
        if (!is_cause(&p->findings[i]))
            printf("  %s: %s\n", p->findings[i].cause, p->findings[i].figure);
}

static int look(tool_patient *p)
{
    const bool slow = tool_on(p->t, TAKT_F_SLOW), memory = tool_on(p->t, TAKT_F_HIGH_MEMORY);
    const bool rate = tool_on(p->t, TAKT_F_THROUGHPUT);
    if (slow || (!memory && !rate))
        tool_look_slow(p);
    if (memory)
        tool_look_memory(p);
    if (rate)
        tool_look_throughput(p);
    qsort(p->findings, p->count, sizeof *p->findings, by_gain);
    if (tool_on(p->t, TAKT_F_JSON))
        print_json(p);
    else
        print_text(p);
    return TAKT_EXIT_OK;
}

static int run(takt_tool *t)
{
    return tool_patient_examine(t, look);
}

const takt_verb takt_verb_doctor = {
    .name = "doctor",
    .task = TAKT_TASK_MEASURE,
    .is_main = true,
    .summary = "find out why a model is slow or large, by measurement",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "Plans and measures the model as the flags say, then with one setting changed at a\n"
             "time. A cause is whatever would save 5 % or more; the largest gain comes first.\n"
             "Inputs are random. Without --slow, --memory or --throughput: --slow.",
    .example = "takt doctor examples/mlp.takt --slow",
    .often = (const tool_flag_id[]){TAKT_F_SLOW, TAKT_F_HIGH_MEMORY, TAKT_F_THROUGHPUT,
                                    TAKT_F_DURATION, TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_THREADS,
                                    TAKT_F_BACKEND, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED, TAKT_F_THREADS, TOOL_PLAN_FLAGS, TAKT_F_SLOW,
              TAKT_F_HIGH_MEMORY, TAKT_F_THROUGHPUT, TAKT_F_DURATION, TAKT_FLAG_IDS},
    .run = run,
};
