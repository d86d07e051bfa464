/* zoo.c - finds the models that come with Takt and reads their recipes. */
#include "zoo.h"

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process.h"

const char *const tool_zoo_categories[] = {"vision", "audio", "sensor", "text", NULL};
/* Recorded; recordings put together; recordings whose labels are computed; made by code. */
const char *const tool_zoo_kinds[] = {"real", "recomposed", "derived", "synthetic", NULL};

static bool is_there(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

/* TAKT_ZOO, next to the sources that this program was built from, or where it is installed. */
static bool find_zoo(char to[TOOL_ZOO_PATH])
{
    char self[TOOL_ZOO_PATH - 64];
    const char *given = getenv("TAKT_ZOO");
    if (given != NULL) {
        snprintf(to, TOOL_ZOO_PATH, "%s", given);
        return is_there(to);
    }
    (void)tool_self(self, sizeof self);
    for (int up = 0; up < 4; up++) {
        char *slash = strrchr(self, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
        static const char *const places[] = {"share/takt/zoo", "zoo"};
        for (size_t i = 0; i < 2; i++) {
            char mark[TOOL_ZOO_PATH];
            snprintf(mark, sizeof mark, "%s/%s/README.md", self, places[i]);
            snprintf(to, TOOL_ZOO_PATH, "%s/%s", self, places[i]);
            if (is_there(mark))
                return true;
        }
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

int tool_zoo_names(char names[TOOL_ZOO_MOST][64])
{
    char zoo[TOOL_ZOO_PATH];
    DIR *folder = find_zoo(zoo) ? opendir(zoo) : NULL;
    int count = 0;
    if (folder == NULL)
        return -1;
    for (const struct dirent *e; (e = readdir(folder)) != NULL && count < TOOL_ZOO_MOST;) {
        char recipe[TOOL_ZOO_PATH + 300];
        snprintf(recipe, sizeof recipe, "%s/%s/recipe", zoo, e->d_name);
        if (e->d_name[0] != '.' && strlen(e->d_name) < 64 && is_there(recipe))
            snprintf(names[count++], 64, "%.63s", e->d_name);
    }
    (void)closedir(folder);
    qsort(names, (size_t)count, 64, by_name);
    return count;
}

/* ---- recipes ---- */

static const struct {
    const char *key;
    size_t at;
    bool is_needed;
} keys[] = {{"category", offsetof(tool_zoo_model, category), true},
            {"task", offsetof(tool_zoo_model, task), true},
            {"data", offsetof(tool_zoo_model, data), true},
            {"source", offsetof(tool_zoo_model, source), true},
            {"where", offsetof(tool_zoo_model, where), false},
            {"prepare", offsetof(tool_zoo_model, prepare), false},
            {"train", offsetof(tool_zoo_model, train), true},
            {"metric", offsetof(tool_zoo_model, metric), false},
            {"chance", offsetof(tool_zoo_model, chance), false},
            {"note", offsetof(tool_zoo_model, note), false},
            {"calib", offsetof(tool_zoo_model, calib), true},
            {"score", offsetof(tool_zoo_model, score), false},
            {"floats", offsetof(tool_zoo_model, floats), false},
            {"sha256", offsetof(tool_zoo_model, sha256), false}};

static void read_line(tool_zoo_model *m, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t n = strlen(keys[i].key);
        if (strncmp(line, keys[i].key, n) == 0 && strncmp(line + n, ": ", 2) == 0)
            snprintf((char *)m + keys[i].at, TOOL_ZOO_TEXT, "%s", line + n + 2);
    }
}

static bool read_recipe(const takt_tool *t, const char *path, tool_zoo_model *m)
{
    char line[TOOL_ZOO_TEXT + 32];
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        read_line(m, line);
    if (f != NULL)
        (void)fclose(f);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].is_needed && *((const char *)m + keys[i].at) == '\0') {
            (void)tool_usage_error(t, 1003, NULL, "%s does not say %s", path, keys[i].key);
            return false;
        }
    return true;
}

/* `prefix` is written before a name that is suggested. */
static void suggest(const char *prefix, const char *name, char names[][64], int count, char *hint,
                    size_t size)
{
    const char *list[TOOL_ZOO_MOST];
    for (int i = 0; i < count; i++)
        list[i] = names[i];
    const int near = count > 0 ? takt_nearest(name, list, (size_t)count) : -1;
    if (near >= 0)
        snprintf(hint, size, "did you mean %s%s?", prefix, list[near]);
    else
        snprintf(hint, size, "%s",
                 count < 0 ? "set TAKT_ZOO to the folder `zoo` of Takt's sources"
                           : "`takt zoo list` shows the models of the zoo");
}

void tool_zoo_near(const char *path, char *hint, size_t size)
{
    static char names[TOOL_ZOO_MOST][64];
    if (strncmp(path, "zoo:", 4) == 0)
        suggest("zoo:", path + 4, names, tool_zoo_names(names), hint, size);
}

static bool complain(const takt_tool *t, const char *name, char names[][64], int count)
{
    char hint[160];
    suggest("", name, names, count, hint, sizeof hint);
    if (count < 0)
        (void)tool_usage_error(t, 1003, hint, "the zoo was not found next to this program");
    else
        (void)tool_usage_error(t, 1003, hint, "there is no model %s in the zoo", name);
    return false;
}

bool tool_zoo_find(const takt_tool *t, const char *name, tool_zoo_model *m)
{
    static char names[TOOL_ZOO_MOST][64];
    char zoo[TOOL_ZOO_PATH], recipe[TOOL_ZOO_PATH + 80];
    const int count = tool_zoo_names(names);
    int i = 0;
    *m = (tool_zoo_model){0};
    if (strncmp(name, "zoo:", 4) == 0)
        name += 4;
    while (i < count && strcmp(names[i], name) != 0)
        i++;
    if (i >= count || !find_zoo(zoo))
        return complain(t, name, names, count);
    snprintf(m->name, sizeof m->name, "%s", names[i]);
    snprintf(recipe, sizeof recipe, "%s/%s/recipe", zoo, m->name);
    const int text = snprintf(m->text, sizeof m->text, "%.360s/%s/%s.takt", zoo, m->name, m->name);
    const int file =
        snprintf(m->weights, sizeof m->weights, "%.360s/%s/%s.taktp", zoo, m->name, m->name);
    return text > 0 && file > 0 && read_recipe(t, recipe, m);
}

const char *tool_zoo_path(const char *path)
{
    static _Thread_local char found[TOOL_ZOO_PATH];
    char zoo[TOOL_ZOO_PATH];
    const char *name = path + 4;
    if (strncmp(path, "zoo:", 4) != 0 || strchr(name, '/') != NULL || !find_zoo(zoo))
        return path;
    snprintf(found, sizeof found, "%.360s/%.63s/%.63s.taktp", zoo, name, name);
    return is_there(found) ? found : path;
}

/* ---- digests ---- */

takt_status tool_zoo_digest(takt_tool *t, const takt_model *model, char hex[TOOL_ZOO_HEX])
{
    tool_buffer text = {0};
    hex[0] = '\0';
    takt_status status = takt_model_print(model, false, tool_to_buffer, &text);
    if (status == TAKT_OK) {
        const takt_tensor_view bytes = {
            .dtype = TAKT_U8, .rank = 1, .dims = {(int64_t)text.length}, .data = text.at};
        status = takt_view_digest(t->ctx, &bytes, 1, hex);
    }
    free(text.at);
    return status;
}
