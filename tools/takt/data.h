/* data.h - inputs from --data: samples along the first dimension. */
#ifndef TAKT_TOOL_DATA_H
#define TAKT_TOOL_DATA_H

#include "tool.h"

typedef struct tool_data {
    takt_known_input *at; /* one per input that has data */
    size_t count;
} tool_data;

/* Loads the set of --data; without the flag there is none. Returns an exit code. */
int tool_data_load(takt_tool *t, const takt_model *m, tool_data *d);
void tool_data_free(takt_tool *t, tool_data *d);

#endif
