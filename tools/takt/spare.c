/* spare.c - checks the files that a command writes: none is an input or another result, and each
 * has a folder. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

/* The canonical path of the folder, a slash, and the file's name in it; free() it. */
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

/* Under any spelling or link; files that do not exist yet are compared by folder and name. */
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

/* Files that the flag reads. */
static bool spares_flag(const takt_tool *t, const char *path, tool_flag_id id)
{
    const char *read;
    for (size_t i = 0; (read = tool_file_of(t, id, i)) != NULL; i++) {
        char what[80];
        snprintf(what, sizeof what, "what --%s reads", tool_flags[id].name);
        if (is_same(path, tool_readable(read)))
            return refuse(t, path, what);
    }
    return true;
}

bool tool_spares_model(const takt_tool *t, const char *path)
{
    const bool is_given = t->arg_count > 0 || tool_text_of(t, TAKT_F_MODEL) != NULL;
    const char *model = is_given ? tool_model_path(t) : NULL;
    return model == NULL || !is_same(path, tool_readable(model)) ||
           refuse(t, path, "the model itself");
}

/* Files that the command line names; results and models to compare are arguments as well. */
static bool spares_named(const takt_tool *t, const char *path)
{
    const bool takes_model = tool_verb_takes(t->verb, TAKT_F_MODEL) ||
                             strncmp(t->verb->arguments, "MODEL", strlen("MODEL")) == 0;
    if (takes_model && !tool_spares_model(t, path))
        return false;
    if (tool_verb_takes(t->verb, TAKT_F_RESULTS))
        for (size_t i = 0; i < t->arg_count; i++)
            if (is_same(path, tool_readable(t->args[i])))
                return refuse(t, path, "one of the files that are read");
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        if (tool_flag_reads((tool_flag_id)id) && !spares_flag(t, path, (tool_flag_id)id))
            return false;
    return true;
}

/* Calls `visit` with every file that flags of the command write, and stops at the first false. */
typedef bool visit_fn(const takt_tool *t, tool_flag_id id, size_t index, const char *path);

static bool visit_written(const takt_tool *t, visit_fn *visit)
{
    const char *path;
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        for (size_t i = 0; tool_flag_writes((tool_flag_id)id) &&
                           (path = tool_file_of(t, (tool_flag_id)id, i)) != NULL;
             i++)
            if (strcmp(path, "-") != 0 && !visit(t, (tool_flag_id)id, i, path))
                return false;
    return true;
}

/* Compares with all later outputs. */
static bool is_distinct(const takt_tool *t, tool_flag_id flag, size_t index, const char *path)
{
    const char *other;
    for (int id = (int)flag; id < TAKT_FLAG_IDS; id++) {
        if (!tool_flag_writes((tool_flag_id)id))
            continue;
        for (size_t i = id == (int)flag ? index + 1 : 0;
             (other = tool_file_of(t, (tool_flag_id)id, i)) != NULL; i++) {
            if (strcmp(other, "-") == 0 || !is_same(path, other))
                continue;
            tool_usage_error(t, 1003, "write to two files", "--%s %s and --%s %s are one file",
                             tool_flags[flag].name, path, tool_flags[id].name, other);
            return false;
        }
    }
    return true;
}

static bool is_fit(const takt_tool *t, tool_flag_id flag, size_t index, const char *path)
{
    return spares_named(t, path) && is_distinct(t, flag, index, path);
}

bool tool_check_written(const takt_tool *t)
{
    return visit_written(t, is_fit);
}

bool tool_spares(const takt_tool *t, const char *path)
{
    return !tool_has_read(t, path) || refuse(t, path, "a file that was read for this");
}

static bool was_not_read(const takt_tool *t, tool_flag_id flag, size_t index, const char *path)
{
    (void)flag;
    (void)index;
    return tool_spares(t, path);
}

bool tool_spares_reads(const takt_tool *t)
{
    return visit_written(t, was_not_read);
}

/* ---- folders ---- */

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* The length of the part of the path that must be there before the file is written. */
static size_t folder_length(tool_flag_id flag, const char *path)
{
    size_t end = strlen(path);
    const bool is_made = flag == TAKT_F_CONVERTED || flag == TAKT_F_EMIT_EACH_PASS;
    while (is_made && end > 1 && path[end - 1] == '/')
        end--;
    while (end > 0 && path[end - 1] != '/')
        end--;
    return end;
}

/* Whether the command makes the folder "DIR/" before it writes into it. */
static bool will_make(const takt_tool *t, const char *folder)
{
    const char *made = tool_text_of(t, TAKT_F_CHECKPOINT);
    size_t length = made != NULL ? strlen(made) : 0;
    while (length > 1 && made[length - 1] == '/')
        length--;
    return length > 0 && strncmp(folder, made, length) == 0 && strcmp(folder + length, "/") == 0;
}

static bool is_only_read(const takt_tool *t, tool_flag_id flag)
{
    return flag == TAKT_F_PROMPT_CACHE && tool_on(t, TAKT_F_PROMPT_CACHE_RO);
}

static bool has_folder(const takt_tool *t, tool_flag_id flag, size_t index, const char *path)
{
    enum { LONGEST = 1024 };
    char folder[LONGEST] = ".";
    const size_t length = folder_length(flag, path);
    (void)index;
    if (access(path, F_OK) == 0 || length >= LONGEST || is_only_read(t, flag) ||
        (length == 0 && strchr(path, '.') == NULL)) /* may be a format: -o json */
        return true;
    if (length > 0)
        snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    const bool is_there = is_folder(folder);
    if (strchr(folder, '{') != NULL || will_make(t, folder) ||
        (is_there && access(folder, W_OK) == 0))
        return true; /* {} is replaced later */
    takt_error e = {.status = TAKT_ERR_IO, .id = 3003, .offset = -1};
    snprintf(e.message, sizeof e.message, "cannot write %.400s: %s %.400s", path,
             is_there ? "this user may not create files in" : "there is no folder", folder);
    (void)tool_report_error(t, &e);
    return false;
}

int tool_check_folders(const takt_tool *t)
{
    return visit_written(t, has_folder) ? TAKT_EXIT_OK : TAKT_EXIT_FAILED;
}
