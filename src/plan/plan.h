/* plan.h - a plan says how: steps in order, each with a chosen kernel and fixed places in memory.
 *
 * A plan is made for concrete sizes. It is immutable and holds no run memory: sessions bring the
 * arena, and many sessions share one plan and its weights. Running it allocates nothing, decides
 * nothing and cannot fail except by what kernels report (an index out of range, a zero divisor).
 */
#ifndef TAKT_PLAN_PLAN_H
#define TAKT_PLAN_PLAN_H

#include <stdatomic.h>

#include <takt/cpu.h>

#include "base/inner.h"
#include "base/lock.h"
#include "ir/graph.h"
#include "kernel/fault.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/kernel.h"
#include "kernel/poll.h"
#include "os/pool.h"
#include "plan/device.h"

typedef struct takt_plan takt_plan;
typedef struct takt_step takt_step;
typedef struct takt_backend takt_backend;
typedef struct takt_execution takt_execution; /* execute.h */
typedef struct takt_basis takt_basis;         /* basis.h */

/* ---- memory ---- */

typedef enum takt_place_kind {
    TAKT_PLACE_ARENA,    /* at `offset` of the session's arena in the buffer's space */
    TAKT_PLACE_CONSTANT, /* constants[index] of the plan */
    TAKT_PLACE_INPUT,    /* bound by the caller, or session memory */
    TAKT_PLACE_OUTPUT,   /* likewise */
    TAKT_PLACE_STATE,    /* slot `index`: session memory that outlives runs */
    TAKT_PLACE_NEXT,     /* second memory of slot `index`; they are exchanged after the run */
    TAKT_PLACE_FORM,     /* forms[index] of the plan: session memory that outlives runs */
} takt_place_kind;

typedef struct takt_buffer {
    takt_place_kind place;
    takt_space space;
    uint32_t index;
    size_t bytes;
    size_t offset;   /* ARENA: multiple of 64, and of the device's alignment */
    int first, last; /* the steps between which it must live; -1: before the first step */
    takt_id value;   /* the node whose value it holds first, or TAKT_NONE for scratch */
    bool is_guest;   /* lies in an output's memory until the output is written */
} takt_buffer;

/* Elements in a buffer. Kernels get views; graph values have none. */
typedef struct takt_view {
    takt_dtype dtype;
    int rank;
    uint32_t buffer;
    size_t offset; /* bytes into the buffer */
    int64_t dim[TAKT_MAX_RANK];
    int64_t stride[TAKT_MAX_RANK]; /* in elements; dense row-major unless a step asked otherwise */
} takt_view;

/* ---- running ---- */

/* The lowest bad element that a step found; its tasks merge theirs into it. */
typedef struct takt_fault_slot {
    _Atomic uint64_t element; /* TAKT_FAULT_NONE: none */
    _Atomic int64_t value;
    takt_lock lock; /* while the two above change */
} takt_fault_slot;
/* Clears the fault record before a step. */
void takt_fault_reset(takt_fault_slot *slot);
/* Keeps the lower of the two. */
void takt_fault_merge(takt_fault_slot *slot, const takt_fault *fault);

/* One call of a step's run function: task `index` of step->task_count, by worker `worker`. */
typedef struct takt_task {
    void *const *base; /* per buffer of the plan */
    size_t index, worker;
    void *scratch;                   /* step->scratch_bytes shared by the tasks of the step */
    void *scratch_own;               /* step->scratch_each of this worker's own */
    const takt_poll *poll;           /* whether the run is to end; NULL: never before the task */
    takt_fault_slot *fault;          /* NULL unless step->can_fault */
    const takt_execution *execution; /* the run; NULL while a constant step runs */
    takt_pool *pool; /* of a step that shares_pool: leased threads, which it may use; or NULL */
} takt_task;

static inline void *takt_view_data(const takt_task *t, const takt_view *v)
{
    return (char *)t->base[v->buffer] + v->offset;
}

typedef void takt_step_run_fn(const takt_step *step, const takt_task *task);

/* ---- steps ---- */

typedef enum takt_work {
    TAKT_WORK_OTHER,
    TAKT_WORK_MAP,
    TAKT_WORK_PRODUCT,
    TAKT_WORK_MOVE
} takt_work;

/* The kind of work of a step, for reports and measurements: names are for display only. */
typedef struct takt_facts {
    takt_work work;        /* MOVE: bytes go from place to place, nothing is computed */
    takt_dtype arithmetic; /* of products: I8, F16 or BF16; otherwise the operands' type */
    bool is_cheap;         /* computing it twice costs about as much as keeping its value */
    bool is_generic;       /* there is no kernel for it */
    bool is_fast;          /* products of 16 bits, which `numerics = fast` allows */
    bool lacks_fast;       /* its note has the reason */
} takt_facts;

struct takt_step {
    const char *kind;   /* "gemm": static text */
    const char *name;   /* for people: "dense_0: matmul+add+relu" */
    const char *does;   /* the end of it, "matmul+add+relu"; NULL: it says nothing else */
    const char *family; /* of kernels that it was chosen from, "gemm_f32"; NULL: none */
    const char *kernel; /* "gemm_f32/neon_6x16", or "generic" */
    takt_step_run_fn *run;
    /* Run once, on one thread, before the tasks (e.g. widening narrow operands); or NULL. */
    takt_step_run_fn *before;
    /* Then `prepare_count` tasks, all done before the others begin (e.g. packing a matrix that is
     * not constant); or NULL. */
    takt_step_run_fn *prepare;
    size_t prepare_count;
    /* Run once, on one thread, after the tasks (e.g. adding up partial results); or NULL. */
    takt_step_run_fn *after;
    /* Takes back what the step did to visible state; run when a later step of the run fails. */
    takt_step_run_fn *undo;
    /* True if in[`in`], an input of the plan, may have other strides than its view
     * (takt_view_stride of execute.h returns them in a run); NULL: everything is read dense. */
    bool (*reads_view)(const takt_step *step, size_t in, const int64_t *stride);
    takt_view *in, *out;
    size_t in_count, out_count;
    const void *data; /* the kind's own facts, in the plan's arena */
    size_t task_count;
    size_t scratch_bytes, scratch_each;
    size_t scratch_offset; /* in the arena of its space: shared part, then one per worker */
    takt_cost cost;
    const takt_id *nodes; /* of the plan's graph that this step computes; the anchor first */
    size_t node_count;
    const char *weights; /* the type that packed weights are stored in, if narrower than they are
                          * computed in: "bf16"; or NULL */
    const char *note;    /* why it is not faster, e.g. "no kernel for f16: generic"; or NULL */
    takt_facts facts;
    takt_transfer transfer; /* it copies between spaces, and has no run function */
    bool can_fault;
    bool shares_pool;       /* its one task runs tasks of its own on the threads of the run */
    bool is_commit;         /* overwrites visible state: runs last, is never interrupted */
    bool packs_state;       /* makes a form of a state again (takt_state_form) */
    bool is_point;          /* a size point: its result determines the sizes of later steps */
    bool is_driven;         /* of a device: the host decides while it runs, so it is a segment */
    takt_error_id fault_id; /* 0: the step records its failures itself (control flow) */
    const takt_backend *backend;
    takt_space space;  /* in which it reads and writes, copies aside */
    takt_isa_set isas; /* what its kernels may use */
};

/* The value of a slot in another layout, which steps read instead of it. Sessions keep it with the
 * slot: the run that changes the slot ends with `first` and `pack`, and a run begins with them if
 * the slot has been changed otherwise since. */
typedef struct takt_state_form {
    uint32_t slot;
    const char *format; /* all that `pack` depends on, but for the function */
    takt_status (*fill)(void *user, const void *from, void *to); /* which it calls, or NULL */
    size_t bytes;
    takt_id value;    /* the source of its elements: the slot, or a value made from it alone */
    takt_step *first; /* steps that make that value, in the arena, where it is not the slot's own */
    size_t first_count;
    takt_step pack; /* from in[0], that value, to out[0] */
} takt_state_form;

/* A plan's use of a slot of its graph. */
typedef struct takt_plan_slot {
    takt_space space; /* space in which it lies */
    bool is_swapped;  /* the next value is made in other memory, which then becomes the slot's */
    bool is_changed;  /* by every run */
    /* The slot whose old value is the next value of this one: after the run they exchange memory.
     * Such slots form a ring; UINT32_MAX: this one is not in a ring. */
    uint32_t from;
    bool leads_ring; /* set for one slot of each ring */
} takt_plan_slot;

/* Consecutive steps of one space: the unit of work that a backend receives. */
typedef struct takt_segment {
    const takt_backend *backend; /* on the host: of its first step */
    takt_space space;
    size_t first, end; /* steps */
    bool is_commit;    /* overwrites visible state: is not interrupted, and must not fail */
    bool is_point;     /* its last step is a size point */
} takt_segment;

/* A node that could be computed in the step that makes one of its inputs. */
typedef struct takt_fusion {
    takt_id node, from;
    double gain;         /* estimated time apart over time together */
    double bytes;        /* of memory traffic that is saved */
    const char *refused; /* NULL: it is done; else why not */
} takt_fusion;

/* ---- settings ---- */

typedef enum takt_hint { TAKT_HINT_LATENCY, TAKT_HINT_THROUGHPUT, TAKT_HINT_MEMORY } takt_hint;

typedef enum takt_order {
    TAKT_ORDER_GIVEN, /* the graph's */
    TAKT_ORDER_LEAST, /* first the step that frees most memory */
    TAKT_ORDER_DEEP,  /* a branch to its end before the next */
    TAKT_ORDERS
} takt_order;

/* The group of node `what` runs again, right before the group of node `before`. */
typedef struct takt_remat_step {
    takt_id what, before;
} takt_remat_step;

typedef struct takt_plan_settings {
    int threads;       /* tasks are cut for this many */
    takt_isa_set isas; /* of steps that belong to no family */
    takt_isa_set family_isas[TAKT_FAMILIES];
    const takt_backend *backend;  /* preferred */
    const takt_backend *fallback; /* takes what that refuses, on the host; it runs everything */
    const char *library;          /* for its open(), or NULL */
    bool fuse;                    /* false: one step per node */
    double min_gain;              /* fusions with a lower estimated gain are not done; 0: all are
                                   * done */
    bool reuse;                   /* false: no memory is shared, for debugging and comparison */
    bool in_place;                /* false: no step writes over its inputs */
    size_t memory_limit;          /* of weights, state, arena, inputs and outputs; 0: none */
    size_t away_limit;            /* of memory in the preferred backend's own space; 0: none */
    takt_order order;             /* of the groups */
    const takt_remat_step *remat; /* groups that run twice, in order of insertion */
    size_t remat_count;
    const takt_id *single_threaded; /* groups of these nodes are one task: scratch for one thread */
    size_t single_count;
    bool searches;     /* for takt_plan_search: other orders are tried */
    bool recomputes;   /* and cheap values may be computed twice */
    bool has_tradeoff; /* of a training step: `tradeoff` is from 0, least memory, to 1, fastest */
    double tradeoff;
    size_t activation_limit;     /* of a training step: most bytes of the arena; 0: none */
    bool no_winograd;            /* the hint `memory` gave up Winograd, whose weights are larger */
    takt_hint hint;              /* the caller's settings */
    const char *donated;         /* names of inputs that steps may write over: "x,y"; or NULL */
    bool changes_sizes;          /* sessions may run it at other sizes than its own */
    bool is_body;                /* of a subgraph */
    bool is_dry;                 /* no constant is packed or computed: sizes only */
    bool consumes;               /* constants are freed as soon as no step will read them */
    uint64_t passes_off;         /* for subgraphs: the choice of takt_pass_choose for the whole */
    bool lower_all;              /* for subgraphs: only composites of TAKT_WHOLE are kept */
    takt_gemm_blocking blocking; /* of matrix products, if is_blocked */
    bool is_blocked;
    bool is_fast;             /* products by bf16 dot products where the machine has them */
    bool narrows_activations; /* and convolutions read and write bf16 */
    bool widens_activations;  /* values of 16 bits between products are f32 */
    takt_dtype precision;     /* for subgraphs: F16 or BF16 if weights are stored so; else F32 */
    const takt_plan *rooms;   /* of larger sizes, whose places in the arena are taken; or NULL */
    takt_basis *basis;        /* that the graph came from and constants are shared by; or NULL */
    const int64_t *sizes; /* by index of names, that the basis gave the graph; NULL: not known */
    size_t size_count;
} takt_plan_settings;

/* ---- the plan ---- */

/* Sizes that a name may have, and the one that a plan is made for: the highest, unless it is found
 * at run time and the highest sizes of several names exclude each other. */
typedef struct takt_size_range {
    int64_t low, high, top;
    bool is_length; /* values decide it, not inputs */
} takt_size_range;

/* Scratch of so few bytes lies on the stack of the thread that runs the step: it costs the arena
 * nothing, and is in cache. */
enum { TAKT_STACK_SCRATCH = 7 << 10 };

/* One task and nothing around it, as in most small steps. */
static inline bool takt_step_is_plain(const takt_step *s)
{
    return s->task_count == 1 && s->before == NULL && s->prepare == NULL && s->after == NULL;
}

static inline bool takt_step_is_stacked(const takt_step *s)
{
    return (s->scratch_bytes | s->scratch_each) > 0 && s->space == TAKT_HOST &&
           takt_step_is_plain(s) && s->undo == NULL && s->scratch_bytes <= TAKT_STACK_SCRATCH &&
           s->scratch_each <= TAKT_STACK_SCRATCH - s->scratch_bytes;
}

/* Bytes of scratch that a step needs: one of one task, for one worker. */
static inline size_t takt_step_room(const takt_step *s, int threads)
{
    return s->scratch_bytes + s->scratch_each * (s->task_count == 1 ? 1 : (size_t)threads);
}

/* Those that it takes from the arena. */
static inline size_t takt_step_scratch(const takt_step *s, int threads)
{
    return takt_step_is_stacked(s) ? 0 : takt_step_room(s, threads);
}

/* A plan's memory requirements in a space. */
typedef struct takt_plan_space {
    const takt_backend *backend; /* whose memory it is; NULL: the host's */
    void *device;                /* what its open() made; the context's */
    size_t arena, lower_bound, unshared;
    size_t constants, state; /* bytes */
    size_t limit;            /* of their sum with the arena; 0: none was set */
} takt_plan_space;

struct takt_plan {
    takt_ctx *ctx;
    takt_arena arena; /* everything below that has no other owner */
    const takt_backend *backend;
    void *backend_state;   /* what its open() made; the context's */
    takt_graph *graph;     /* concrete, optimised, lowered: the graph that the steps compute */
    takt_basis *basis;     /* that it was made from, or NULL */
    takt_plan *basis_next; /* among those made from it (basis.h) */
    bool has_joined;       /* them */
    bool is_pinning;       /* the constants of its basis, for plans of other sizes */
    bool interprets;       /* some step reads a subgraph while it runs */
    uint32_t references;
    takt_plan *child, *sibling; /* plans of subgraphs, which die with this one */
    struct takt_repeat *body;   /* what makes it the body of a loop that finds sizes; or NULL */
    takt_step *steps;
    size_t step_count;
    takt_segment *segments;
    size_t segment_count;
    takt_plan_space space[TAKT_SPACES]; /* [0]: the host's; sums are below, too */
    size_t space_count;
    takt_buffer *buffers;
    size_t buffer_count;
    uint32_t *buffer_of; /* per node of the graph; UINT32_MAX: it has none (fused away) */
    takt_view *view_of;  /* per node, if it has a buffer, at the sizes of the first plan */
    takt_tensor *constants;
    size_t constant_count;
    /* By index of the graph's names: the size it was made for, which is the top of its range;
     * ranges NULL: this size alone. */
    const int64_t *sizes;
    const takt_size_range *ranges;
    size_t name_count;
    /* Per node: how many of the run-time lengths, in the order in which they are found, must be
     * known before it; NULL: there are none (lengths.c). */
    const uint32_t *latest;
    takt_plan *variants; /* plans for other sizes of the ranges (api/ranges.h), newest first */
    const takt_plan
        *widest;        /* inputs and outputs in a session's own memory have its room; or NULL */
    takt_plan *variant; /* the next of them, under the lock of the plan cache */
    uint64_t made_ns;   /* what making it took */
    uint64_t made_peak; /* bytes that the context had at most until it was made */
    const struct takt_plan_options *options; /* the caller's request, in the arena; or NULL */
    takt_tensor *initial;  /* per slot of the graph: its first value; storage NULL: all zero */
    takt_plan_slot *slots; /* per slot of the graph */
    takt_state_form *forms;
    size_t form_count;
    uint32_t *state_buffers; /* those whose place is STATE or NEXT */
    size_t state_buffer_count;
    bool is_dry;
    int threads;
    bool is_parallel; /* some step has more than one task, or shares_pool */
    takt_isa_set isas, family_isas[TAKT_FAMILIES];
    size_t arena_bytes;    /* activations and scratch */
    size_t scratch_bytes;  /* largest scratch of a step */
    size_t lower_bound;    /* no plan with this step order can need less arena */
    size_t unshared_bytes; /* if nothing were reused */
    /* Per output: its place in the arena while the caller binds no buffer; SIZE_MAX: there is none
     * (ports.c). */
    size_t *output_at;
    size_t given_bytes; /* arena in the graph's own order; 0: no other was tried */
    size_t moved_steps, repeated_steps, single_threaded_steps;
    takt_plan_settings settings; /* the settings it was made with; pointers are the plan's own or
                                  * NULL */
    size_t weight_bytes, packed_bytes, state_bytes, io_bytes;
    const takt_fusion *fusions; /* every opportunity, in graph order */
    size_t fusion_count;
};

/* Whether a plan with these settings (`user`) takes a composite whole: a takt_keep_fn. */
bool takt_plan_keeps(void *user, const takt_graph *g, const takt_node *n);

/* `graph`: concrete and verified, parameters frozen to constants. Retained by the plan. One order
 * is planned, the one that the settings name. */
TAKT_MUST_USE takt_status takt_plan_build(takt_ctx *ctx, takt_graph *graph,
                                          const takt_plan_settings *settings, takt_plan **plan);
/* The same with the order and the repetitions that need the smallest arena, as far as settings
 * allow: candidates are planned dry first. */
TAKT_MUST_USE takt_status takt_plan_search(takt_ctx *ctx, takt_graph *graph,
                                           const takt_plan_settings *settings, takt_plan **plan);
/* Bytes of arena that the best order needs if cheap values may be computed twice; 0: unknown,
 * because the model has been destroyed. */
TAKT_INNER TAKT_MUST_USE takt_status takt_plan_minimum(const takt_plan *plan, size_t *bytes);
struct takt_tally;
/* Adds what the plan has from the allocator (ir/held.h), and not the plans before it in the count.
 */
void takt_tally_plan(struct takt_tally *t, const takt_plan *plan);
TAKT_INNER void takt_plan_retain_internal(takt_plan *plan);
TAKT_INNER void takt_plan_release_internal(takt_plan *plan); /* accepts NULL */

#endif
