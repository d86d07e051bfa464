/* state.c - the value that a slot has at the start of the run: a parameter, a cache, a counter. */
#include "ir/graph.h"
#include "ir/leaves.h"

enum { NAME, TYPE };

static takt_status infer(takt_infer *in)
{
    in->out[0] = *in->attr[TYPE].type;
    return TAKT_OK;
}

const takt_op takt_op_state = {
    .name = "state",
    .summary = "what a slot holds at the start of the run",
    .attrs = {[NAME] = {.name = "name",
                        .type = TAKT_ATTR_STRING,
                        .is_required = true,
                        .summary = "the slot's name"},
              [TYPE] = {.name = "type",
                        .type = TAKT_ATTR_TYPE,
                        .is_required = true,
                        .summary = "the slot's type"}},
    .traits = TAKT_PRIMITIVE | TAKT_LEAF,
    .infer = infer,
    .no_gradient = "it has no input",
    .no_bound = "its value depends on runs before",
};
