/* benchmark_zoo.c - every model of the zoo, measured. */
#include "zoo.h"

const takt_verb takt_verb_benchmark_zoo = {
    .name = "benchmark-zoo",
    .task = TAKT_TASK_MEASURE,
    .summary = "measure time, memory and score of every model of the zoo",
    .arguments = "[--category C]",
    .about =
        "One sample, one thread, 8-bit integers. Shows whether the seed's bounds of 2 ms, 500\n"
        "per second and 100 KB are met, each by itself, and its claims next to the means.\n"
        "Chance is the score of an answer without a model.",
    .example = "takt benchmark zoo --category audio",
    .flags = {TAKT_F_CATEGORY, TAKT_FLAG_IDS},
    .run = tool_zoo_benchmark,
};
