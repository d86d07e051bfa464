/* model.c - what the verbs that work on a model share: loading it, sizes, plans. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* ---- loading ---- */

static int complain(void *user, const char *text, size_t length)
{
    takt_tool *t = user;
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

/* Inputs that the command line tells of, for models in which shapes depend on them. */
typedef struct known {
    takt_known_input at[64];
    char names[64][256];
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

static bool name_known(known *k, const char *item, char mark)
{
    const char *end = mark == ':' ? strrchr(item, ':') : strchr(item, '=');
    const size_t length = end != NULL ? (size_t)(end - item) : 0;
    if (k->count == 64 || length == 0 || length >= sizeof *k->names)
        return false;
    memcpy(k->names[k->count], item, length);
    k->names[k->count][length] = '\0';
    k->at[k->count].name = k->names[k->count];
    return true;
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
        /* FILE alone is the only input; which members of an archive are which nobody knows yet. */
        if (strchr(item, '=') == NULL && k->count == 0 && strstr(item, ".npz") == NULL) {
            if (takt_view_load(t->ctx, item, NULL, &k->at[0].view) != TAKT_OK)
                return false;
            k->count++;
            continue;
        }
        if (!name_known(k, item, '='))
            continue;
        const takt_known_input *at = &k->at[k->count];
        if (takt_view_load(t->ctx, strchr(item, '=') + 1, at->name, &k->at[k->count].view) !=
            TAKT_OK)
            return false;
        k->count++;
    }
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_SHAPE, i)) != NULL; i++) {
        takt_tensor_view *v = &k->at[k->count < 64 ? k->count : 63].view;
        if (!name_known(k, item, ':') ||
            !tool_read_shape(strrchr(item, ':') + 1, v->dims, &v->rank))
            continue;
        v->dtype = TAKT_DTYPE_COUNT;
        k->count++;
    }
    return true;
}

/* With the inputs that are known, if a shape depends on them. A first failure is silent: the second
 * try tells all that is wrong. */
static takt_status load_model(takt_tool *t, const char *path, takt_load_options *options,
                              takt_model **model)
{
    takt_status status = takt_model_load(t->ctx, path, options, model);
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
        options->sizes = k->sizes;
        t->has_fixed_sizes = k->sizes != NULL;
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
    return path != NULL ? path : t->args[0];
}

static takt_model *finish_open(takt_tool *t, takt_status status, takt_model *model, int *code)
{
    const char *weights = tool_text_of(t, TAKT_F_WEIGHTS);
    if (status == TAKT_OK && weights != NULL)
        status = takt_model_load_weights(model, weights);
    *code = tool_finish(t, status);
    if (status == TAKT_OK && tool_spares_reads(t))
        return model;
    if (status == TAKT_OK)
        *code = TAKT_EXIT_USAGE;
    takt_model_destroy(model);
    return NULL;
}

static takt_load_options load_options(takt_tool *t)
{
    return (takt_load_options){.model = tool_text_of(t, TAKT_F_SELECT),
                               .training = t->trains,
                               .complaint_user = t,
                               .allow_links = tool_on(t, TAKT_F_ALLOW_LINKS)};
}

takt_model *tool_open_model(takt_tool *t, int *code)
{
    takt_model *model = NULL;
    takt_load_options options = load_options(t);
    const takt_status status = load_model(t, tool_model_path(t), &options, &model);
    return finish_open(t, status, model, code);
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

/* To standard output; `user` is told that there was something. */
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

/* ---- sizes ---- */

long long tool_size_of(const tool_sizes *s, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = s->text; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return strtoll(at + length + 1, NULL, 10);
    return -1;
}

bool tool_sizes_add(const takt_tool *t, tool_sizes *s, const char *name, int64_t size,
                    const char *where)
{
    const long long old = tool_size_of(s, name);
    if (old >= 0 && old != size)
        tool_usage_error(t, 1003, NULL, "%s is %lld by %s, but %lld by what was said before", name,
                         (long long)size, where, old);
    if (old >= 0)
        return old == size;
    const size_t room = sizeof s->text - s->length;
    const int length = snprintf(s->text + s->length, room, "%s%s=%lld", s->length > 0 ? "," : "",
                                name, (long long)size);
    if (length < 0 || (size_t)length >= room) {
        tool_usage_error(t, 1003, NULL, "too many named dimensions");
        return false;
    }
    s->length += (size_t)length;
    return true;
}

static bool is_name(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ==
           '\0';
}

/* "x is f32[batch, 784]" */
static void describe(const takt_desc *d, char *text, size_t size)
{
    int at = snprintf(text, size, "%.60s is %s[", d->name, takt_dtype_name(d->dtype));
    for (int i = 0; i < d->rank && at > 0 && (size_t)at < size; i++) {
        const char *comma = i > 0 ? ", " : "";
        const size_t room = size - (size_t)at;
        at += d->dim_names[i] != NULL
                  ? snprintf(text + at, room, "%s%.30s", comma, d->dim_names[i])
                  : snprintf(text + at, room, "%s%lld", comma, (long long)d->dims[i]);
    }
    if (at > 0 && (size_t)at < size)
        snprintf(text + at, size - (size_t)at, "]");
}

bool tool_sizes_from(const takt_tool *t, tool_sizes *s, const takt_desc *d, int rank,
                     const int64_t *dims, const char *where)
{
    if (rank != d->rank) {
        char hint[200];
        describe(d, hint, sizeof hint);
        const size_t length = strlen(hint);
        if (rank == d->rank - 1 && (d->dim_names[0] != NULL || d->dims[0] == 1))
            snprintf(hint + length, sizeof hint - length, "; x[None] makes one sample a batch");
        tool_usage_error(t, 1003, hint, "input %s has %d dimensions, %s has %d", d->name, d->rank,
                         where, rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        const char *name = d->dim_names[i];
        if (name == NULL && d->dims[i] != dims[i]) {
            char hint[200];
            describe(d, hint, sizeof hint);
            tool_usage_error(t, 1003, hint, "dimension %d of input %s is %lld, in %s it is %lld", i,
                             d->name, (long long)d->dims[i], where, (long long)dims[i]);
            return false;
        }
        /* An expression such as 2*n is checked when the input is bound. */
        if (name != NULL && is_name(name) && !tool_sizes_add(t, s, name, dims[i], where))
            return false;
    }
    return true;
}

static const takt_desc *find_input(const takt_tool *t, const takt_model *m, const char *name)
{
    for (size_t i = 0; i < takt_model_input_count(m); i++)
        if (strcmp(takt_model_input(m, i)->name, name) == 0)
            return takt_model_input(m, i);
    char hint[128] = "it has no inputs at all";
    const char *names[64];
    size_t count = 0;
    for (; count < takt_model_input_count(m) && count < sizeof names / sizeof *names; count++)
        names[count] = takt_model_input(m, count)->name;
    const int nearest = takt_nearest(name, names, count);
    if (nearest >= 0)
        snprintf(hint, sizeof hint, "did you mean %.100s?", names[nearest]);
    else if (count > 0)
        snprintf(hint, sizeof hint, "its first one is %.100s", takt_model_input(m, 0)->name);
    tool_usage_error(t, 1002, hint, "the model has no input called %s", name);
    return NULL;
}

/* "x:32x784" */
static bool add_shape(const takt_tool *t, const takt_model *m, const char *text, tool_sizes *s)
{
    char name[256], where[300];
    int64_t dims[TAKT_MAX_RANK];
    int rank = 0;
    const char *colon = strrchr(text, ':');
    const size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    snprintf(where, sizeof where, "--shape %.250s", text);
    if (length == 0 || length >= sizeof name)
        return tool_usage_error(t, 1003, "write --shape x:32x784", "%s names no input", where),
               false;
    memcpy(name, text, length);
    name[length] = '\0';
    if (!tool_read_shape(colon + 1, dims, &rank))
        return tool_usage_error(t, 1003, "write --shape x:32x784", "%s is no shape", where), false;
    const takt_desc *d = find_input(t, m, name);
    return d != NULL && tool_sizes_from(t, s, d, rank, dims, where);
}

/* "batch=32" */
static bool add_dim(const takt_tool *t, const char *text, tool_sizes *s)
{
    char name[256];
    uint64_t size = 0;
    const char *equals = strchr(text, '=');
    const size_t length = equals != NULL ? (size_t)(equals - text) : 0;
    const bool is_digits =
        equals != NULL && equals[1] != '\0' && equals[1 + strspn(equals + 1, "0123456789")] == '\0';
    if (length == 0 || length >= sizeof name || !is_digits) {
        tool_usage_error(t, 1003, "write -D batch=32", "-D %s is not of the form NAME=SIZE", text);
        return false;
    }
    if (!tool_read_number(TAKT_FLAG_NUMBER, equals + 1, &size) || size > INT64_MAX) {
        tool_usage_error(t, 1003, "sizes are below 2^63", "-D %s: the size is too large", text);
        return false;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    return tool_sizes_add(t, s, name, (int64_t)size, "-D");
}

bool tool_sizes_init(const takt_tool *t, const takt_model *m, tool_sizes *s)
{
    const char *item;
    s->text[0] = '\0';
    s->length = 0;
    for (size_t i = 0; !t->has_fixed_sizes && (item = tool_item_of(t, TAKT_F_DIM, i)) != NULL; i++)
        if (!add_dim(t, item, s))
            return false;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_SHAPE, i)) != NULL; i++)
        if (!add_shape(t, m, item, s))
            return false;
    return tool_static_sizes(t, m, s);
}
