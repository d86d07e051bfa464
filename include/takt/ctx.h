/**
 * ctx.h - the context: everything Takt takes from the outside world.
 *
 *     takt_ctx *ctx;
 *     if (takt_ctx_create(NULL, &ctx) != TAKT_OK) ...   // NULL: the operating system's services
 *     ...
 *     takt_ctx_destroy(ctx);
 *
 * A context carries allocator, files, clock, limits and log. Takt has no globals, starts no hidden
 * threads and prints nothing. Any number of threads may share a context, and with it
 * takt_last_error; only one may create or destroy it.
 */
#ifndef TAKT_CTX_H
#define TAKT_CTX_H

#include <stddef.h>
#include <takt/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_ctx takt_ctx;

/** Where memory comes from. `get` returns NULL on failure; `put` accepts NULL. Thread-safe. */
typedef struct takt_allocator {
    void *(*get)(void *user, size_t size, size_t align);
    void (*put)(void *user, void *block, size_t size);
    void *user;
} takt_allocator;

typedef struct takt_file takt_file;

/** Where files come from. Every call returns 0 or a positive errno. Thread-safe. */
typedef struct takt_files {
    /** `path` for reading; regular files only: EISDIR for a folder, ESPIPE for a pipe or device. */
    int (*open_read)(void *user, const char *path, takt_file **file);
    /** `name` beneath folder `dir` for reading; never leaves it, follows no link, unless
     *  `allow_links`. */
    int (*open_beneath)(void *user, const char *dir, const char *name, int allow_links,
                        takt_file **file);
    /** A new file for writing, invisible at `path` until commit. */
    int (*create)(void *user, const char *path, takt_file **file);
    int (*size)(void *user, takt_file *file, uint64_t *bytes);
    /** Up to `count` bytes at `offset`; `done` is less than `count` only at the end of the file. */
    int (*read)(void *user, takt_file *file, uint64_t offset, void *to, size_t count, size_t *done);
    int (*write)(void *user, takt_file *file, const void *from, size_t count);
    /** Make a created file durable and visible at its path, replacing the old file. */
    int (*commit)(void *user, takt_file *file);
    /** Closes; a created file that was not committed disappears. Accepts NULL. */
    void (*close)(void *user, takt_file *file);
    void *user;
    /** Maps the first `bytes` bytes of a file until `unmap`; the file may be closed before that.
     *  EIO if it is shorter. Both NULL: files are read instead. */
    int (*map)(void *user, takt_file *file, size_t bytes, const void **data);
    void (*unmap)(void *user, const void *data, size_t bytes);
    /** As create, but only the owner may read or write the file (0600), even if it replaces one
     * with wider permissions. NULL: create is called. */
    int (*create_private)(void *user, const char *path, takt_file **file);
    /** Removes a file; ENOENT: it does not exist. NULL: files are not removed. */
    int (*remove)(void *user, const char *path);
    /** A number that changes with the content of an open file, such as a hash of its length and the
     *  time of its last change. NULL: weights that are read when they are needed may then come from
     *  a file that was overwritten since it was opened. */
    int (*stamp)(void *user, takt_file *file, uint64_t *stamp);
} takt_files;

/** Starting threads; 0 or a positive errno. */
typedef struct takt_threads {
    int (*start)(void *user, void (*body)(void *), void *arg, void **handle);
    void (*join)(void *user, void *handle);
    void *user;
} takt_threads;

typedef enum takt_log_level { TAKT_LOG_DEBUG, TAKT_LOG_INFO, TAKT_LOG_WARNING } takt_log_level;
/** Called on the thread that logs; may be called concurrently. */
typedef void takt_log_fn(void *user, takt_log_level level, const char *line);

/** Receives a piece of text; `length` bytes, not terminated. Non-zero stops the writer. */
typedef int takt_sink_fn(void *user, const char *text, size_t length);

/** How a report is written. */
typedef enum takt_format { TAKT_FORMAT_TEXT, TAKT_FORMAT_JSON } takt_format;

/** Finite bounds on what external input may request. Zero means the default. */
typedef struct takt_limits {
    uint64_t bytes;        /**< memory live at once through this context; default: 1/2 of RAM */
    uint64_t file_bytes;   /**< size of one file; default 64 GiB */
    uint64_t tensor_bytes; /**< size of one tensor; default 16 GiB */
    uint64_t nodes;        /**< nodes of one graph; default 4,000,000 */
    uint64_t name_bytes;   /**< length of a name; default 4096 */
    uint64_t depth;        /**< nesting of texts, messages and subgraphs; default 32 */
    uint64_t trip_count;   /**< iterations of one loop node; default 1,000,000, the most that the
                                 steps of a chat template may be */
    uint64_t errors;       /**< diagnostics of one text before giving up; default 20 */
} takt_limits;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_config {
    size_t size; /**< sizeof(takt_config), or 0 for the version this header describes */
    const takt_allocator *allocator; /**< borrowed until the context dies */
    const takt_files *files;         /**< borrowed until the context dies */
    const takt_threads *threads;     /**< borrowed until the context dies */
    uint64_t (*now_ns)(void *user);  /**< monotonic clock */
    void *clock_user;
    takt_log_fn *log; /**< default: no log */
    void *log_user;
    takt_limits limits;
} takt_config;

/** `config` may be NULL. On failure `*ctx` is NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_ctx_create(const takt_config *config, takt_ctx **ctx);
/** Accepts NULL. Everything made with the context must be destroyed first. */
TAKT_API void takt_ctx_destroy(takt_ctx *ctx);
/** Frees memory that is only kept for speed: unused plans in the cache, caches of one-op runs, and
 *  idle tensors in pools. Returns the bytes freed. */
TAKT_API uint64_t takt_ctx_trim(takt_ctx *ctx);
/** `bytes` bytes for tensors, aligned to 64, counted in the context; NULL if out of memory, see
 *  takt_last_error. Free them with takt_free, which accepts NULL. Any other memory works too, but
 *  may be slower. */
TAKT_API void *takt_alloc(takt_ctx *ctx, size_t bytes);
TAKT_API void takt_free(takt_ctx *ctx, void *block);
/** The last failure of a call on `ctx`; status TAKT_OK if there was none. Valid until the next
 * call on any thread: for a message per thread, use a context per thread. */
TAKT_API const takt_error *takt_last_error_info(const takt_ctx *ctx);
/** Its message; "" if there was none. */
TAKT_API const char *takt_last_error(const takt_ctx *ctx);
/** The limits in force, defaults filled in. */
TAKT_API const takt_limits *takt_ctx_limits(const takt_ctx *ctx);
/** Its file functions, valid while `ctx` lives: for wrappers that inspect each call and forward it
 *  to those of another context. */
TAKT_API const takt_files *takt_ctx_files(const takt_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
