/* benchmark_all30.c - `takt benchmark zoo` under the name that seed 002 gives it. */
#include "zoo.h"

const takt_verb takt_verb_benchmark_all30 = {
    .name = "benchmark-all30",
    .task = TAKT_TASK_MEASURE,
    .summary = "the same as `takt benchmark zoo`",
    .arguments = "[--category C]",
    .about =
        "One sample, one thread, 8-bit integers. Shows whether the seed's bounds of 2 ms, 500\n"
        "per second and 100 KB are met, each by itself, and its claims next to the means.\n"
        "Chance is the score of an answer without a model.",
    .example = "takt benchmark all30 --category audio",
    .flags = {TAKT_F_CATEGORY, TAKT_FLAG_IDS},
    .run = tool_zoo_benchmark,
};
