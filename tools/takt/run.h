/* run.h - what a run consists of: the verb `run` and the files it reads and writes. */
#ifndef TAKT_TOOL_RUN_H
#define TAKT_TOOL_RUN_H

#include "tool.h"

typedef struct tool_run {
    takt_tool *t;
    const takt_model *model;
    takt_tensor_view *inputs; /* one per input of the model; data NULL: none from a file */
    size_t input_count;
    size_t random_count; /* inputs that are filled with random numbers */
    tool_sizes sizes;
    uint64_t *times_ns; /* one per run */
    size_t runs;
} tool_run;

/* Reads the files of -i; sizes of named dimensions follow from their shapes. */
int tool_load_inputs(tool_run *r);
void tool_free_inputs(tool_run *r);
/* Binds what was loaded and fills the rest with random numbers. */
int tool_bind_inputs(tool_run *r, takt_session *s);
/* Writes outputs where -o says. `*printed`: one of them went to standard output. */
int tool_save_outputs(tool_run *r, takt_session *s, bool *printed);
/* The result for people or programs. */
int tool_print_result(tool_run *r, takt_plan *plan, takt_session *s);

#endif
