/* cpu.h - the cpu backend: one file per kind of step.
 *
 * A kind decides which primitive ops it accepts and turns a group of nodes into a step. The folder
 * `step/` is the list: step/<kind>.c defines `const takt_cpu_kind takt_cpu_<kind>`.
 */
#ifndef TAKT_BACKEND_CPU_H
#define TAKT_BACKEND_CPU_H

#include "base/mem.h"
#include "base/size.h"
#include "op/ops.h"
#include "plan/backend.h"

typedef struct takt_cpu_kind {
    const char *name;
    takt_family family; /* its cap on vector code applies; 0: move */
    takt_work work;     /* facts of its steps */
    bool is_cheap;
    bool is_steady; /* accepts or refuses a node independently of its sizes */
    /* NULL if this kind runs the (non element-wise) node, else the reason, or "" for "not mine". */
    const char *(*accepts)(const takt_graph *g, takt_id node);
    /* NULL if the element-wise `node` may follow `anchor` inside the step; NULL pointer: never. */
    const char *(*absorbs)(const takt_graph *g, takt_id anchor, takt_id node);
    /* NULL if this kind computes the group and then `node`, another anchor and the only reader of
     * its result, as one step; else the reason, or "" for "not mine"; NULL pointer: never. */
    const char *(*continues)(const takt_planner *p, const takt_group *group, takt_id node);
    /* True if its step of `node` converts input k itself (takt_backend.converts); NULL: never. */
    bool (*converts)(const takt_graph *g, takt_id node, uint32_t k);
    /* True if the kind runs this composite op whole, with the bits of its lowering; NULL: none. */
    bool (*keeps)(const takt_graph *g, const takt_node *n);
    /* The whole group: p->group, p->step. */
    takt_status (*compile)(takt_planner *p);
} takt_cpu_kind;

/* The caller's blocking of products, a copy of the plan's; NULL: the kernels' default. */
TAKT_MUST_USE takt_status takt_cpu_blocking(takt_planner *p, const takt_gemm_blocking **blocking);
/* How many tasks pay off for work that costs `flops` and moves `bytes`, at most `most`. */
size_t takt_cpu_tasks(const takt_planner *p, double flops, double bytes, size_t most);
/* How many parts pay off, on a single thread, for work that reads and writes `bytes`, at most
 * `most`: every second run processes them from the last to the first (takt_execution.is_back). */
size_t takt_cpu_reversible_parts(const takt_planner *p, double bytes, size_t most);
/* Lines that a set of L1 is known to hold; 0: few. */
size_t takt_cpu_ways(const takt_planner *p);
/* Items [*first, *end) of `count` that task `index` of `tasks` does, cut at multiples of `grain`.
 */
void takt_cpu_share(size_t count, size_t grain, size_t index, size_t tasks, size_t *first,
                    size_t *end);

/* To whole cache lines: where the next piece of scratch memory may begin. */
static inline size_t takt_cpu_aligned(size_t bytes)
{
    return takt_round_up(bytes, TAKT_ALIGN);
}

#endif
