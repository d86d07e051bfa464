/* extract.c - the part of a model between named values, as a model of its own. */
#include <stdlib.h>

#include "tool.h"

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_model(t, &code), *part = NULL;
    if (model == NULL)
        return code;
    char *from = tool_joined(t, TAKT_F_FROM), *to = tool_joined(t, TAKT_F_TO);
    code = tool_finish(t, takt_model_extract(model, from, to, &part));
    if (part != NULL)
        code = tool_write_model(t, part, "takt extract");
    free(from);
    free(to);
    takt_model_destroy(part);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_extract = {
    .name = "extract",
    .summary = "cut a model at named values",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "Without --from and --to it prints the whole model, with the name of every value; a\n"
             "layer's name stands for its last value. The part is printed as text, or written to\n"
             "-o: as text (.takt), compiled (.taktp) or .onnx. Parts that run in order,\n"
             "each fed with the results of the one before, give the bits of the whole, unless a\n"
             "licensed pass would work across the cut (a batch norm folded into a convolution).",
    .example = "takt extract examples/mlp.takt --to dense_0 -o first.takt",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_FROM, TAKT_F_TO, TAKT_F_MODEL_FILE,
              TAKT_FLAG_IDS},
    .run = run,
};
