/* facts.h - proofs of facts: the flags --fact and --why-not of `takt explain`. */
#ifndef TAKT_TOOL_FACTS_H
#define TAKT_TOOL_FACTS_H

#include "tool.h"

/* Runs the part that the fact depends on and prints its proof, or why it does not hold; the exit
 * code. */
int tool_explain_fact(takt_tool *t, const takt_model *model);

#endif
