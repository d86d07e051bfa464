/* benchmark_system.c - the hardware of this machine, and its measured rates. */
#include "measure.h"

int tool_measure_system(takt_tool *t)
{
    takt_ceilings ceilings;
    takt_system_rates rates;
    int code = tool_ceilings(t, true, &ceilings);
    if (code == TAKT_EXIT_OK)
        code = tool_system_rates(t, true, &rates);
    if (code != TAKT_EXIT_OK)
        return code;
    return tool_finish(
        t, takt_system_describe(t->ctx, &ceilings, &rates, tool_format_of(t), tool_to_screen, t));
}

static int run(takt_tool *t)
{
    if (tool_on(t, TAKT_F_MEASURE))
        return tool_measure_system(t);
    return tool_finish(t,
                       takt_machine_describe(t->ctx, NULL, tool_format_of(t), tool_to_screen, t));
}

const takt_verb takt_verb_benchmark_system = {
    .name = "benchmark-system",
    .task = TAKT_TASK_MEASURE,
    .summary = "describe the machine: topology, memory, limits, GPUs, measured ceilings",
    .arguments = "",
    .arg_min = 0,
    .arg_max = 0,
    .about = "--measure measures the multiply-add peak of every type and instruction set, the\n"
             "bandwidth of every cache level and of memory, with one thread and with all, the\n"
             "disk, the loopback network, and how work scales with threads. It takes a few\n"
             "seconds; the figures are stored.",
    .example = "takt benchmark system --specs",
    .flags = {TAKT_F_SPECS, TAKT_F_MEASURE, TAKT_FLAG_IDS},
    .run = run,
};
