/* folder.h - lists a folder. */
#ifndef TAKT_OS_FOLDER_H
#define TAKT_OS_FOLDER_H

#include <stdbool.h>

/* `name` is valid during the call. False ends the listing. */
typedef bool takt_folder_fn(void *user, const char *name, bool is_folder);

/* Calls `fn` for every entry whose name does not begin with a dot, in any order. False if `path` is
 * not a readable folder. */
bool takt_folder_each(const char *path, takt_folder_fn *fn, void *user);

#endif
