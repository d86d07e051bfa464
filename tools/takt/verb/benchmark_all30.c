/* benchmark_all30.c - `takt benchmark zoo` under the name that seed 002 gives it. */
#include "zoo.h"

const takt_verb takt_verb_benchmark_all30 = {
    .name = "benchmark-all30",
    .task = TAKT_TASK_MEASURE,
    .summary = "the same as `takt benchmark zoo`",
    .arguments = "[--category C]",
    .about =
        "One sample, one thread, integers of 8 bits; whether the seed's bounds of 2 ms, 500 a\n"
        "second and 100 KB are met, each by itself, and its claims next to the means. Chance is\n"
        "what an answer without a model scores.",
    .example = "takt benchmark all30 --category audio",
    .flags = {TAKT_F_CATEGORY, TAKT_FLAG_IDS},
    .run = tool_zoo_benchmark,
};
