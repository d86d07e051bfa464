/* write_model.c - writes models made by verbs: as text or compiled, to a file or to standard
 * output. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

static void tell(const takt_tool *t, const takt_model *model, const char *path)
{
    if (tool_on(t, TAKT_F_QUIET))
        return;
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%s: %s\n", path, takt_model_name(model));
        return;
    }
    printf("{\"model\": ");
    tool_print_string(stdout, takt_model_name(model));
    printf(", \"file\": ");
    tool_print_string(stdout, path);
    printf("}\n");
}

static bool ends_with(const char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);
    return n > k && strcmp(path + n - k, end) == 0;
}

bool tool_model_ending(const takt_tool *t, const char *path)
{
    if (ends_with(path, ".taktp") || ends_with(path, ".onnx") || ends_with(path, ".takt") ||
        ends_with(path, ".tflite"))
        return true;
    tool_usage_error(
        t, 1003,
        ".taktp is a compiled model, .onnx is for any engine, .tflite for LiteRT, .takt is "
        "text; weights alone are written by takt convert",
        "the ending of %s names no format of models", path);
    return false;
}

int tool_print_model(const takt_tool *t, const takt_model *model, bool shortened)
{
    tool_buffer text = {0};
    if (!tool_on(t, TAKT_F_JSON))
        return tool_finish(t, takt_model_print(model, shortened, tool_to_stdout, NULL));
    const int code = tool_finish(t, takt_model_print(model, shortened, tool_to_buffer, &text));
    if (code == TAKT_EXIT_OK && tool_to_buffer(&text, "", 1) == 0) {
        printf("{\"model\": ");
        tool_print_string(stdout, takt_model_name(model));
        printf(", \"text\": ");
        tool_print_string(stdout, text.at);
        printf("}\n");
    }
    free(text.at);
    return code;
}

int tool_write_model(takt_tool *t, const takt_model *model, const char *command)
{
    const char *path = tool_text_of(t, TAKT_F_MODEL_FILE);
    if (path == NULL || strcmp(path, "-") == 0)
        return tool_print_model(t, model, false);
    if (!tool_model_ending(t, path))
        return TAKT_EXIT_USAGE;
    const char *from = t->arg_count > 0 ? t->args[0] : tool_text_of(t, TAKT_F_MODEL);
    const bool is_file = from != NULL && strcmp(from, "-") != 0;
    const char *weights = tool_text_of(t, TAKT_F_WEIGHTS);
    const takt_save_options options = {.source = is_file ? from : NULL,
                                       .command = command,
                                       .reads = &weights,
                                       .read_count = weights != NULL ? 1 : 0};
    const int code = tool_finish(t, takt_model_save(model, path, &options));
    if (code == TAKT_EXIT_OK)
        tell(t, model, path);
    return code;
}
