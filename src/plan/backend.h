/* backend.h - what runs steps, and how to write a backend.
 *
 * A plan is made group by group. For every group (one node, or several that are fused) the chosen
 * backend is asked, node by node, whether it `supports` it; if it returns a reason, that is
 * shown to the user and the plan's fallback, which runs everything, takes the group. Otherwise
 * `compile` fills in the step: what it reads and writes, and the function that does the work. A
 * backend is thus a `takt_backend` with three members that follow these rules:
 *
 *   supports(g, node)  looks at the op (compare g->nodes[node].op with &takt_op_NAME of op/ops.h),
 *                      at its attributes in the order of the op's record (n->attr[k]; `takt ops
 *                      NAME` lists them), and at types: n->type is the first result's,
 *                      takt_type_of(g, n->in[k]) an input's, TAKT_NONE an omitted input.
 *                      All dimensions are numbers here.
 *   compile(p)         for p->group: takes views of what it reads (takt_planner_input) and writes
 *                      (takt_planner_output), in any order; they become step->in[] and step->out[].
 *                      In a fused group, values that pass from node to node inside need no memory;
 *                      those for which takt_planner_escapes is true must be written. Facts for
 *                      the run go into memory of the plan (takt_planner_get), which step->data
 *                      points to. Then step->kind, step->run and, if the work can be shared,
 *                      step->task_count and scratch are set. Nothing else of the step is touched.
 *   run(step, task)    does task `task->index` of step->task_count: reads takt_view_data(task,
 *                      &step->in[k]), dense row-major, writes step->out[k]. It may be called by
 *                      several threads at once for different tasks; it must not allocate, fail, or
 *                      let a result depend on the number of threads. It may wait only for work
 *                      that a running task has begun (cpu/crew.h). An element that cannot be
 *                      computed (step->can_fault, step->fault_id) is merged into task->fault by
 *                      takt_fault_merge.
 *
 * Every backend guarantees: results depend only on the graph and the values, not on how nodes are
 * grouped, on threads, or on earlier runs; all of an output is written; inputs are not.
 *
 * A backend with its own memory has a `device` (device.h) and five more functions. Its steps get
 * views in that memory; the plan copies values there and back by separate steps, marked by their
 * `transfer`, and places everything. The executor runs segments, which are sequences of steps in
 * one space:
 *
 *   session_open   once per session: streams, recorded graphs. Addresses are fixed by then, except
 *                  for the caller's buffers (inputs and outputs), which may change in every run.
 *   enqueue        starts all steps of a segment, in order, including copies; it may return before
 *                  they have run. When profiling, every step is a separate segment.
 *   wait           returns when they have. Cancel and deadline are checked between segments.
 *   session_close  frees what session_open made, even after a failure.
 *
 * A step of such a backend is data: its `run` is never called by the executor. tests/util/late.c is
 * a complete one, whose device is a block of memory and a thread.
 *
 * examples/backend/plain.c is a complete backend; takt_backend_add (api/backends.h) registers one
 * with a context; tests/backend/example.c runs the suite on it: copy both to start.
 */
#ifndef TAKT_PLAN_BACKEND_H
#define TAKT_PLAN_BACKEND_H

#include "plan/plan.h"

/* Nodes that become one step: an anchor and the nodes fused after it, in graph order; then perhaps
 * a second anchor and the nodes fused after that. For a map step all nodes are element-wise and
 * nodes[0] is merely the first. */
typedef struct takt_group {
    takt_id *nodes;
    size_t count;
    size_t anchor; /* the index of the last one */
    bool is_map;
    bool is_commit; /* writes over the state: runs last */
} takt_group;

/* The services for a backend that compiles a step. Everything is borrowed. */
typedef struct takt_planner {
    takt_ctx *ctx;
    takt_plan *plan;
    const takt_graph *graph;
    const takt_plan_settings *settings;
    takt_step *step; /* being compiled: the backend fills it in */
    const takt_group *group;
    const uint32_t *uses;             /* users of a node's value, outputs and next values counted */
    const unsigned char *is_constant; /* per node: depends on constants alone */
    /* Scratch of the same step in the plan for the largest sizes of a range: a smaller size must do
     * with it; SIZE_MAX: there is no such plan. */
    size_t scratch_room;
} takt_planner;

/* Whether the scratch that the step has so far fits its room. */
bool takt_planner_has_room(const takt_planner *p);
/* A zeroed block in the plan's arena; NULL if out of memory (recorded). */
void *takt_planner_get(takt_planner *p, size_t bytes);
/* A text in the plan's arena that says what a pack depends on; NULL if out of memory. */
const char *takt_planner_text(takt_planner *p, const char *format, ...) TAKT_PRINTF(2, 3);
/* The same for a pack that does not depend on sizes of inputs: it is written once. */
const char *takt_planner_same_text(takt_planner *p, const char *format, ...) TAKT_PRINTF(2, 3);
/* The step takes memory from elsewhere: it cannot be recompiled in place for other sizes. */
void takt_planner_rigid(takt_planner *p);
/* The value stored when this step was first compiled; NULL: this is the first time. */
const void *takt_planner_recall(takt_planner *p);
TAKT_MUST_USE takt_status takt_planner_remember(takt_planner *p, const void *kind);
/* The dense view of a node's value: an input or a result of the step. The buffer exists already
 * for inputs and is made for results. */
TAKT_MUST_USE takt_status takt_planner_view(takt_planner *p, takt_id node, takt_view *view);
/* Adds `node` to step->in and returns its index. */
TAKT_MUST_USE takt_status takt_planner_input(takt_planner *p, takt_id node, size_t *index);
TAKT_MUST_USE takt_status takt_planner_output(takt_planner *p, takt_id node, size_t *index);
/* Adds all inputs of `n` to step->in, in order. */
TAKT_MUST_USE takt_status takt_planner_inputs(takt_planner *p, const takt_node *n);
/* Adds result `k` of the anchor; an unused one of several gets memory for the duration of the
 * step. */
TAKT_MUST_USE takt_status takt_planner_result(takt_planner *p, takt_id anchor, uint32_t k,
                                              size_t *index);
/* Adds all results of the anchor to step->out, in order. */
TAKT_MUST_USE takt_status takt_planner_outputs(takt_planner *p, takt_id anchor);
/* Like _output, but the result replaces step->in[input] if nothing reads that afterwards: the
 * kernel must allow dst == src exactly. */
TAKT_MUST_USE takt_status takt_planner_output_over(takt_planner *p, takt_id node, size_t input,
                                                   size_t *index);
/* Like _output_over for the next value of a state that is step->in[input], if nobody reads the old
 * one afterwards: `*is_state` is then set, and step->undo must be able to undo the step, for which
 * step->out[*kept] is `bytes` bytes that nobody else writes in this run; SIZE_MAX: no undo is
 * needed, since nobody sees the writes of a failed run. */
TAKT_MUST_USE takt_status takt_planner_output_state(takt_planner *p, takt_id node, size_t input,
                                                    size_t bytes, size_t *kept, bool *is_state);
/* A new constant of `bytes` bytes that step->in[*index] then views as raw u8, made at plan time by
 * `fill` (not called for a dry plan) from the constant node `from`. Equal (from, format, bytes,
 * fill) requests share: `format` says all that `fill` depends on, sizes of the step's own view too.
 */
typedef takt_status takt_fill_fn(void *user, const void *from, void *to);
TAKT_MUST_USE takt_status takt_planner_packed(takt_planner *p, takt_id from, const char *format,
                                              size_t bytes, takt_fill_fn *fill, void *user,
                                              size_t *index);
/* The same for data that several threads may pack: `part` does part `index` of `count`. If `span`
 * says that a part reads only bytes [span[0], span[1]) of the source, `from` is where those begin,
 * and weights that are in a file are read part by part. */
typedef takt_status takt_fill_part_fn(const void *user, const void *from, void *to, size_t index,
                                      size_t count);
typedef void takt_fill_span_fn(const void *user, size_t index, size_t count, size_t span[2]);
typedef struct takt_filler {
    const char *format;
    size_t bytes;
    takt_fill_fn *fill;
    takt_fill_part_fn *part; /* or NULL */
    takt_fill_span_fn *span; /* or NULL */
} takt_filler;
TAKT_MUST_USE takt_status takt_planner_packed_by(takt_planner *p, takt_id from,
                                                 const takt_filler *how, void *user, size_t *index);
/* Whether takt_planner_packed accepts the value: constants, and state whose packed forms sessions
 * keep between runs; also a transpose or cast of such state. `fill` must not fail for state. */
bool takt_planner_is_kept(const takt_planner *p, takt_id node);
/* A form of such state that is packed by several threads: step->in[*index] views it as raw u8. */
typedef struct takt_packer {
    const char *format;
    size_t bytes;
    takt_step_run_fn *run; /* of a step: from in[0] to out[0], task `index` of `parts` */
    const void *data;      /* of that step, in the plan's arena */
    size_t parts;
    takt_fill_fn *fill; /* that `run` calls, or NULL */
    size_t room;        /* bytes of scratch that `run` needs */
} takt_packer;
TAKT_MUST_USE takt_status takt_planner_form(takt_planner *p, takt_id node, const takt_packer *how,
                                            size_t *index);
/* From a constant inside a subgraph of the node being compiled; not shared. */
TAKT_MUST_USE takt_status takt_planner_inner(takt_planner *p, const takt_tensor *from,
                                             const char *format, size_t bytes, takt_fill_fn *fill,
                                             void *user, size_t *index);
/* True if the node's value is known at plan time (its bytes exist before the step is compiled). */
bool takt_planner_is_constant(const takt_planner *p, takt_id node);
/* True while a step is compiled that runs once, at plan time: packing for it would not pay. */
bool takt_planner_in_prologue(const takt_planner *p);
/* The kernel of `family` for the step; NULL if there is none. */
const takt_kernel *takt_planner_find(takt_planner *p, const char *family);
/* The same, recorded in the step as the kernel that does its work. */
const takt_kernel *takt_planner_kernel(takt_planner *p, const char *family);
/* Sets the step's note to the reason why it has no products of 16 bits though the caller allows
 * them, unless it has another note. */
void takt_planner_lacks_fast(takt_planner *p, const char *why);
/* True if the group should be one task, which saves the scratch of other threads. */
bool takt_planner_is_single_threaded(const takt_planner *p);
/* True if the group's node `id` has users outside the group, or is an output. */
bool takt_planner_escapes(const takt_planner *p, takt_id id);

/* The plan of a subgraph of the node being compiled: prepared by the same passes, for one thread,
 * released with this plan. The caller provides its arena, in the step's scratch. */
TAKT_MUST_USE takt_status takt_planner_child(takt_planner *p, const takt_graph *g,
                                             takt_plan **child);
/* The same with the steps of the subgraph on the device of this plan, as far as it runs them. Not
 * for subgraphs in which values decide sizes. */
TAKT_MUST_USE takt_status takt_planner_child_away(takt_planner *p, const takt_graph *g,
                                                  takt_plan **child);

/* Memory that a session takes for steps of a device, besides constants, state and arena, in bytes.
 */
typedef struct takt_session_memory {
    uint64_t counters;       /* on the device: fault words, counts of runs and of finished blocks */
    uint64_t pinned, bodies; /* on the host; bodies: of If, Loop and Scan */
} takt_session_memory;

/* Only name, supports and compile are required. */
struct takt_backend {
    const char *name, *summary; /* "plain": for --backend; a line for `takt backends` */
    const char *good_for;       /* when to choose it */
    /* Its components, e.g. the available libraries; absent: Takt's own version. */
    void (*version)(char *to, size_t size);
    /* What open() found: name, version, threads; absent: nothing to report. */
    void (*about)(const void *state, char *to, size_t size);
    /* Nodes that it is meant for, for requirements; absent: all. */
    bool (*claims)(const takt_graph *g, takt_id node);
    /* NULL if it can be used here, else the reason; absent: always. */
    const char *(*available)(void);
    /* Opens what steps will need, e.g. a library named by `which` (NULL: any) limited to `threads`,
     * or a device; absent: nothing. Called once per context and pair of arguments; the context
     * closes it when it ends. */
    takt_status (*open)(takt_ctx *ctx, const char *which, int threads, void **state);
    void (*close)(takt_ctx *ctx, void *state);
    /* NULL if it can run an op with these types, else the reason. */
    const char *(*supports)(const takt_graph *g, takt_id node);
    /* True if it runs this composite op directly, with the bits of its lowering; absent: all are
     * lowered to simpler ones. */
    bool (*keeps)(const takt_graph *g, const takt_node *n);
    /* NULL if element-wise `node` may be fused after `anchor` as an epilogue, else the reason;
     * absent: nothing is fused after other steps than element-wise ones. */
    const char *(*absorbs)(const takt_graph *g, takt_id anchor, takt_id node);
    /* NULL if `node`, which is not element-wise and is the only reader of the group's result, may
     * be computed in the same step; else the reason, "" if it is not worth reporting; absent:
     * never. */
    const char *(*continues)(const takt_planner *p, const takt_group *group, takt_id node);
    /* True if a step of `node` reads input k, a conversion between f32 and 16 bits, as a view in
     * the type before it, and converts it itself; absent: never. */
    bool (*converts)(const takt_graph *g, takt_id node, uint32_t k);
    /* Fills in p->step; a failure ends the plan. */
    takt_status (*compile)(takt_planner *p);
    /* Every node is a separate step, even one that others lower or fuse. */
    bool is_reference;
    /* Its performance, from the result of open() or the instructions that it may use; absent: as
     * the fallback. */
    const takt_machine *(*machine)(const void *state, takt_isa_set isas);

    /* Its memory; NULL: the host's, and the following are absent, too. */
    const takt_device *device;
    /* `base`: per buffer of the plan, as in takt_execution; `arena`: of its space, for scratch.
     * Both stay valid until session_close. Failures are recorded in the plan's context. */
    takt_status (*session_open)(void *state, const takt_plan *plan, void *const *base,
                                unsigned char *arena, void **part);
    void (*session_close)(void *part);
    /* Failures go into x->error. After one, no work of the segment is pending. */
    takt_status (*enqueue)(void *part, const takt_execution *x, const takt_segment *g);
    /* TAKT_OK: everything has run. An element that could not be computed is in x->fault, `*step`
     * being the first step that met one; the executor turns it into an error. Any other failure is
     * in x->error, `*step` being the failed step, if known. In any case no work of the segment is
     * pending any more. */
    takt_status (*wait)(void *part, const takt_execution *x, const takt_segment *g, size_t *step);
    /* Step `step`, a copy from or to the caller's buffer, has new addresses in the session's bases.
     * `is_away`: the caller's side is in the device's memory, too; if both sides are the same
     * place, nothing is copied. Absent: the caller's buffers are on the host. */
    takt_status (*session_bind)(void *part, size_t step, bool is_away);
    /* Segments go to this queue of the caller's, such as a CUDA stream. A backend with this
     * function lets the caller of enqueue return much later to wait, or to enqueue the same
     * again. */
    takt_status (*session_stream)(void *part, void *stream);
    /* The performance of the device that open() found, measured now, in well under a second;
     * returns the number of rates, at most TAKT_DEVICE_RATES. Absent: unknown. */
    size_t (*rates)(void *state, takt_device_rate *rates);
    /* Adds what a session of the plan takes for steps of `space`. Absent: nothing. */
    void (*session_memory)(const takt_plan *plan, takt_space space, takt_session_memory *m);
};

static inline takt_session_memory takt_session_memory_of(const takt_plan *plan, takt_space space)
{
    takt_session_memory m = {0};
    if (plan->space[space].backend->session_memory != NULL)
        plan->space[space].backend->session_memory(plan, space, &m);
    return m;
}

#endif
