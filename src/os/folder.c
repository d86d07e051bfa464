/* folder.c - lists a folder. */
#define _POSIX_C_SOURCE 200809L
#include "os/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

bool takt_folder_each(const char *path, takt_folder_fn *fn, void *user)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool goes_on = true;
    if (folder == NULL)
        return false;
    while (goes_on && (entry = readdir(folder)) != NULL) {
        struct stat facts;
        if (entry->d_name[0] == '.' || fstatat(dirfd(folder), entry->d_name, &facts, 0) != 0)
            continue;
        goes_on = fn(user, entry->d_name, S_ISDIR(facts.st_mode));
    }
    closedir(folder);
    return true;
}
