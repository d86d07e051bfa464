/* file.h - files through the context: whole ones, parts of them, and their error messages.
 *
 * `path` names the file in messages; the caller closes files it opened.
 */
#ifndef TAKT_IO_FILE_H
#define TAKT_IO_FILE_H

#include "base/inner.h"
#include "base/text.h"

typedef struct takt_stamped_file {
    takt_file *file;
    const char *path;
    uint64_t stamp;
} takt_stamped_file;

/* "cannot WHAT PATH: the system's reason". */
takt_status takt_fail_file(takt_ctx *ctx, takt_error_id id, const char *path, const char *what,
                           int error);

/* Length of an opened file; at most limits.file_bytes. */
TAKT_MUST_USE takt_status takt_file_length(takt_ctx *ctx, const char *path, takt_file *file,
                                           size_t *length);
/* Reads `count` bytes from `offset`; fails if the file has become shorter. */
TAKT_MUST_USE takt_status takt_file_part(takt_ctx *ctx, const char *path, takt_file *file,
                                         uint64_t offset, void *to, size_t count);
/* What the file's content is known by (takt_files.stamp); 0 if changes cannot be noticed. */
TAKT_MUST_USE takt_status takt_file_stamp(takt_ctx *ctx, const char *path, takt_file *file,
                                          uint64_t *stamp);
/* The same as takt_file_part, and fails if the file has changed since it had this stamp. */
TAKT_MUST_USE takt_status takt_file_same_part(takt_ctx *ctx, const takt_stamped_file *from,
                                              uint64_t offset, void *to, size_t count);
/* Reads all of an opened file; free it with takt_mem_put. */
TAKT_MUST_USE takt_status takt_file_whole(takt_ctx *ctx, const char *path, takt_file *file,
                                          void **bytes, size_t *length);

/* Why a file cannot be opened to read, an errno, or 0: EISDIR for a folder. */
int takt_file_refusal(takt_ctx *ctx, const char *path);

/* A whole file in memory, at most limits.file_bytes; free it with takt_mem_put. */
TAKT_INNER TAKT_MUST_USE takt_status takt_read_file(takt_ctx *ctx, const char *path, void **bytes,
                                                    size_t *length);
/* Replaces `path` by these bytes, or leaves the old file unchanged. */
TAKT_MUST_USE takt_status takt_write_file(takt_ctx *ctx, const char *path, const void *bytes,
                                          size_t length);
/* The same for private data, which only the owner may read. */
TAKT_MUST_USE takt_status takt_write_private(takt_ctx *ctx, const char *path, const void *bytes,
                                             size_t length);
/* A new file for that, as takt_files.create does it: 0 or an errno. */
TAKT_MUST_USE int takt_create_private(takt_ctx *ctx, const char *path, takt_file **file);
/* Same for a text, unless building the text has failed. */
TAKT_INNER TAKT_MUST_USE takt_status takt_write_text(takt_ctx *ctx, const char *path,
                                                     const takt_text *text);

#endif
