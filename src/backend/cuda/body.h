/* body.h - steps that run subgraphs: If, Loop and Scan.
 *
 * The subgraphs have plans of their own, with segments on this device. The host decides which of
 * them runs and how often; values that cross their border are copied inside the device. */
#ifndef TAKT_BACKEND_CUDA_BODY_H
#define TAKT_BACKEND_CUDA_BODY_H

#include "backend/cuda/part.h"
#include "plan/execute.h"

typedef enum takt_cuda_control { TAKT_CUDA_IF, TAKT_CUDA_LOOP, TAKT_CUDA_SCAN } takt_cuda_control;

/* An iteration's value in a sequence or a scanned result, which has an axis of iterations. */
typedef struct takt_cuda_lane {
    size_t rows, bytes, step; /* runs of bytes; bytes of one; from one to the next */
} takt_cuda_lane;

/* takt_cuda_step.body. Ports of a body are its inputs, then its results. */
typedef struct takt_cuda_body {
    takt_cuda_control control;
    size_t plan_count;
    const takt_plan *plans[2]; /* of If: then, else */
    size_t arena_at[2];        /* bytes into the step's scratch: their memory on the device */
    size_t carried, sequences;
    size_t iterations; /* of a scan: elements of its sequences */
    bool is_reverse;
    uint64_t most; /* iterations of a loop */
    /* Per port of a loop or scan: bytes of an iteration's value, and where it is in scratch;
     * SIZE_MAX: captured values, which are read in place, and values on the host.
     */
    size_t *bytes, *at;
    /* Per port of a scan: copies that an iteration's value takes, bytes of one, and between two. */
    takt_cuda_lane *lanes;
} takt_cuda_body;

/* ---- child.c ---- */

/* An input or result of a body. */
typedef struct takt_cuda_port {
    void *host; /* memory of its own, if it is used there, or a loop's number or condition */
    char *away; /* on the device; NULL if it is not */
    size_t bytes;
    bool is_host; /* the plan reads or writes it on the host */
} takt_cuda_port;

typedef struct takt_cuda_child {
    const takt_plan *plan;
    void **base;
    void *parts[TAKT_SPACES];
    takt_cuda_port *ports; /* inputs, then results */
    size_t port_count;
    takt_fault_slot *fault;
    unsigned char *arena; /* on the host */
    void *block;          /* all of the above */
    size_t bytes;
} takt_cuda_child;

/* A run of step `s`. */
typedef struct takt_cuda_run {
    takt_cuda_part *p;
    const takt_execution *x;
    const takt_step *s;
    const takt_cuda_body *b;
} takt_cuda_run;

/* Host memory of a subgraph of a step: its tables, its arena, and values that the host uses. */
size_t takt_cuda_child_bytes(const takt_plan *plan, const takt_cuda_body *b);
/* A copy in the part's stream. Those from and to the host are done when it returns. */
TAKT_MUST_USE takt_status takt_cuda_child_copy(const takt_cuda_run *r, takt_copy way, void *to,
                                               const void *from, size_t bytes);
/* Waits until all copies so far are done. */
TAKT_MUST_USE takt_status takt_cuda_child_settle(const takt_cuda_run *r);
/* The value of port `i` is at `away`. */
TAKT_MUST_USE takt_status takt_cuda_child_set(takt_cuda_child *c, size_t i, char *away);
/* One run of the subgraph. */
TAKT_MUST_USE takt_status takt_cuda_child_run(const takt_cuda_run *r, takt_cuda_child *c);

#endif
