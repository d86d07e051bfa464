/* sizes.c - numbers for named dimensions, from -D, --shape and files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* ---- names in flags ---- */

const char *tool_after_name(const char *text, char mark, bool is_last, char name[TOOL_NAME])
{
    const char ends[] = {mark, '\0'};
    const char *at = is_last ? strrchr(text, mark) : strchr(text, mark);
    if (text[0] == '`') {
        const size_t length = takt_name_read(text, ends, name, TOOL_NAME);
        if (length > 0 && text[length - 1] == '`' && text[length] == mark)
            return text + length + 1;
    }
    if (at == NULL || at == text || (size_t)(at - text) >= TOOL_NAME)
        return NULL;
    memcpy(name, text, (size_t)(at - text));
    name[at - text] = '\0';
    return at + 1;
}

const char *tool_after(const char *text, char mark, const char *name)
{
    char own[TOOL_NAME];
    const char *rest = tool_after_name(text, mark, false, own);
    return rest != NULL && strcmp(own, name) == 0 ? rest : NULL;
}

/* ---- the text ---- */

const char *tool_sizes_next(const char *text, const char *before, size_t *length)
{
    const char *at = before == NULL ? text : before + *length;
    char name[TOOL_NAME];
    at += *at == ',';
    if (*at == '\0')
        return NULL;
    const size_t quoted = *at == '`' ? takt_name_read(at, "=", name, sizeof name) : 0;
    *length = quoted + strcspn(at + quoted, ",");
    return at;
}

/* "32", or the ends of "1..512". */
static bool ends_in(const char *item, const char *name, long long *low, long long *high)
{
    const size_t length = strlen(name);
    if (strncmp(item, name, length) != 0 || item[length] != '=')
        return false;
    char *end;
    *low = *high = strtoll(item + length + 1, &end, 10);
    if (strncmp(end, "..", 2) == 0)
        *high = strtoll(end + 2, NULL, 10);
    return true;
}

long long tool_size_in(const char *item, const char *name)
{
    long long low, high;
    return ends_in(item, name, &low, &high) ? high : -1;
}

long long tool_size_of(const tool_sizes *s, const char *name)
{
    size_t length = 0;
    long long size = -1;
    for (const char *at = NULL; (at = tool_sizes_next(s->text, at, &length)) != NULL && size < 0;)
        size = tool_size_in(at, name);
    return size;
}

bool tool_sizes_with(const char *sizes, const char *name, int64_t size, char text[TOOL_SIZES])
{
    size_t length = 0, used = 0;
    for (const char *at = NULL; (at = tool_sizes_next(sizes, at, &length)) != NULL;) {
        if (tool_size_in(at, name) >= 0)
            continue;
        if (used + length + 2 >= TOOL_SIZES)
            return false;
        used += (size_t)snprintf(text + used, TOOL_SIZES - used, "%.*s,", (int)length, at);
    }
    const int more = snprintf(text + used, TOOL_SIZES - used, "%s=%" PRId64, name, size);
    return more > 0 && used + (size_t)more < TOOL_SIZES;
}

static bool add_item(const takt_tool *t, tool_sizes *s, const char *name, int64_t low, int64_t high)
{
    const size_t room = sizeof s->text - s->length;
    const char *comma = s->length > 0 ? "," : "";
    const int length =
        low == high ? snprintf(s->text + s->length, room, "%s%s=%lld", comma, name, (long long)high)
                    : snprintf(s->text + s->length, room, "%s%s=%lld..%lld", comma, name,
                               (long long)low, (long long)high);
    if (length < 0 || (size_t)length >= room) {
        s->text[s->length] = '\0';
        tool_usage_error(t, 1003, NULL, "the sizes of named dimensions need more than %d bytes",
                         TOOL_SIZES);
        return false;
    }
    s->length += (size_t)length;
    return true;
}

/* A size that was given before must be equal, or inside the range. */
bool tool_sizes_add(const takt_tool *t, tool_sizes *s, const char *name, int64_t size,
                    const char *where)
{
    size_t length = 0;
    long long low = 0, high = 0;
    const char *at = NULL;
    while ((at = tool_sizes_next(s->text, at, &length)) != NULL && !ends_in(at, name, &low, &high))
        ;
    if (at == NULL)
        return add_item(t, s, name, size, size);
    if (size >= low && size <= high)
        return true;
    if (low == high)
        tool_usage_error(t, 1003, NULL, "%s is %lld by %s, but %lld by an earlier flag or file",
                         name, (long long)size, where, low);
    else
        tool_usage_error(t, 1003, "widen the range", "%s is %lld by %s, but in %lld..%lld by -D",
                         name, (long long)size, where, low, high);
    return false;
}

/* The item of `text` with this name; false: there is none. */
static bool find_item(const char *text, const char *name, long long *low, long long *high)
{
    size_t length = 0;
    for (const char *at = NULL; (at = tool_sizes_next(text, at, &length)) != NULL;)
        if (ends_in(at, name, low, high))
            return true;
    return false;
}

bool tool_sizes_widen(const takt_tool *t, tool_sizes *s, const tool_sizes *by)
{
    tool_sizes all = {.length = 0};
    size_t length = 0;
    for (const char *at = NULL; (at = tool_sizes_next(by->text, at, &length)) != NULL;) {
        char name[TOOL_NAME];
        long long low = 0, high = 0, l, h;
        size_t end = length; /* "`a=b`=3": the last one in it */
        while (end > 0 && at[end - 1] != '=')
            end--;
        if (end == 0 || end > sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)end - 1, at);
        ends_in(at, name, &low, &high);
        if (find_item(s->text, name, &l, &h)) {
            low = l < low ? l : low;
            high = h > high ? h : high;
        }
        if (!add_item(t, &all, name, low, high))
            return false;
    }
    *s = all;
    return true;
}

/* Whether a dimension's text is a name rather than an expression. */
static bool is_name(const char *text)
{
    char name[TOOL_NAME];
    return takt_name_read(text, " +-*/(,", name, sizeof name) == strlen(text);
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

/* A shape given for an input. */
typedef struct given {
    const takt_desc *d;
    const int64_t *dims;
    const char *where;
} given;

/* 2*n is 8, so n is 4. `is_last`: no later step will solve it. */
static bool add_expression(const takt_tool *t, tool_sizes *s, const given *g, int axis,
                           bool is_last)
{
    char name[TOOL_NAME] = "", hint[200];
    int64_t found;
    const char *text = g->d->dim_names[axis];
    const tool_solution solution = tool_solve(text, s, g->dims[axis], name, &found);
    if (solution == TOOL_SOLVED)
        return name[0] == '\0' || tool_sizes_add(t, s, name, found, g->where);
    if (solution == TOOL_UNSOLVED && !is_last)
        return true;
    describe(g->d, hint, sizeof hint);
    if (solution == TOOL_UNSOLVED)
        tool_usage_error(t, 1003, "give the sizes of its names with -D",
                         "dimension %d of input %s is %.300s: %s does not say which sizes that "
                         "means",
                         axis, g->d->name, text, g->where);
    else
        tool_usage_error(t, 1003, hint, "dimension %d of input %s is %.300s, which is not %lld",
                         axis, g->d->name, text, (long long)g->dims[axis]);
    return false;
}

static bool add_expressions(const takt_tool *t, tool_sizes *s, const given *g, bool is_last)
{
    for (int i = 0; i < g->d->rank; i++)
        if (g->d->dim_names[i] != NULL && !is_name(g->d->dim_names[i]) &&
            !add_expression(t, s, g, i, is_last))
            return false;
    return true;
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
        if (name != NULL && is_name(name) && !tool_sizes_add(t, s, name, dims[i], where))
            return false;
    }
    return add_expressions(t, s, &(given){d, dims, where}, false);
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
static bool add_shape(const takt_tool *t, const takt_model *m, const char *text, tool_sizes *s,
                      bool is_last)
{
    char name[TOOL_NAME], where[300];
    int64_t dims[TAKT_MAX_RANK];
    int rank = 0;
    const char *shape = tool_after_name(text, ':', true, name);
    snprintf(where, sizeof where, "--shape %.250s", text);
    if (shape == NULL)
        return tool_usage_error(t, 1003, "write --shape x:32x784", "%s names no input", where),
               false;
    if (!tool_read_shape(shape, dims, &rank))
        return tool_usage_error(t, 1003, "write --shape x:32x784", "%s is not a shape", where),
               false;
    const takt_desc *d = find_input(t, m, name);
    if (d == NULL || !tool_sizes_from(t, s, d, rank, dims, where))
        return false;
    return !is_last || add_expressions(t, s, &(given){d, dims, where}, true);
}

/* The end of the digits at `text`, or NULL if there are none. */
static const char *read_size(const char *text, int64_t *size, bool *is_large)
{
    char digits[32];
    const size_t length = strspn(text, "0123456789");
    uint64_t value = 0;
    if (length == 0)
        return NULL;
    snprintf(digits, sizeof digits, "%.*s", (int)(length < 31 ? length : 31), text);
    *is_large =
        *is_large || !tool_read_number(TAKT_FLAG_NUMBER, digits, &value) || value > INT64_MAX;
    *size = (int64_t)value;
    return text + length;
}

/* "batch=32", "seq=1..512" */
static bool add_dim(const takt_tool *t, const char *text, tool_sizes *s)
{
    char name[TOOL_NAME], written[TOOL_NAME];
    int64_t low = 0, high = 0;
    bool is_large = false;
    const char *digits = tool_after_name(text, '=', true, name);
    const char *end = digits != NULL ? read_size(digits, &low, &is_large) : NULL;
    high = low;
    if (end != NULL && strncmp(end, "..", 2) == 0)
        end = read_size(end + 2, &high, &is_large);
    if (end == NULL || *end != '\0' ||
        takt_name_write(name, written, sizeof written) >= sizeof written) {
        tool_usage_error(t, 1003, "write -D batch=32, or a range: -D seq=1..512",
                         "-D %s is not of the form NAME=SIZE", text);
        return false;
    }
    if (is_large) {
        tool_usage_error(t, 1003, "sizes are below 2^63", "-D %s: the size is too large", text);
        return false;
    }
    if (low > high) {
        tool_usage_error(t, 1003, NULL, "-D %s: the range ends before it begins", text);
        return false;
    }
    return low == high ? tool_sizes_add(t, s, written, low, "-D")
                       : add_item(t, s, written, low, high);
}

bool tool_sizes_init(const takt_tool *t, const takt_model *m, tool_sizes *s)
{
    const char *item;
    s->text[0] = '\0';
    s->length = 0;
    for (size_t i = 0; !t->has_fixed_sizes && (item = tool_item_of(t, TAKT_F_DIM, i)) != NULL; i++)
        if (!add_dim(t, item, s))
            return false;
    for (int is_last = 0; is_last < 2; is_last++) /* names first, then what they decide */
        for (size_t i = 0; (item = tool_item_of(t, TAKT_F_SHAPE, i)) != NULL; i++)
            if (!add_shape(t, m, item, s, is_last != 0))
                return false;
    return tool_static_sizes(t, m, s);
}
