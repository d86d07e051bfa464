/* spare.c - results are written neither over what a command reads nor over one another. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool.h"

/* Flags whose values are files to write. */
static const tool_flag_id written[] = {
    TAKT_F_OUTPUT,     TAKT_F_MODEL_FILE, TAKT_F_CONVERTED, TAKT_F_EMIT, TAKT_F_MONITOR_REPORT,
    TAKT_F_TRACE_FILE, TAKT_F_FOLDED,     TAKT_F_FLAME,     TAKT_F_FILE, TAKT_F_PAGE_FILE};
enum { WRITTEN = sizeof written / sizeof *written };

/* What one of them writes, with NAME= before it left out. NULL after the last; "-" is no file. */
static const char *output_of(const takt_tool *t, tool_flag_id id, size_t index)
{
    const char *item = tool_item_of(t, id, index);
    const char *equals = item != NULL && id == TAKT_F_OUTPUT ? strchr(item, '=') : NULL;
    return equals != NULL ? equals + 1 : item;
}

/* The folder's one name, a slash, and what the file is called in it; free() it. */
static char *full_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *start = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    char *folder = start != NULL ? realpath(start, NULL) : NULL;
    const size_t size = folder != NULL ? strlen(folder) + strlen(name) + 2 : 0;
    char *full = size > 0 ? malloc(size) : NULL;
    if (full != NULL)
        snprintf(full, size, "%s/%s", folder, name);
    free(start);
    free(folder);
    return full;
}

/* By any spelling or link; files that are not there yet by their folder and name. */
static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    const bool has_x = stat(a, &x) == 0, has_y = stat(b, &y) == 0;
    if (strcmp(a, b) == 0)
        return true;
    if (has_x || has_y)
        return has_x && has_y && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    char *p = full_name(a), *q = full_name(b);
    const bool same = p != NULL && q != NULL && strcmp(p, q) == 0;
    free(p);
    free(q);
    return same;
}

static bool refuse(const takt_tool *t, const char *path, const char *what)
{
    tool_usage_error(t, 1003, "write to another file", "%s is %s, which would be written over",
                     path, what);
    return false;
}

static bool spares_item(const takt_tool *t, const char *path, tool_flag_id id, bool has_name)
{
    const char *item;
    for (size_t i = 0; (item = tool_item_of(t, id, i)) != NULL; i++) {
        const char *equals = has_name ? strchr(item, '=') : NULL;
        char what[80];
        snprintf(what, sizeof what, "what --%s reads", tool_flags[id].name);
        if (is_same(path, equals != NULL ? equals + 1 : item))
            return refuse(t, path, what);
    }
    return true;
}

bool tool_spares_model(const takt_tool *t, const char *path)
{
    const char *flag = tool_text_of(t, TAKT_F_MODEL);
    const char *model = flag != NULL ? flag : t->arg_count > 0 ? t->args[0] : NULL;
    return model == NULL || !is_same(path, model) || refuse(t, path, "the model itself");
}

/* What the command line names; results are arguments, too. */
static bool spares_named(const takt_tool *t, const char *path)
{
    if (tool_verb_takes(t->verb, TAKT_F_MODEL) && !tool_spares_model(t, path))
        return false;
    if (tool_verb_takes(t->verb, TAKT_F_RESULTS))
        for (size_t i = 0; i < t->arg_count; i++)
            if (is_same(path, t->args[i]))
                return refuse(t, path, "one of the files that are read");
    return spares_item(t, path, TAKT_F_WEIGHTS, false) &&
           spares_item(t, path, TAKT_F_INPUT, true) && spares_item(t, path, TAKT_F_STATIC, true) &&
           spares_item(t, path, TAKT_F_CONFIG, false) &&
           spares_item(t, path, TAKT_F_RESULTS, false) &&
           spares_item(t, path, TAKT_F_TARGETS, false);
}

/* Against all outputs that come after this one. */
static bool is_alone(const takt_tool *t, size_t flag, size_t index)
{
    const char *path = output_of(t, written[flag], index), *other;
    for (size_t f = flag; f < WRITTEN; f++)
        for (size_t i = f == flag ? index + 1 : 0; (other = output_of(t, written[f], i)) != NULL;
             i++) {
            if (strcmp(other, "-") == 0 || !is_same(path, other))
                continue;
            tool_usage_error(t, 1003, "write to two files", "--%s %s and --%s %s are one file",
                             tool_flags[written[flag]].name, path, tool_flags[written[f]].name,
                             other);
            return false;
        }
    return true;
}

bool tool_check_written(const takt_tool *t)
{
    const char *path;
    for (size_t f = 0; f < WRITTEN; f++)
        for (size_t i = 0; (path = output_of(t, written[f], i)) != NULL; i++)
            if (strcmp(path, "-") != 0 && (!spares_named(t, path) || !is_alone(t, f, i)))
                return false;
    return true;
}

bool tool_spares(const takt_tool *t, const char *path)
{
    return !tool_has_read(t, path) || refuse(t, path, "a file that was read for this");
}

bool tool_spares_reads(const takt_tool *t)
{
    const char *path;
    for (size_t f = 0; f < WRITTEN; f++)
        for (size_t i = 0; (path = output_of(t, written[f], i)) != NULL; i++)
            if (!tool_spares(t, path))
                return false;
    return true;
}
