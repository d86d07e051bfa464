/* convert.c - models and weights from one format into another. */
#include <string.h>
#include <sys/stat.h>

#include "tool.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static bool is_among(const char *path, const char *const *endings)
{
    for (; *endings != NULL; endings++)
        if (ends_with(path, *endings))
            return true;
    return false;
}

static int tell(const takt_tool *t, const char *from, const char *to)
{
    if (tool_on(t, TAKT_F_QUIET) || strcmp(to, TOOL_STDOUT) == 0)
        return TAKT_EXIT_OK;
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%s: from %s\n", to, from);
        return TAKT_EXIT_OK;
    }
    printf("{\"from\": ");
    tool_print_string(stdout, from);
    printf(", \"file\": ");
    tool_print_string(stdout, to);
    printf("}\n");
    return TAKT_EXIT_OK;
}

static takt_convert_options parts(const takt_tool *t)
{
    return (takt_convert_options){.shard_bytes = tool_number_of(t, TAKT_F_SHARD_SIZE, 0)};
}

/* New parts may have the names of parts that were read. */
static int finish(const takt_tool *t, takt_status status)
{
    const char *spared = tool_spared(t);
    if (spared != NULL)
        return tool_usage_error(t, 1003, "write to another file or folder",
                                "%s is a file that was read for this, which would be written over",
                                spared);
    return tool_finish(t, status);
}

/* Only a model is given other weights; else the flags would do nothing. */
static int refuse_weights(const takt_tool *t, const char *from)
{
    static const tool_flag_id ids[] = {TAKT_F_WEIGHTS, TAKT_F_WEIGHT_RULES};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (tool_text_of(t, ids[i]) != NULL)
            return tool_usage_error(t, 1003, "write takt convert MODEL --weights F --map RULES",
                                    "--%s is for a model, and %s is converted without one",
                                    tool_flags[ids[i]].name, from);
    return TAKT_EXIT_OK;
}

/* How a text is to be computed is part of a graph; the other forms leave it to each call. */
static int refuse_settings(const takt_tool *t, const char *to)
{
    const char *name = tool_text_setting(t);
    return name == NULL ? TAKT_EXIT_OK
                        : tool_usage_error(t, 1003, "write -o NAME.taktp, or leave it out",
                                           "%s has no place for --%s", to, name);
}

static int convert_weights(takt_tool *t, const char *from, const char *to, bool makes_weights)
{
    const takt_convert_options options = parts(t);
    if (!makes_weights)
        return tool_usage_error(t, 1003, "write takt convert MODEL --weights WEIGHTS -o OUT",
                                "%s holds weights: they alone are not a model", from);
    if (tool_item_of(t, TAKT_F_DIM, 0) != NULL || tool_item_of(t, TAKT_F_SHAPE, 0) != NULL)
        return tool_usage_error(t, 1003, NULL, "-D and --shape are for models, %s holds weights",
                                from);
    const int code = refuse_weights(t, from);
    if (code != TAKT_EXIT_OK)
        return code;
    tool_spare_reads(t);
    return finish(t, takt_weights_convert(t->ctx, from, to, &options));
}

static int convert_model(takt_tool *t, const char *from, const char *to, bool makes_weights)
{
    int code = tool_refuse_settled(t);
    tool_sizes sizes;
    takt_model *model = code == TAKT_EXIT_OK ? tool_open_model(t, &code) : NULL;
    if (model == NULL)
        return code;
    code = TAKT_EXIT_USAGE;
    if (tool_sizes_init(t, model, &sizes)) {
        const takt_save_options options = {.source = from,
                                           .command = "takt convert",
                                           .sizes = sizes.length > 0 ? sizes.text : NULL};
        const takt_convert_options cut = parts(t);
        tool_spare_reads(t);
        code = finish(t, makes_weights ? takt_model_save_weights(model, to, &cut)
                                       : takt_model_save(model, to, &options));
    }
    takt_model_destroy(model);
    return code;
}

/* To GGUF: a language model from one form to another, without a graph between them. */
static int convert_text(takt_tool *t, const char *from, const char *to)
{
    size_t parts = 1;
    const takt_text_quantize_options options = {.size = sizeof options,
                                                .type = tool_text_of(t, TAKT_F_OUTTYPE),
                                                .shard_bytes =
                                                    tool_number_of(t, TAKT_F_SHARD_SIZE, 0),
                                                .shards = &parts};
    tool_spare_reads(t);
    tool_notes_begin(t);
    const takt_status status = takt_text_quantize(t->ctx, from, to, &options);
    tool_notes_end(t, status == TAKT_OK);
    const int code = finish(t, status);
    if (code != TAKT_EXIT_OK || parts < 2)
        return code == TAKT_EXIT_OK ? tell(t, from, to) : code;
    char name[4096];
    (void)snprintf(name, sizeof name, "%.*s-00001-of-%05zu.gguf", (int)strlen(to) - 5, to, parts);
    return tell(t, from, name);
}

/* Whether the output is a folder: it ends with a slash, or exists. */
static bool is_folder(const char *path)
{
    struct stat s;
    return ends_with(path, "/") || (stat(path, &s) == 0 && S_ISDIR(s.st_mode));
}

static int convert_to_folder(takt_tool *t, const char *from, const char *to)
{
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", to);
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
        folder[n - 1] = '\0';
    if (tool_text_of(t, TAKT_F_SHARD_SIZE) != NULL)
        return tool_usage_error(t, 1003, NULL, "--shard-size is not for folders");
    mkdir(folder, 0777); /* may exist; if not writable, creating the file fails */
    tool_spare_reads(t);
    tool_notes_begin(t);
    const takt_status status =
        takt_text_unpack(t->ctx, from, folder, tool_text_of(t, TAKT_F_OUTTYPE));
    tool_notes_end(t, status == TAKT_OK);
    const int code = finish(t, status);
    return code == TAKT_EXIT_OK ? tell(t, from, to) : code;
}

/* Datalog is rules, and stays text. */
static int convert_rules(takt_tool *t, const char *from, const char *to)
{
    if (!ends_with(to, ".takt"))
        return tool_usage_error(t, 1003, "write -o NAME.takt", "%s holds rules, which are text",
                                from);
    tool_spare_reads(t);
    const int code = finish(t, takt_datalog_convert(t->ctx, from, to));
    return code == TAKT_EXIT_OK ? tell(t, from, to) : code;
}

static int run(takt_tool *t)
{
    static const char *const weights[] = {".safetensors", ".npz", ".npy", ".index.json", NULL};
    static const char *const models[] = {".onnx", ".takt", ".taktp", ".tflite", NULL};
    const char *to = tool_text_of(t, TAKT_F_CONVERTED);
    const char *from = tool_text_of(t, TAKT_F_MODEL);
    bool holds_weights = false;
    from = from != NULL ? from : t->args[0];
    if (to == NULL)
        return tool_usage_error(t, 1003, "write takt convert IN -o OUT",
                                "there is no file to write to");
    to = strcmp(to, "-") == 0 ? TOOL_STDOUT : to;
    const bool is_rules = ends_with(from, ".dl"), is_text = ends_with(to, ".gguf");
    if (is_rules || is_text || (strcmp(to, TOOL_STDOUT) != 0 && is_folder(to))) {
        int code = refuse_weights(t, from);
        if (code == TAKT_EXIT_OK)
            code = refuse_settings(t, to);
        return code != TAKT_EXIT_OK ? code
               : is_rules           ? convert_rules(t, from, to)
               : is_text            ? convert_text(t, from, to)
                                    : convert_to_folder(t, from, to);
    }
    if (tool_text_of(t, TAKT_F_OUTTYPE) != NULL)
        return tool_usage_error(t, 1003, NULL,
                                "--outtype is for .gguf and folders, %s is another format", to);
    const bool makes_weights = is_among(to, weights);
    if (!makes_weights && !is_among(to, models))
        return tool_usage_error(
            t, 1003,
            "models: .onnx, .takt, .taktp, .tflite, .gguf; weights: .safetensors, .npz, .npy, "
            ".index.json",
            "the ending of %s names no format", to);
    if (tool_text_of(t, TAKT_F_SHARD_SIZE) != NULL && !ends_with(to, ".index.json"))
        return tool_usage_error(t, 1003, "write -o NAME.index.json",
                                "--shard-size is for weights in parts, %s is one file", to);
    struct stat s;
    const bool is_model = stat(from, &s) == 0 && S_ISDIR(s.st_mode);
    int code =
        is_model ? TAKT_EXIT_OK : tool_finish(t, takt_weights_probe(t->ctx, from, &holds_weights));
    if (code == TAKT_EXIT_OK)
        code = holds_weights ? convert_weights(t, from, to, makes_weights)
                             : convert_model(t, from, to, makes_weights);
    return code == TAKT_EXIT_OK ? tell(t, from, to) : code;
}

const takt_verb takt_verb_convert = {
    .name = "convert",
    .task = TAKT_TASK_MAKE,
    .is_main = true,
    .summary = "convert models and weights from one format to another",
    .arguments = "IN",
    .arg_min = 1,
    .arg_max = 1,
    .about = "The input format is detected from the contents, the output format from the\n"
             "extension: .onnx .takt .taktp .tflite for models, .safetensors .npz .npy and\n"
             ".index.json (weights in parts) for weights. A model written as weights gives its\n"
             "parameters. -o - prints a model as text, and - as IN reads standard input. Language\n"
             "models (GGUF files and Hugging Face folders) become .gguf, and GGUF files become\n"
             "folders (-o NAME/); --outtype sets the type of their matrices, --shard-size splits\n"
             "them into parts. Soufflé's plain Datalog (.dl) becomes rules in a .takt.",
    .example = "takt convert model.onnx -o model.takt",
    .often =
        (const tool_flag_id[]){TAKT_F_CONVERTED, TAKT_F_WEIGHTS, TAKT_F_DIM, TAKT_F_SHAPE,
                               TAKT_F_OUTTYPE, TAKT_F_SHARD_SIZE, TAKT_F_SELECT, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_CONVERTED, TAKT_F_INPUT,
              TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SHARD_SIZE, TAKT_F_OUTTYPE, TAKT_F_ALLOW_LINKS,
              TAKT_F_DENSE_LIMIT, TAKT_F_TEXT_CONTEXT, TAKT_F_ACTIVATIONS, TAKT_F_CACHE_TYPE_K,
              TAKT_F_CACHE_TYPE_V, TAKT_FLAG_IDS},
    .run = run,
};
