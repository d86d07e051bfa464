/* verify_data.h - `takt verify --data`. */
#ifndef TAKT_TOOL_VERIFY_DATA_H
#define TAKT_TOOL_VERIFY_DATA_H

#include "tool.h"

/* Counts and prints; `o` has all but the input. */
int verify_data(takt_tool *t, const takt_model *model, takt_verify_options *o);

#endif
