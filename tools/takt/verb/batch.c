/* batch.c - a model of one sample as a model of any number of them. */
#include "tool.h"

static int run(takt_tool *t)
{
    int code;
    const size_t first = tool_text_of(t, TAKT_F_MODEL) == NULL ? 1 : 0;
    const char *given = t->arg_count > first ? t->args[first] : "batch";
    char dim[TOOL_NAME];
    if (takt_name_read(given, "", dim, sizeof dim) == 0)
        return tool_usage_error(t, 1003, NULL, "%s is not a name of a dimension", given);
    if (dim[0] >= '0' && dim[0] <= '9') /* a valid name if quoted, but never intended */
        return tool_usage_error(t, 1003, "give it a name; `takt run -D NAME=8` then gives the size",
                                "%s is not a name of a dimension", dim);
    takt_model *model = tool_open_sized(t, &code), *batched = NULL;
    if (model == NULL)
        return code;
    code = tool_finish(t, takt_model_batch(model, dim, &batched));
    if (batched != NULL)
        code = tool_write_model(t, batched, "takt batch");
    takt_model_destroy(batched);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_batch = {
    .name = "batch",
    .task = TAKT_TASK_MAKE,
    .summary = "give a model of one sample a leading named dimension",
    .arguments = "MODEL [NAME]",
    .arg_min = 1,
    .arg_max = 2,
    .about = "All inputs and outputs, and states that depend on inputs, get a leading dimension\n"
             "called NAME (batch). Every sample gets the same bits as when it is computed alone.\n"
             "The model is printed as text, or written to -o: .takt (text), .taktp (compiled) or\n"
             ".onnx.",
    .example = "takt batch examples/kv.takt sessions -o many.takt",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_MODEL_FILE, TAKT_F_SHAPE, TAKT_F_DIM,
              TAKT_FLAG_IDS},
    .run = run,
};
