/* model.c - shared by the verbs that work on a model: loading it, sizes, plans. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "media.h"
#include "train.h"

/* ---- loading ---- */

static int complain(void *user, const char *text, size_t length)
{
    takt_tool *t = user;
    tool_loaded(t);
    t->has_complained = true;
    if (!tool_on(t, TAKT_F_JSON))
        return fwrite(text, 1, length, stderr) != length;
    t->complaints = malloc(length + 1);
    if (t->complaints != NULL) {
        memcpy(t->complaints, text, length);
        t->complaints[length] = '\0';
    }
    return 0;
}

/* Inputs given on the command line, for models in which shapes depend on them. */
typedef struct known {
    takt_known_input at[64];
    char names[64][TOOL_NAME];
    size_t count;
    char *sizes; /* of -D; owned */
} known;

bool tool_read_shape(const char *text, int64_t *dims, int *rank)
{
    *rank = 0;
    for (const char *at = text; *at != '\0' && *rank < TAKT_MAX_RANK; (*rank)++) {
        char *end;
        dims[*rank] = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (dims[*rank] < 0 || (*end != '\0' && *end != 'x') || (*end == 'x' && end[1] == '\0'))
            return false;
        at = *end == 'x' ? end + 1 : end;
    }
    return true;
}

/* What follows the name, or NULL. */
static const char *name_known(known *k, const char *item, char mark)
{
    const char *rest =
        k->count < 64 ? tool_after_name(item, mark, mark == ':', k->names[k->count]) : NULL;
    for (size_t i = 0; rest != NULL && mark == '=' && i < k->count; i++)
        if (k->at[i].name != NULL && strcmp(k->at[i].name, k->names[k->count]) == 0)
            return NULL; /* of several files the first */
    if (rest != NULL)
        k->at[k->count].name = k->names[k->count];
    return rest;
}

static void free_known(const takt_tool *t, known *k)
{
    for (size_t i = 0; i < k->count; i++)
        takt_view_free(t->ctx, &k->at[i].view);
    free(k->sizes);
    free(k);
}

/* False: a file could not be read; the failure is the context's. */
static bool gather_known(const takt_tool *t, known *k)
{
    const char *item;
    k->sizes = tool_joined(t, TAKT_F_DIM);
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_INPUT, i)) != NULL; i++) {
        /* FILE alone is the only input; the roles of an archive's members are not known yet. */
        if (tool_is_media(item))
            continue; /* takes the model's sizes; does not set them */
        if (strchr(item, '=') == NULL && k->count == 0 && strstr(item, ".npz") == NULL) {
            if (takt_view_load(t->ctx, item, NULL, &k->at[0].view) != TAKT_OK)
                return false;
            k->count++;
            continue;
        }
        const char *path = name_known(k, item, '=');
        if (path == NULL)
            continue;
        takt_known_input *at = &k->at[k->count];
        if (takt_view_load(t->ctx, path, at->name, &at->view) != TAKT_OK)
            return false;
        k->count++;
    }
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_SHAPE, i)) != NULL; i++) {
        takt_tensor_view *v = &k->at[k->count < 64 ? k->count : 63].view;
        const char *shape = name_known(k, item, ':');
        if (shape == NULL || !tool_read_shape(shape, v->dims, &v->rank))
            continue;
        v->dtype = TAKT_DTYPE_COUNT;
        k->count++;
    }
    return true;
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t length = strlen(path), n = strlen(ending);
    return length > n && strcmp(path + length - n, ending) == 0;
}

/* What is written to a compiled model needs one weight in memory at a time. */
static bool may_be_late(const takt_tool *t, const char *path)
{
    struct stat about;
    const char *to = tool_text_of(t, TAKT_F_CONVERTED);
    if (to == NULL && strcmp(t->verb->name, "compile") == 0)
        to = tool_text_of(t, TAKT_F_MODEL_FILE);
    return to != NULL && ends_with(to, ".taktp") &&
           (ends_with(path, ".gguf") || ends_with(path, ".taktp") ||
            (stat(path, &about) == 0 && S_ISDIR(about.st_mode)));
}

/* Options for the reader of language models, if any. */
static const char *text_sizes(const takt_tool *t, const char *path, char *to, size_t room)
{
    const char *late = may_be_late(t, path) ? "weights=late" : "";
    const uint64_t context = tool_number_of(t, TAKT_F_TEXT_CONTEXT, 0);
    const char *k = tool_text_of(t, TAKT_F_CACHE_TYPE_K), *v = tool_text_of(t, TAKT_F_CACHE_TYPE_V);
    const char *activations = tool_text_of(t, TAKT_F_ACTIVATIONS);
    const bool is_int8 = activations != NULL && strcmp(activations, "int8") == 0;
    if (context == 0 && k == NULL && v == NULL && !is_int8)
        return *late != '\0' ? late : NULL;
    snprintf(to, room, "context=%llu,activations=%d,cache_k=%.20s,cache_v=%.20s%s%s",
             (unsigned long long)context, is_int8 ? 8 : 0, k != NULL ? k : "f32",
             v != NULL ? v : "f32", *late != '\0' ? "," : "", late);
    return to;
}

/* With the inputs that are known, if a shape depends on them. A first failure is silent: the second
 * attempt reports all errors. */
static takt_status load_model(takt_tool *t, const char *path, takt_load_options *options,
                              takt_model **model)
{
    char sizes[128];
    const char *told = text_sizes(t, path, sizes, sizeof sizes);
    options->sizes = told;
    tool_notes_begin(t);
    takt_status status = takt_model_load(t->ctx, path, options, model);
    /* Warnings about a text are reported even if it was read for no particular input. */
    tool_notes_end(t, status == TAKT_OK && ends_with(path, ".takt"));
    options->sizes = NULL;
    if (status == TAKT_OK) {
        tool_refit_given(t, path, options, model);
        return status;
    }
    options->complaint = complain;
    known *k = calloc(1, sizeof *k);
    if (k == NULL)
        return TAKT_ERR_MEMORY;
    if (gather_known(t, k)) {
        options->known = k->count > 0 ? k->at : NULL;
        options->known_count = k->count;
        options->sizes = k->sizes != NULL ? k->sizes : told;
        t->has_fixed_sizes = k->sizes != NULL;
        t->has_known = k->count > 0;
        tool_notes_begin(t);
        status = takt_model_load(t->ctx, path, options, model);
        tool_notes_end(t, status == TAKT_OK);
    } else {
        status = takt_last_error_info(t->ctx)->status;
    }
    free_known(t, k);
    return status;
}

const char *tool_model_path(const takt_tool *t)
{
    const char *path = tool_text_of(t, TAKT_F_MODEL);
    const bool is_placed = t->verb->task == TAKT_TASK_TEXT && t->arg_count > 0;
    return path != NULL && !is_placed ? path : t->args[0];
}

static takt_status load_weights(takt_tool *t, takt_model *model)
{
    const char *weights = tool_text_of(t, TAKT_F_WEIGHTS);
    if (weights == NULL)
        return TAKT_OK;
    tool_notes_begin(t);
    const takt_status status =
        takt_model_load_weights_by(model, weights, tool_text_of(t, TAKT_F_WEIGHT_RULES));
    tool_notes_end(t, status == TAKT_OK);
    return status;
}

static takt_model *finish_open(takt_tool *t, takt_status status, takt_model *model, int *code)
{
    if (status == TAKT_OK && tool_text_of(t, TAKT_F_WEIGHT_RULES) != NULL &&
        tool_text_of(t, TAKT_F_WEIGHTS) == NULL) {
        *code = tool_usage_error(t, 1003, "write --weights F --map RULES",
                                 "--map changes the names of --weights, and there are none");
        takt_model_destroy(model);
        return NULL;
    }
    if (status == TAKT_OK)
        status = load_weights(t, model);
    *code = tool_finish(t, status);
    if (status == TAKT_OK && tool_spares_reads(t))
        return model;
    if (status == TAKT_OK)
        *code = TAKT_EXIT_USAGE;
    takt_model_destroy(model);
    return NULL;
}

const char *tool_text_setting(const takt_tool *t)
{
    static const tool_flag_id ids[] = {TAKT_F_CACHE_TYPE_V, TAKT_F_CACHE_TYPE_K,
                                       TAKT_F_ACTIVATIONS};
    if (tool_number_of(t, TAKT_F_TEXT_CONTEXT, 0) > 0)
        return tool_flags[TAKT_F_TEXT_CONTEXT].name;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (tool_text_of(t, ids[i]) != NULL)
            return tool_flags[ids[i]].name;
    return NULL;
}

int tool_refuse_settled(const takt_tool *t)
{
    const char *path = tool_model_path(t), *name = tool_text_setting(t);
    return name == NULL || !ends_with(path, ".taktp")
               ? TAKT_EXIT_OK
               : tool_usage_error(t, 1003, "leave it out, or compile the model again with it",
                                  "%s is compiled: --%s is part of it", path, name);
}

/* What reads a .tflite or .onnx file computes with the scales of the .tflite file that was read. */
static bool keeps_scales(const takt_tool *t)
{
    static const char *const endings[] = {".tflite", ".onnx"};
    const char *converted = tool_text_of(t, TAKT_F_CONVERTED);
    const char *to = converted != NULL ? converted : tool_text_of(t, TAKT_F_MODEL_FILE);
    const size_t length = to != NULL ? strlen(to) : 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t n = strlen(endings[i]);
        if (length > n && strcmp(to + length - n, endings[i]) == 0)
            return true;
    }
    return false;
}

static takt_load_options load_options(takt_tool *t)
{
    return (takt_load_options){.model = tool_text_of(t, TAKT_F_SELECT),
                               .training = t->trains || tool_on(t, TAKT_F_TRAIN),
                               .complaint_user = t,
                               .allow_links = tool_on(t, TAKT_F_ALLOW_LINKS),
                               .map = tool_on(t, TAKT_F_MMAP),
                               .keep_scales = keeps_scales(t),
                               .dense_limit = tool_number_of(t, TAKT_F_DENSE_LIMIT, 0)};
}

/* "auto", or "auto=1024". */
static takt_model *grow(takt_tool *t, takt_model *model, int *code)
{
    const char *text = tool_text_of(t, TAKT_F_STATE_AUTO);
    takt_model *grown = NULL;
    uint64_t room = 512;
    const bool is_auto = strncmp(text, "auto", 4) == 0 &&
                         (text[4] == '\0' ||
                          (text[4] == '=' && tool_read_number(TAKT_FLAG_NUMBER, text + 5, &room)));
    if (is_auto)
        *code = tool_finish(
            t, takt_model_grow(model, room <= INT64_MAX ? (int64_t)room : INT64_MAX, &grown));
    else
        *code = tool_usage_error(t, 1003, "write --state auto, or --state auto=1024",
                                 "--state %s says nothing", text);
    takt_model_destroy(model);
    return grown;
}

static bool knows_activations(const takt_tool *t)
{
    const char *kind = tool_text_of(t, TAKT_F_ACTIVATIONS);
    return kind == NULL || strcmp(kind, "int8") == 0 || strcmp(kind, "f32") == 0;
}

/* A flag of training steps where the plan or the profile is that of inference; NULL: there is none.
 */
static const char *idle_flag(const takt_tool *t)
{
    static const tool_flag_id of_steps[] = {TAKT_F_OPTIMIZER, TAKT_F_LOSS, TAKT_F_AMP};
    const bool may_train =
        strcmp(t->verb->name, "plan") == 0 || strcmp(t->verb->name, "profile") == 0;
    for (size_t i = 0; may_train && !tool_on(t, TAKT_F_TRAIN) && i < 3; i++)
        if (tool_text_of(t, of_steps[i]) != NULL)
            return tool_flags[of_steps[i]].name;
    return NULL;
}

takt_model *tool_open_model(takt_tool *t, int *code)
{
    takt_model *model = NULL;
    takt_load_options options = load_options(t);
    if (idle_flag(t) != NULL) {
        *code = tool_usage_error(t, 1003, "write --train too: it takes the training step",
                                 "--%s is for training steps", idle_flag(t));
        return NULL;
    }
    if (!knows_activations(t)) {
        *code = tool_usage_error(t, 1003, NULL, "activations are f32 or int8, not %s",
                                 tool_text_of(t, TAKT_F_ACTIVATIONS));
        return NULL;
    }
    const takt_status status = load_model(t, tool_model_path(t), &options, &model);
    model = finish_open(t, status, model, code);
    if (model != NULL && tool_text_of(t, TAKT_F_STATE_AUTO) != NULL)
        model = grow(t, model, code);
    return model != NULL && tool_on(t, TAKT_F_TRAIN) ? tool_training_model(t, model, code) : model;
}

takt_model *tool_open_sized(takt_tool *t, int *code)
{
    tool_sizes sizes;
    takt_model *model = tool_open_model(t, code), *sized = NULL;
    if (model == NULL || t->has_fixed_sizes)
        return model;
    const bool is_good = tool_sizes_init(t, model, &sizes);
    if (is_good && sizes.length == 0)
        return model;
    *code = is_good ? tool_finish(t, takt_model_sized(model, sizes.text, &sized)) : TAKT_EXIT_USAGE;
    takt_model_destroy(model);
    return sized;
}

takt_model *tool_open_known(takt_tool *t, const takt_known_input *inputs, size_t count, int *code)
{
    takt_model *model = NULL;
    takt_load_options options = load_options(t);
    takt_status status = takt_model_load(t->ctx, tool_model_path(t), &options, &model);
    options.known = inputs;
    options.known_count = count;
    if (status == TAKT_OK) {
        tool_refit(t, tool_model_path(t), &options, &model);
    } else {
        options.complaint = complain;
        tool_notes_begin(t);
        status = takt_model_load(t->ctx, tool_model_path(t), &options, &model);
        tool_notes_end(t, status == TAKT_OK);
    }
    return finish_open(t, status, model, code);
}

/* To standard output; `user` records that there was output. */
static int print_report(void *user, const char *text, size_t length)
{
    *(bool *)user = true;
    return fwrite(text, 1, length, stdout) != length;
}

int tool_check_model(takt_tool *t)
{
    bool is_printed = false;
    known *k = calloc(1, sizeof *k);
    if (k == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    takt_status status = TAKT_OK;
    if (gather_known(t, k)) {
        takt_load_options options = load_options(t);
        options.known = k->count > 0 ? k->at : NULL;
        options.known_count = k->count;
        options.sizes = k->sizes;
        status = takt_model_check(t->ctx, tool_model_path(t), &options, tool_format_of(t),
                                  print_report, &is_printed);
    } else {
        status = takt_last_error_info(t->ctx)->status;
    }
    free_known(t, k);
    return status != TAKT_OK && is_printed ? TAKT_EXIT_FAILED : tool_finish(t, status);
}
