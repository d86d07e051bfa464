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

takt_model *tool_open_model(takt_tool *t, int *code)
{
    const char *path = tool_text_of(t, TAKT_F_MODEL);
    takt_model *model = NULL;
    const takt_load_options options = {
        .model = tool_text_of(t, TAKT_F_SELECT), .complaint = complain, .complaint_user = t};
    path = path != NULL ? path : t->args[0];
    *code = tool_finish(t, takt_model_load(t->ctx, path, &options, &model));
    return model;
}

/* ---- sizes ---- */

/* The size of `name` so far, or -1. */
static long long size_of(const tool_sizes *s, const char *name)
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
    const long long old = size_of(s, name);
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

bool tool_sizes_from(const takt_tool *t, tool_sizes *s, const takt_desc *d, int rank,
                     const int64_t *dims, const char *where)
{
    if (rank != d->rank) {
        tool_usage_error(t, 1003, NULL, "input %s has %d dimensions, %s has %d", d->name, d->rank,
                         where, rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        const char *name = d->dim_names[i];
        if (name == NULL && d->dims[i] != dims[i]) {
            tool_usage_error(t, 1003, NULL, "dimension %d of input %s is %lld, in %s it is %lld", i,
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
    if (takt_model_input_count(m) > 0)
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
    for (const char *at = colon + 1; *at != '\0' && rank < TAKT_MAX_RANK; rank++) {
        char *end;
        dims[rank] = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (dims[rank] < 0 || (*end != '\0' && *end != 'x') || (*end == 'x' && end[1] == '\0'))
            return tool_usage_error(t, 1003, "write --shape x:32x784", "%s is no shape", where),
                   false;
        at = *end == 'x' ? end + 1 : end;
    }
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
    if (length == 0 || length >= sizeof name ||
        !tool_read_number(TAKT_FLAG_NUMBER, equals + 1, &size) || size > INT64_MAX) {
        tool_usage_error(t, 1003, "write -D batch=32", "-D %s is not of the form NAME=SIZE", text);
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
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_DIM, i)) != NULL; i++)
        if (!add_dim(t, item, s))
            return false;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_SHAPE, i)) != NULL; i++)
        if (!add_shape(t, m, item, s))
            return false;
    return tool_static_sizes(t, m, s);
}
