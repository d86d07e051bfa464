/* compile.c - a model into a compiled file, which loads without parsing and is checked to the last
 * bit. */
#include <string.h>

#include "tool.h"

enum { MOST_READS = 32 };
enum { TAKT_WEIGHT_RANGE = 4006 }; /* the id of weights beyond f16 */

/* The effect of --precision on results; none for a model that cannot run on random inputs. */
typedef struct loss {
    takt_deviation deviation;
    bool is_known;
    char why[256]; /* it is not */
} loss;

/* False if the model could not run at all with its weights in so few bits. */
static bool measure(takt_tool *t, const takt_model *model, const tool_sizes *sizes, loss *l)
{
    *l = (loss){0};
    if (!tool_deviates(t))
        return true;
    l->is_known = tool_deviation(t, model, sizes, NULL, &l->deviation) == TAKT_OK;
    const takt_error *error = takt_last_error_info(t->ctx);
    if (!l->is_known)
        snprintf(l->why, sizeof l->why, "%.250s", error->message);
    return l->is_known || error->id != TAKT_WEIGHT_RANGE;
}

/* `emit`: other output, or NULL. */
static int tell(takt_tool *t, const takt_model *model, const loss *l, const char *to,
                const char *emit)
{
    if (tool_on(t, TAKT_F_QUIET))
        return TAKT_EXIT_OK;
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%s: %s\n", to, takt_model_name(model));
        if (emit != NULL)
            printf("%s: %s, optimised\n", emit, takt_model_name(model));
        if (l->is_known)
            tool_print_deviation(t, &l->deviation, stdout);
        else if (tool_deviates(t))
            printf("the error against f32 was not measured: %s\n", l->why);
        return TAKT_EXIT_OK;
    }
    printf("{\"model\": ");
    tool_print_string(stdout, takt_model_name(model));
    printf(", \"file\": ");
    tool_print_string(stdout, to);
    if (emit != NULL) {
        printf(", \"emitted\": ");
        tool_print_string(stdout, emit);
    }
    if (l->is_known)
        tool_json_deviation(&l->deviation);
    printf("}\n");
    return TAKT_EXIT_OK;
}

/* Inputs whose values the model was read with: their files are part of its lineage. */
static size_t add_frozen(const takt_tool *t, char *command, size_t size, const char **reads)
{
    const char *item;
    char input[TOOL_NAME];
    size_t count = reads[0] != NULL ? 1 : 0;
    for (size_t i = 0; t->has_known && (item = tool_item_of(t, TAKT_F_INPUT, i)) != NULL; i++) {
        const char *path = tool_after_name(item, '=', false, input);
        if (path == NULL || count == MOST_READS)
            continue;
        const size_t length = strlen(command);
        const char *slash = strrchr(path, '/');
        snprintf(command + length, size - length, " -i %.100s=%.200s", input,
                 slash != NULL ? slash + 1 : path);
        reads[count++] = path;
    }
    return count;
}

static int save(takt_tool *t, const takt_model *model)
{
    const char *to = tool_text_of(t, TAKT_F_MODEL_FILE), *emit = tool_text_of(t, TAKT_F_EMIT);
    const char *from = tool_text_of(t, TAKT_F_MODEL);
    tool_sizes sizes;
    if (to == NULL && emit == NULL)
        return tool_usage_error(t, 1003, "write takt compile MODEL -o m.taktp",
                                "there is no file to write to");
    if (to != NULL && strcmp(to, "-") == 0)
        return tool_usage_error(t, 1003, "write -o m.taktp",
                                "a compiled model goes to a file, which it replaces as a whole: "
                                "not to standard output");
    if ((to != NULL && !tool_model_ending(t, to)) || (emit != NULL && !tool_model_ending(t, emit)))
        return TAKT_EXIT_USAGE;
    if (!tool_sizes_init(t, model, &sizes))
        return TAKT_EXIT_USAGE;
    loss l;
    if (!measure(t, model, &sizes, &l))
        return tool_finish(t, TAKT_ERR_ARGUMENT);
    from = from != NULL ? from : t->args[0];
    char command[1024];
    const char *name = tool_text_of(t, TAKT_F_SELECT), *bits = tool_text_of(t, TAKT_F_PRECISION);
    snprintf(command, sizeof command, "takt compile%s%.200s%s%.20s",
             name != NULL ? " --select " : "", name != NULL ? name : "",
             bits != NULL ? " --precision " : "", bits != NULL ? bits : "");
    const char *reads[MOST_READS] = {tool_text_of(t, TAKT_F_WEIGHTS)};
    const size_t read_count = add_frozen(t, command, sizeof command, reads);
    takt_save_options options = {.source = from,
                                 .command = command,
                                 .reads = reads,
                                 .read_count = read_count,
                                 .sizes = sizes.length > 0 ? sizes.text : NULL,
                                 .precision = tool_text_of(t, TAKT_F_PRECISION)};
    int code = TAKT_EXIT_OK;
    if (to != NULL)
        code = tool_finish(t, takt_model_save(model, to, &options));
    options.optimize = true;
    if (code == TAKT_EXIT_OK && emit != NULL)
        code = tool_finish(t, takt_model_save(model, emit, &options));
    return code == TAKT_EXIT_OK
               ? tell(t, model, &l, to != NULL ? to : emit, to != NULL ? emit : NULL)
               : code;
}

static int run(takt_tool *t)
{
    int code = tool_refuse_settled(t);
    takt_model *model = code == TAKT_EXIT_OK ? tool_open_model(t, &code) : NULL;
    if (model == NULL)
        return code;
    code = save(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_compile = {
    .name = "compile",
    .task = TAKT_TASK_MAKE,
    .is_main = true,
    .summary = "write a model and its weights into one checked file",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "A .taktp file holds the graph, aligned weights and their lineage, with checksums\n"
             "over every byte. Every verb accepts it in place of its source. -o writes the model\n"
             "as it is, in the format of the file's extension: .taktp, .onnx or .takt. --emit\n"
             "writes the optimised graph, with parameters as constants: as .onnx for any engine.\n"
             "--precision f16 or bf16 stores weights in half the bytes and reports the error\n"
             "against f32 on random inputs.",
    .example = "takt compile examples/cnn.takt -o cnn.taktp",
    .often = (const tool_flag_id[]){TAKT_F_MODEL_FILE, TAKT_F_EMIT, TAKT_F_PRECISION,
                                    TAKT_F_WEIGHTS, TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_SELECT,
                                    TAKT_F_STATE_AUTO, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_MODEL_FILE, TAKT_F_EMIT,
              TAKT_F_INPUT, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_PRECISION, TAKT_F_ALLOW_LINKS,
              TAKT_F_DENSE_LIMIT, TAKT_F_STATE_AUTO, TAKT_F_TEXT_CONTEXT, TAKT_F_ACTIVATIONS,
              TAKT_F_CACHE_TYPE_K, TAKT_F_CACHE_TYPE_V, TAKT_FLAG_IDS},
    .run = run,
};
