/* step.h - a step on a device is data: launches whose pointers are still names of views. */
#ifndef TAKT_BACKEND_CUDA_STEP_H
#define TAKT_BACKEND_CUDA_STEP_H

#include "backend/cpu/matrix.h"
#include "backend/cuda/device.h"
#include "kernel/reduce/reduce.h"

/* step->data of all steps here. */
typedef struct takt_cuda_step {
    size_t count;
    size_t index_in; /* the operand whose elements may be out of range, if the step can have that
                      * fault */
    takt_cuda_launch *launches;
    const struct takt_cuda_body *body; /* or NULL: the step runs subgraphs and launches nothing */
} takt_cuda_step;

/* The meaning of a pointer in the arguments until a session has addresses. */
typedef enum takt_cuda_name {
    TAKT_CUDA_NONE, /* a NULL pointer */
    TAKT_CUDA_SCRATCH,
    TAKT_CUDA_FAULT,
    TAKT_CUDA_TICKETS, /* words of the launch, which are 0 */
    TAKT_CUDA_VIEW     /* and up: 2 * index, + 1 of step->out */
} takt_cuda_name;

static inline void *takt_cuda_named(uint32_t name, size_t offset)
{
    return (void *)(uintptr_t)((uint64_t)offset << 16 | name);
}
static inline void *takt_cuda_in(size_t index)
{
    return takt_cuda_named(TAKT_CUDA_VIEW + 2 * (uint32_t)index, 0);
}
static inline void *takt_cuda_out(size_t index)
{
    return takt_cuda_named(TAKT_CUDA_VIEW + 2 * (uint32_t)index + 1, 0);
}

/* One kind: a file step_<kind>.c. `accepts`: NULL, or the reason why it does not compute the node,
 * "" if that needs no explanation. */
typedef struct takt_cuda_kind {
    const char *name;
    const char *(*accepts)(const takt_graph *g, takt_id node);
    bool (*keeps)(const takt_graph *g, const takt_node *n);
    /* As in takt_backend; absent: nothing is fused after it. */
    const char *(*absorbs)(const takt_graph *g, takt_id anchor, takt_id node);
    const char *(*continues)(const takt_planner *p, const takt_group *group, takt_id node);
    takt_status (*compile)(takt_planner *p);
} takt_cuda_kind;

extern const takt_cuda_kind takt_cuda_map_kind, takt_cuda_product_kind, takt_cuda_rows_kind,
    takt_cuda_reduce_kind, takt_cuda_move_kind, takt_cuda_conv_kind, takt_cuda_attention_kind,
    takt_cuda_winograd_kind, takt_cuda_picks_kind, takt_cuda_ggml_kind, takt_cuda_any_product_kind,
    takt_cuda_any_reduce_kind, takt_cuda_lines_kind, takt_cuda_scatters_kind, takt_cuda_affine_kind,
    takt_cuda_rand_kind, takt_cuda_any_conv_kind, takt_cuda_rnn_kind, takt_cuda_body_kind,
    takt_cuda_any_pool_kind, takt_cuda_block_kind, takt_cuda_semiring_kind;

/* NULL if the backend runs the node, or why not. */
const char *takt_cuda_supports(const takt_graph *g, takt_id node);

/* Room for the launches of p->step, which become its data. */
TAKT_MUST_USE takt_status takt_cuda_step_get(takt_planner *p, size_t launches,
                                             takt_cuda_step **step);
/* The kernel that a plan shows, where the first launch only prepares. */
void takt_cuda_name_step(takt_planner *p, const takt_cuda_launch *l);
/* The operation that a node reduces with, TAKT_REDUCE_OP_COUNT if it does not; and over which of
 * `rank` axes. */
takt_reduce_op takt_cuda_reduce_op(const takt_node *n);
void takt_cuda_reduced_axes(const takt_node *n, int rank, bool *is_reduced);
/* Batches of a product as two loops at most; false if they are more. */
bool takt_cuda_set_batches(const takt_product *mm, takt_cuda_gemm *g);

/* ---- epilogues of products and convolutions ---- */

/* Whether a node adds the same row to all rows of `columns` elements of `value`. */
bool takt_cuda_adds_row(const takt_graph *g, const takt_node *n, takt_id value, size_t columns);
/* NULL if element-wise `node` may be computed in the step of `anchor`. */
const char *takt_cuda_absorbs(const takt_graph *g, takt_id anchor, takt_id node);
/* The part of p->group->nodes[1..] that the kernel computes, on rows of `columns` elements, and the
 * number of these nodes. Adds their operands to the step. */
TAKT_MUST_USE takt_status takt_cuda_epilogue_of(takt_planner *p, size_t columns,
                                                takt_cuda_epilogue *e, size_t *taken);
/* The group's nodes from `first` on as an element-wise launch over step->out[0], which holds the
 * value before them; the step's output. */
TAKT_MUST_USE takt_status takt_cuda_map_after(takt_planner *p, size_t first, takt_cuda_launch *l);
/* The step of a product with all that follows it; its inputs are on the device. If there are
 * `fours`, they become A first. */
TAKT_MUST_USE takt_status takt_cuda_product_step(takt_planner *p, takt_cuda_gemm *g,
                                                 uint32_t batches, size_t columns,
                                                 const takt_cuda_fours *fours);

/* A constant matrix, or several, as device code reads them best: [count][k][n], n rounded up to a
 * multiple of four. */
typedef struct takt_cuda_matrices {
    size_t count, k, n, each; /* each: stride between elements, as they are stored */
    size_t row, col;          /* and between its rows and columns */
    size_t part; /* 0, or a divisor of k: after every `part` lines there is one of -0, whose product
                    with 0 changes no sum */
} takt_cuda_matrices;

static inline size_t takt_cuda_columns(size_t n)
{
    return (n + 3) / 4 * 4;
}
static inline size_t takt_cuda_lines(const takt_cuda_matrices *m)
{
    return m->part > 0 ? m->k / m->part * (m->part + 1) : m->k;
}
/* Adds the packed matrices of constant `from` to the step's inputs. */
TAKT_MUST_USE takt_status takt_cuda_packed(takt_planner *p, takt_id from,
                                           const takt_cuda_matrices *m, size_t *index);

/* The device that the plan is made for, and its resources for kernels. */
const takt_cuda *takt_cuda_of(const takt_planner *p);
takt_cuda_block_room takt_cuda_room(const takt_planner *p);

#endif
