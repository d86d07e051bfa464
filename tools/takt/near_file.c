/* near_file.c - suggests an existing file for a path that does not exist. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zoo.h"

enum { MOST_NAMES = 4096 }; /* of a folder; larger ones are not searched */

typedef struct listing {
    char **names;
    size_t count;
} listing;

static bool keep_name(listing *l, const char *name)
{
    char *copy = l->count < MOST_NAMES ? strdup(name) : NULL;
    if (copy == NULL)
        return false;
    l->names[l->count++] = copy;
    return true;
}

static void list_folder(const char *folder, listing *l)
{
    const struct dirent *entry;
    DIR *open = opendir(folder);
    l->names = open != NULL ? calloc(MOST_NAMES, sizeof *l->names) : NULL;
    while (l->names != NULL && (entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.' && !keep_name(l, entry->d_name))
            break;
    if (open != NULL)
        closedir(open);
}

/* "mlp" for mlp.takt: the extension is most often forgotten. */
static int with_ending(const char *name, const listing *l)
{
    static const char *const endings[] = {".takt", ".onnx", ".taktp", ".npy", ".json"};
    const size_t length = strlen(name);
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
        for (size_t i = 0; i < l->count; i++)
            if (strncmp(l->names[i], name, length) == 0 &&
                strcmp(l->names[i] + length, endings[e]) == 0)
                return (int)i;
    return -1;
}

/* Among names with this suffix, which is ignored for similarity and cut off during the search. */
static int with_same_ending(const char *name, const char *dot, listing *l)
{
    const size_t length = (size_t)(dot - name), tail = strlen(dot);
    char *stem = strndup(name, length);
    const char **stems = calloc(l->count + 1, sizeof *stems);
    for (size_t i = 0; stems != NULL && i < l->count; i++) {
        const size_t n = strlen(l->names[i]);
        const bool has_it = n > tail && strcmp(l->names[i] + n - tail, dot) == 0;
        stems[i] = has_it ? l->names[i] : "";
        if (has_it)
            l->names[i][n - tail] = '\0';
    }
    const int found = stem != NULL && stems != NULL ? takt_nearest(stem, stems, l->count) : -1;
    for (size_t i = 0; stems != NULL && i < l->count; i++)
        if (stems[i][0] != '\0')
            l->names[i][strlen(l->names[i])] = '.';
    free(stem);
    free(stems);
    return found;
}

/* The same name with a misspelt ending. */
static int with_same_stem(const char *name, const char *dot, const listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const char *const one = l->names[i];
        if (strncmp(one, name, (size_t)(dot - name) + 1) == 0 && takt_nearest(name, &one, 1) == 0)
            return (int)i;
    }
    return -1;
}

static int nearest_of(const char *name, listing *l)
{
    const char *dot = strrchr(name, '.');
    if (dot == NULL || dot == name)
        return takt_nearest(name, (const char *const *)l->names, l->count);
    const int found = with_same_ending(name, dot, l);
    return found >= 0 ? found : with_same_stem(name, dot, l);
}

/* The name in `folder` that is nearest to `name`, or NULL; free() it. */
static char *nearest_in(const char *folder, const char *name, bool is_file)
{
    listing l = {0};
    list_folder(folder, &l);
    int found = is_file ? with_ending(name, &l) : -1;
    if (found < 0 && l.count > 0)
        found = is_file ? nearest_of(name, &l)
                        : takt_nearest(name, (const char *const *)l.names, l.count);
    char *nearest = found >= 0 ? strdup(l.names[found]) : NULL;
    for (size_t i = 0; i < l.count; i++)
        free(l.names[i]);
    free(l.names);
    return nearest;
}

/* The first folder of the path that does not exist, as its end in `path`; 0 if all exist. */
static size_t missing_folder(const char *path)
{
    char folder[512];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const size_t length = (size_t)(slash - path);
        if (length >= sizeof folder)
            return 0;
        memcpy(folder, path, length);
        folder[length] = '\0';
        if (access(folder, F_OK) != 0)
            return errno == ENOENT ? length : 0;
    }
    return 0;
}

/* Splits the path up to `end`: its folder, and its name there. */
static const char *cut(const char *path, size_t end, char folder[512], char name[256])
{
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    snprintf(folder, 512, "%.*s", (int)start, path);
    snprintf(name, 256, "%.*s", (int)(end - start), path + start);
    return start > 0 ? folder : ".";
}

/* If a folder is missing: the same file in a folder of a similar name, if it exists. */
static void other_folder(const char *path, size_t end, char *hint, size_t size)
{
    char folder[512], name[256], meant[1024];
    const char *where = cut(path, end, folder, name);
    char *near = nearest_in(where, name, false);
    const int length =
        snprintf(meant, sizeof meant, "%s%s%s", folder, near != NULL ? near : "", path + end);
    if (near != NULL && length > 0 && (size_t)length < sizeof meant && access(meant, F_OK) == 0)
        snprintf(hint, size, "did you mean %.400s?", meant);
    else
        snprintf(hint, size, "there is no folder %.*s/", end < 200 ? (int)end : 200, path);
    free(near);
}

static bool has_name(const listing *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->names[i], name) == 0)
            return true;
    return false;
}

/* A folder where a file is expected: suggests one of its files. */
static void file_within(const char *path, char *hint, size_t size)
{
    static const char *const endings[] = {".takt", ".onnx", ".taktp", ".gguf"};
    listing l = {0};
    list_folder(path, &l);
    const size_t length = strlen(path);
    if (has_name(&l, "config.json") && !has_name(&l, "tokenizer.json") &&
        !has_name(&l, "tokenizer.model"))
        snprintf(hint, size,
                 "this folder of a language model has no tokenizer.json and no "
                 "tokenizer.model");
    if (has_name(&l, "checkpoint.0") || has_name(&l, "checkpoint.1"))
        snprintf(hint, size,
                 "it has checkpoints: takt train with --checkpoint %.200s, --resume and -o FILE "
                 "writes the model",
                 path);
    for (size_t e = 0; e < sizeof endings / sizeof *endings && hint[0] == '\0'; e++)
        for (size_t i = 0; i < l.count && hint[0] == '\0'; i++) {
            const size_t n = strlen(l.names[i]), tail = strlen(endings[e]);
            if (n > tail && strcmp(l.names[i] + n - tail, endings[e]) == 0)
                snprintf(hint, size, "name a file in it, such as %.200s%s%.200s", path,
                         length > 0 && path[length - 1] == '/' ? "" : "/", l.names[i]);
        }
    if (hint[0] == '\0' && !has_name(&l, "config.json"))
        snprintf(hint, size,
                 "give a file; the only folders that are read as models have a config.json");
    for (size_t i = 0; i < l.count; i++)
        free(l.names[i]);
    free(l.names);
}

void tool_near_file(const char *path, char *hint, size_t size)
{
    char folder[512], name[256];
    struct stat about;
    if (path[0] == '\0' || strlen(path) >= sizeof folder)
        return;
    if (strncmp(path, "zoo:", 4) == 0) {
        tool_zoo_near(path, hint, size);
        return;
    }
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        file_within(path, hint, size);
        return;
    }
    if (access(path, F_OK) == 0 || errno != ENOENT)
        return;
    const size_t end = missing_folder(path);
    if (end > 0) {
        other_folder(path, end, hint, size);
        return;
    }
    char *near = nearest_in(cut(path, strlen(path), folder, name), name, true);
    if (near != NULL)
        snprintf(hint, size, "did you mean %.200s%.200s?", folder, near);
    free(near);
}
