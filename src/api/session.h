/* session.h - what a session holds. */
#ifndef TAKT_API_SESSION_H
#define TAKT_API_SESSION_H

#include <takt/session.h>

#include "plan/execute.h"

typedef struct takt_session_port {
    takt_tensor_view view; /* data: the bound buffer, or `own`, or NULL so far */
    void *own;
    size_t bytes;
} takt_session_port;

struct takt_session {
    takt_ctx *ctx;
    takt_plan *plan;
    takt_arena arena_facts; /* small things that die with the session */
    takt_desc *input_descs, *output_descs;
    takt_session_port *inputs, *outputs;
    takt_tensor *state;
    unsigned char *arena;
    void **base; /* per buffer of the plan */
    takt_pool *pool;
    bool owns_arena, owns_pool;
    _Atomic bool cancel;
    takt_fault_slot fault;
    takt_error error;
    const takt_watch *watch; /* NULL unless profiling */
};

#endif
