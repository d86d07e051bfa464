/**
 * status.h - status codes of fallible calls, and their messages.
 *
 * Threads: any, at any time.
 */
#ifndef TAKT_STATUS_H
#define TAKT_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TAKT_API __attribute__((visibility("default")))
#define TAKT_MUST_USE __attribute__((warn_unused_result))
#define TAKT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TAKT_API
#define TAKT_MUST_USE
#define TAKT_PRINTF(fmt, args)
#endif

/** X(name, sentence): the classes of failure. Values are stable; new ones go to the end. */
#define TAKT_STATUS_LIST(X)                                                                        \
    X(OK, "success")                                                                               \
    X(ERR_ARGUMENT, "the caller broke a documented precondition")                                  \
    X(ERR_SYNTAX, "a text model does not follow the language")                                     \
    X(ERR_SHAPE, "tensor shapes or element types do not fit the operation")                        \
    X(ERR_UNSUPPORTED, "a valid request that no kernel or backend can carry out")                  \
    X(ERR_FORMAT, "a file is malformed")                                                           \
    X(ERR_IO, "the operating system refused to read or write")                                     \
    X(ERR_NOT_FOUND, "no such file, name, op or option")                                           \
    X(ERR_MEMORY, "an allocation failed")                                                          \
    X(ERR_LIMIT, "a configured limit would be exceeded")                                           \
    X(ERR_RANGE, "a value at run time lies outside what the operation allows")                     \
    X(ERR_DEADLINE, "the deadline passed before the run ended")                                    \
    X(ERR_CANCELLED, "the run was cancelled")                                                      \
    X(ERR_DEVICE, "a device failed or is missing")                                                 \
    X(ERR_REQUIREMENT, "a requirement or budget that the caller stated is not met")                \
    X(ERR_STATE, "the object is not in a state that allows this call")                             \
    X(ERR_INTERNAL, "a bug in Takt; please report it")

typedef enum takt_status {
#define X(name, sentence) TAKT_##name,
    TAKT_STATUS_LIST(X)
#undef X
} takt_status;

enum { TAKT_ERROR_TEXT = 1024, TAKT_ERROR_NODE = 128 };

/** The last failure, in a fixed buffer: reporting needs no memory. */
typedef struct takt_error {
    takt_status status;
    int id;           /**< stable number, e.g. 2103; `takt explain 2103` says more; 0 if none */
    int64_t offset;   /**< byte offset in a file, or -1 */
    int line, column; /**< place in a text, from 1; 0 if none */
    char node[TAKT_ERROR_NODE];    /**< name of the graph node concerned, or "" */
    char message[TAKT_ERROR_TEXT]; /**< what happened, with names and numbers */
    char hint[TAKT_ERROR_TEXT];    /**< what to do about it, or "" */
} takt_error;

/** "TAKT_ERR_SHAPE"; never NULL. */
TAKT_API const char *takt_status_name(takt_status status);
/** The sentence of a class; never NULL. */
TAKT_API const char *takt_status_sentence(takt_status status);
/** The catalogue's explanation of an error id, or NULL if there is no such id. */
TAKT_API const char *takt_error_explain(int id);

#ifdef __cplusplus
}
#endif
#endif
