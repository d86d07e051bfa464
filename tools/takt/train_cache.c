/* train_cache.c - where decoded data is cached, and how it is matched to the files.
 *
 * The file is in the folder for caches of this user, $XDG_CACHE_HOME/takt or ~/.cache/takt, named
 * after the data set and how it is read. Its stamp has names, sizes and times of all files of the
 * data set, of what links point to, and of what a list names: when one of them changes, the data is
 * decoded again.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train.h"

/* Files of a data set; nftw has no argument for it. */
static _Thread_local struct {
    uint64_t files, bytes, mixed;
    int links; /* to folders, on the path to it */
} seen;

enum { OPEN_FOLDERS = 16, LINKS = 2 /* part and class may be stored elsewhere */ };

static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static void stamp(const char *path, const struct stat *facts)
{
    const int64_t numbers[] = {(int64_t)facts->st_size, (int64_t)facts->st_mtim.tv_sec,
                               (int64_t)facts->st_mtim.tv_nsec, (int64_t)facts->st_ino};
    uint64_t hash = mix(UINT64_C(14695981039346656037), path, strlen(path));
    hash = mix(hash, numbers, sizeof numbers);
    seen.files++;
    seen.bytes += (uint64_t)facts->st_size;
    seen.mixed += hash; /* in any order */
}

static int visit(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    struct stat target;
    char inside[4096];
    (void)place;
    if (kind == FTW_F)
        stamp(path, facts);
    if (kind != FTW_SL || stat(path, &target) != 0)
        return 0;
    stamp(path, &target);
    if (!S_ISDIR(target.st_mode) || seen.links == LINKS ||
        snprintf(inside, sizeof inside, "%s/.", path) >= (int)sizeof inside)
        return 0;
    seen.links++;
    const int result = nftw(inside, visit, OPEN_FOLDERS, FTW_PHYS);
    seen.links--;
    return result;
}

/* Files that a list names, next to it or in subfolders. False: unknown from the file. */
static bool stamp_list(const char *list)
{
    const size_t length = strlen(list);
    const char *slash = strrchr(list, '/');
    const int folder = slash != NULL ? (int)(slash - list) + 1 : 0;
    char *line = NULL, path[4096];
    size_t room = 0;
    bool is_plain = true;
    if (length < 4 || strcasecmp(list + length - 4, ".tsv") != 0)
        return true;
    FILE *file = fopen(list, "rb");
    if (file == NULL)
        return false;
    while (is_plain && getline(&line, &room, file) >= 0) {
        struct stat facts;
        is_plain = strncmp(line, "\x1f\x8b", 2) != 0; /* compressed */
        line[strcspn(line, "\t\r\n")] = '\0';
        if (snprintf(path, sizeof path, "%.*s%s", folder, list, line) < (int)sizeof path &&
            stat(path, &facts) == 0)
            stamp(path, &facts);
    }
    free(line);
    fclose(file);
    return is_plain;
}

static bool folder_of(char *to, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache != NULL && cache[0] == '/')
        length = snprintf(to, size, "%s", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(to, size, "%s/.cache", home);
    if (length < 0 || (size_t)length + 6 >= size)
        return false;
    mkdir(to, 0777); /* may exist; can_keep checks it */
    strcat(to, "/takt");
    mkdir(to, 0777);
    return true;
}

/* Whether the file can be written, or is there: found before the data is decoded. */
static bool can_keep(const takt_tool *t, const char *folder, const char *file)
{
    if (access(file, R_OK) == 0)
        return true;
    errno = 0;
    if (access(folder, W_OK | X_OK) == 0)
        return true;
    tool_usage_error(t, 3003,
                     "XDG_CACHE_HOME names another folder for caches; --cache ram keeps the data "
                     "in memory",
                     "--cache disk cannot write to %s: %s", folder, strerror(errno));
    return false;
}

bool tool_data_cache(const takt_tool *t, const char *data, tool_data_place *place,
                     takt_data_options *options)
{
    const char *word = tool_text_of(t, TAKT_F_DATA_CACHE);
    char folder[2048], *real;
    if (word == NULL || strcmp(word, "ram") == 0)
        return true;
    if (strcmp(word, "disk") != 0) {
        tool_usage_error(t, 1003, NULL, "--cache is ram or disk, not %s", word);
        return false;
    }
    if (!folder_of(folder, sizeof folder)) {
        tool_usage_error(t, 1003, "set XDG_CACHE_HOME", "there is no folder for caches");
        return false;
    }
    real = realpath(data, NULL);
    memset(&seen, 0, sizeof seen);
    if (real == NULL || nftw(real, visit, OPEN_FOLDERS, FTW_PHYS) != 0 || !stamp_list(data)) {
        free(real);
        return true; /* opening it reports the error; a compressed list is not cached */
    }
    const char *split = options->split != NULL ? options->split : "train";
    const char *label = options->label != NULL ? options->label : "";
    const int64_t window = options->window > 0 ? options->window : options->usual_window;
    const char *missing = options->missing != NULL ? options->missing : "";
    snprintf(place->stamp, sizeof place->stamp,
             "3 %s %s %.32s %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64
             " %016" PRIx64 " %s",
             split, label, missing, options->picture_crop, window, options->picture_channels,
             options->picture_height, options->picture_width, seen.files, seen.bytes, seen.mixed,
             real);
    uint64_t name = mix(UINT64_C(14695981039346656037), real, strlen(real));
    name = mix(mix(name, split, strlen(split) + 1), label, strlen(label) + 1);
    name = mix(name, missing, strlen(missing) + 1);
    const int64_t numbers[] = {window, options->picture_channels, options->picture_height,
                               options->picture_width, options->picture_crop};
    name = mix(name, numbers, sizeof numbers);
    snprintf(place->path, sizeof place->path, "%s/data-%016" PRIx64 ".safetensors", folder, name);
    options->cache = place->path;
    options->cache_stamp = place->stamp;
    free(real);
    return can_keep(t, folder, place->path);
}
