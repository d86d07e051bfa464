/* part.h - a session's data on a device: launches with their addresses, graphs, pinned memory.
 */
#ifndef TAKT_BACKEND_CUDA_PART_H
#define TAKT_BACKEND_CUDA_PART_H

#include "backend/cuda/device.h"

/* A launch with its addresses. */
typedef struct takt_cuda_call {
    takt_cu_function function;
    takt_cuda_launch launch;
    size_t ticket;     /* number of its first */
    takt_cu_node node; /* of its graph */
} takt_cuda_call;

/* The caller's side of a copy: on the host; on the device; on the device and identical to the other
 * side. */
typedef enum takt_cuda_side { TAKT_CUDA_HOST, TAKT_CUDA_AWAY, TAKT_CUDA_SAME } takt_cuda_side;

typedef struct takt_cuda_part_step {
    takt_cuda_call *calls;
    size_t count;
    size_t pinned; /* offset of its copy there; SIZE_MAX: none */
    size_t fault;  /* number of its word; SIZE_MAX: none */
    bool is_mine;
    takt_cuda_side side;              /* of a copy */
    struct takt_cuda_child *children; /* of a step that runs subgraphs; or NULL */
} takt_cuda_part_step;

typedef struct takt_cuda_graph {
    size_t first, end;
    takt_cu_graph graph;
    takt_cu_exec exec;
} takt_cuda_graph;

typedef struct takt_cuda_part {
    takt_cuda *cuda;
    takt_ctx *ctx;
    const takt_plan *plan;
    takt_space space;
    void *const *base; /* of the session */
    unsigned char *arena;
    takt_cu_stream stream, own_stream; /* `stream` may be the caller's */
    takt_cuda_part_step *steps;        /* of the whole plan; those elsewhere have no calls */
    takt_cuda_call *calls;
    size_t call_count;
    takt_cuda_graph *graphs;
    size_t graph_count;
    unsigned char *pinned; /* the number of the run, fault words, then copies */
    size_t pinned_bytes, fault_count;
    takt_cu_ptr words; /* on the device: runs so far, then fault words, then tickets */
    size_t tickets_at, ticket_count;
    takt_cuda_call done;
    uint32_t run; /* graphs launched so far */
} takt_cuda_part;

/* Pinned memory and the words of the device: a number of runs, then fault words, then copies, each
 * at a multiple of TAKT_CUDA_PINNED from there on. */
enum { TAKT_CUDA_HEAD = 64, TAKT_CUDA_PINNED = 256 };

/* Words of a launch by which its blocks count each other; two are read at once. */
static inline size_t takt_cuda_tickets(const takt_cuda_launch *l)
{
    return ((size_t)l->tickets + 1) / 2 * 2;
}

/* Bytes of the words on the device. */
static inline size_t takt_cuda_counters(size_t faults, size_t tickets)
{
    return TAKT_CUDA_HEAD + 8 * faults + 4 * tickets;
}

/* The address of a view on the device. */
static inline takt_cu_ptr takt_cuda_place(const takt_view *v, void *const *base)
{
    return (takt_cu_ptr)(uintptr_t)base[v->buffer] + v->offset;
}

/* ---- session.c, for bind.c ---- */

/* Addresses of a launch of step `s`. */
void takt_cuda_resolve(const takt_cuda_part *p, const takt_step *s, takt_cuda_call *c);
takt_cu_kernel_node takt_cuda_node_of(takt_cuda_call *c, void **parameters);
/* Whether step `index` is a copy that a graph performs. */
bool takt_cuda_is_copied(const takt_cuda_part *p, size_t index);
/* Makes the graph of a segment; returns the driver's answer. */
int takt_cuda_build_graph(takt_cuda_part *p, takt_cuda_graph *g);
void takt_cuda_drop_graph(const takt_cuda_part *p, takt_cuda_graph *g);

/* ---- run.c ---- */

/* Waits until the stream of a session has nothing left to do, or its run is done if `is_run`; for
 * TAKT_CUDA_LIMIT_S from `begin` on, unless the stream is the caller's, whose other work may take
 * any time. Returns the driver's answer. The device's context is current. */
int takt_cuda_settle(takt_cuda_part *p, uint64_t begin, bool is_run);

/* ---- child.c and body.c: steps that run subgraphs ---- */

/* Opens the subgraphs of step `index`, whose views have addresses. */
TAKT_MUST_USE takt_status takt_cuda_body_open(takt_cuda_part *p, size_t index);
void takt_cuda_body_close(takt_cuda_part *p, size_t index);
/* Runs the step from beginning to end. */
TAKT_MUST_USE takt_status takt_cuda_body_run(takt_cuda_part *p, const takt_execution *x,
                                             size_t index);

#endif
