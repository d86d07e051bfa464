/* near_file.c - the file that somebody meant who named one that is not there. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

enum { MOST_NAMES = 4096 }; /* of a folder; beyond that nothing is looked for */

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

/* "mlp" for mlp.takt: an ending is what is left out most. */
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

/* Among names with this ending, which says nothing about whether the rest is near. It is cut off
 * for so long. */
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

/* A missing folder is what is wrong, whatever the file beneath it would be called. */
static bool lacks_folder(const char *folder, char *hint, size_t size)
{
    if (access(folder, F_OK) == 0 || errno != ENOENT)
        return false;
    snprintf(hint, size, "there is no folder %.200s", folder);
    return true;
}

static void look_in(const char *folder, const char *name, const char *before, char *hint,
                    size_t size)
{
    listing l = {0};
    list_folder(folder, &l);
    int found = with_ending(name, &l);
    if (found < 0)
        found = nearest_of(name, &l);
    if (found >= 0)
        snprintf(hint, size, "did you mean %.200s%.200s?", before, l.names[found]);
    for (size_t i = 0; i < l.count; i++)
        free(l.names[i]);
    free(l.names);
}

void tool_near_file(const char *path, char *hint, size_t size)
{
    char folder[512];
    const char *slash = strrchr(path, '/');
    const size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    if (path[0] == '\0' || length >= sizeof folder || access(path, F_OK) == 0 || errno != ENOENT)
        return;
    memcpy(folder, path, length);
    folder[length] = '\0';
    const char *where = length > 0 ? folder : ".";
    if (!lacks_folder(where, hint, size))
        look_in(where, path + length, folder, hint, size);
}
