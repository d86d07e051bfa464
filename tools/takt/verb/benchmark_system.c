/* benchmark_system.c - what this machine has and what it reaches. */
#include "measure.h"

static int run(takt_tool *t)
{
    takt_ceilings ceilings;
    const bool measured = tool_on(t, TAKT_F_MEASURE);
    if (measured) {
        const int code = tool_ceilings(t, true, &ceilings);
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return tool_finish(t, takt_machine_describe(t->ctx, measured ? &ceilings : NULL,
                                                tool_format_of(t), tool_to_stdout, NULL));
}

const takt_verb takt_verb_benchmark_system = {
    .name = "benchmark-system",
    .summary = "the machine: processor, caches, memory, limits, measured ceilings",
    .arguments = "",
    .arg_min = 0,
    .arg_max = 0,
    .about = "--measure times multiply-add peaks and the bandwidth of every cache level and of\n"
             "memory, on one thread and on all, in about a second, and keeps the figures.",
    .example = "takt benchmark system --specs",
    .flags = {TAKT_F_SPECS, TAKT_F_MEASURE, TAKT_FLAG_IDS},
    .run = run,
};
