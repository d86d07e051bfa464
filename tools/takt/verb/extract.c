/* extract.c - the part of a model between named values, as a separate model. */
#include <stdlib.h>

#include "tool.h"

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_sized(t, &code), *part = NULL;
    if (model == NULL)
        return code;
    char *from = tool_joined(t, TAKT_F_FROM), *to = tool_joined(t, TAKT_F_TO);
    code = tool_finish(t, takt_model_extract(model, from, to, &part));
    /* With only names given, only names are printed; megabytes of weights would hide them. */
    const bool lists = from == NULL && to == NULL && tool_text_of(t, TAKT_F_MODEL_FILE) == NULL;
    if (part != NULL)
        code = lists ? tool_print_model(t, part, true) : tool_write_model(t, part, "takt extract");
    free(from);
    free(to);
    takt_model_destroy(part);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_extract = {
    .name = "extract",
    .task = TAKT_TASK_MAKE,
    .summary = "cut a model at named values",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about =
        "Without --from, --to and -o, prints the whole model with the name of every value and\n"
        "large constants shortened; a layer's name stands for its last value. The part is\n"
        "printed as text, or written to -o: .takt (text), .taktp (compiled) or .onnx. Parts\n"
        "that run in order, each with the results of the previous one as inputs, give the\n"
        "bits of the whole, unless a licensed pass would work across the cut (a batch norm\n"
        "folded into a convolution).",
    .example = "takt extract examples/mlp.takt --to dense_0 -o first.takt",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_FROM, TAKT_F_TO, TAKT_F_MODEL_FILE, TAKT_F_SHAPE,
              TAKT_F_DIM, TAKT_FLAG_IDS},
    .run = run,
};
