/* beneath.h - opening names that come from a file without leaving the file's folder. */
#ifndef TAKT_OS_BENEATH_H
#define TAKT_OS_BENEATH_H

/* Opens `name` beneath the folder `dir` for reading. A name that is empty, absolute, or has a ".."
 * or a backslash is refused before the system sees it. Without `allow_links` no component may be a
 * link and nothing outside `dir` can be reached, even under concurrent renames; with it, links are
 * followed wherever they lead, as the caches of download tools need. 0 or a positive errno. */
int takt_os_open_beneath(int dir, const char *name, int allow_links, int *fd);
/* The same without links, component by component: for kernels without openat2. */
int takt_os_walk_beneath(int dir, const char *name, int *fd);

/* An existing file at `name` in folder `dir` may be replaced only if it is a file or a link.
 * `*mode`: the permissions of such a file, or -1. */
int takt_os_check_target(int dir, const char *name, int *mode);

/* takt_files.remove */
int takt_os_remove(void *user, const char *path);

#endif
