/* folder.h - what lies in a folder. */
#ifndef TAKT_OS_FOLDER_H
#define TAKT_OS_FOLDER_H

#include <stdbool.h>

/* `name` is valid during the call. False ends the listing. */
typedef bool takt_folder_fn(void *user, const char *name, bool is_folder);

/* Calls `fn` for everything whose name does not begin with a dot, in no order. False if `path` is
 * no folder that can be read. */
bool takt_folder_each(const char *path, takt_folder_fn *fn, void *user);

#endif
