/* input.c - a value that the caller passes to each run. */
#include "ir/graph.h"
#include "ir/leaves.h"

enum { NAME, TYPE };

static takt_status infer(takt_infer *in)
{
    in->out[0] = *in->attr[TYPE].type;
    return TAKT_OK;
}

const takt_op takt_op_input = {
    .name = "input",
    .summary = "a value given by the caller for each run",
    .attrs = {[NAME] = {.name = "name",
                        .type = TAKT_ATTR_STRING,
                        .is_required = true,
                        .summary = "what the caller calls it"},
              [TYPE] = {.name = "type",
                        .type = TAKT_ATTR_TYPE,
                        .is_required = true,
                        .summary = "element type and dimensions; names of dimensions are free"}},
    .traits = TAKT_PRIMITIVE | TAKT_LEAF,
    .infer = infer,
    .no_gradient = "it has no input",
};
