/**
 * session.h - running a plan: memory for one caller at a time.
 *
 *     takt_session *s;
 *     takt_session_create(plan, NULL, &s);
 *     takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {32, 784}, .data = pixels};
 *     takt_session_bind(s, "x", &x);
 *     takt_session_run(s);
 *     const float *y = takt_session_output(s, 0)->data;
 *
 * Sessions of one plan share its weights; each may be used by one thread at a time, different
 * ones by different threads at once. A run allocates nothing and waits for no other session.
 */
#ifndef TAKT_SESSION_H
#define TAKT_SESSION_H

#include <takt/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_session takt_session;
typedef struct takt_pool takt_pool;

/** Threads that sessions share. A session that finds them busy runs single-threaded; bits do not
 *  change.
 *
 *  @return TAKT_ERR_ARGUMENT for a negative number or one beyond the limit, TAKT_ERR_MEMORY:
 *  `*pool` is then NULL. Where the system refuses threads the pool has fewer */
TAKT_API TAKT_MUST_USE takt_status takt_pool_open(takt_ctx *ctx, int threads, takt_pool **pool);
/** Accepts NULL. Its sessions must be destroyed first. */
TAKT_API void takt_pool_close(takt_pool *pool);

/** Pages of 2 MiB or more instead of 4 KiB: fewer TLB misses. */
typedef enum takt_huge_pages {
    TAKT_HUGE_AUTO, /**< left to the allocator; the default one requests them for large blocks */
    TAKT_HUGE_OFF,  /**< none, even if the system would use them */
    TAKT_HUGE_TRANSPARENT, /**< request them from the system for ordinary memory */
    TAKT_HUGE_EXPLICIT,    /**< from the pool reserved by the administrator; else transparent */
} takt_huge_pages;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_session_options {
    size_t size;
    takt_pool *pool; /**< borrowed until the session dies, of at most the plan's threads; default:
                        the session's own pool */
    /** Memory for activations and scratch, 64-byte aligned, which other sessions may use between
     *  runs; default: allocated. A given arena holds no outputs: unbound outputs get their own
     *  memory, in addition to takt_plan_info.io, which counts some of them in the arena. */
    void *arena;
    uint64_t arena_bytes;
    int64_t spin_ns;  /**< how long a worker of the session's own pool spins before it sleeps; 0: 50
                         us, or none where threads outnumber processors; negative: none */
    const int *cores; /**< processor of each worker, -1: any; worker 0 is the thread that creates
                           the session; borrowed for the call. See takt_set_affinity. */
    size_t core_count;
    takt_huge_pages huge_pages; /**< for the arena; falls back to normal pages */
    bool static_shapes; /**< takt_session_reshape accepts only sizes whose plan is in the cache */
    /** For a plan without checks: the same plan with them. The first run, and every
     *  `check_every`-th after it, first runs with this plan, on the same inputs and state, and
     *  fails if a clause does not hold. takt_session_reshape ends this. */
    takt_plan *checked;
    uint64_t check_every; /**< at least 1 if `checked` is given */
    /** A session of the same context whose state this one shares, such as the cache of two plans
     *  that read a prompt and write token after token. Every state of the plan must be one of that
     *  session's, by name and type. The state lives as long as one of them. Running, or accessing
     *  the state, while another of them runs fails with TAKT_ERR_STATE. */
    takt_session *state_of;
    /** A CUstream of the device that the plan runs on, borrowed until the session dies (NULL: the
     *  session's own; the legacy default stream is (void *)1). takt_session_run then enqueues and
     *  returns; later work in the stream sees outputs on the device. Outputs on the host are
     *  available, and faults are reported, when takt_session_wait returns, or by the next run.
     *  Creation fails if a step of the plan runs on the host, or the model has state. */
    void *stream;
} takt_session_options;

/** Allocates all that runs need and starts the threads; `options` NULL: the defaults. Fails if
 * memory is short, an option contradicts the plan, or a device refuses; `*session` is then NULL.
 * The plan may be destroyed before the session. */
TAKT_API TAKT_MUST_USE takt_status takt_session_create(takt_plan *plan,
                                                       const takt_session_options *options,
                                                       takt_session **session);
/** Accepts NULL. */
TAKT_API void takt_session_destroy(takt_session *session);
/** What the session currently holds from the allocator besides what its plan holds
 *  (takt_plan_info.held), to the byte: its tables, state, arena, memory of inputs and outputs,
 *  threads of its own, and, where sizes have ranges or values decide them, the plan that its runs
 *  resize, which the first run makes. State that sessions share counts in each. */
TAKT_API uint64_t takt_session_held(const takt_session *session);

/** Binds a worker of the session's pool to one processor. Worker 0 is the calling thread, which
 *  must be the one that runs the session. takt_session_error has the reason for a refusal. */
TAKT_API TAKT_MUST_USE takt_status takt_set_affinity(takt_session *session, int worker, int core);
/** Restricts the calling thread, and threads that it starts from now on, to the processors of
 *  `mask`: hexadecimal, bit 0 is processor 0 ("0x5": 0 and 2). Later plans use as many threads.
 *
 *  @return TAKT_ERR_ARGUMENT for a text that is not a mask, or if no processor is left; nothing has
 *  changed then */
TAKT_API TAKT_MUST_USE takt_status takt_cpu_mask(takt_ctx *ctx, const char *mask);
/** The kind of pages that the arena got, and the reason if it is not the requested one; "" if it
 *  is. */
TAKT_API takt_huge_pages takt_session_huge_pages(const takt_session *session, const char **reason);

/** Descriptions with the plan's concrete sizes. */
TAKT_API size_t takt_session_input_count(const takt_session *session);
TAKT_API size_t takt_session_output_count(const takt_session *session);
TAKT_API const takt_desc *takt_session_input_desc(const takt_session *session, size_t index);
TAKT_API const takt_desc *takt_session_output_desc(const takt_session *session, size_t index);
/** Whether values decide the size of an output. Its description has the size that the last run
 * found, or the bound before the first run. A buffer bound to it must have room for the bound. */
TAKT_API bool takt_session_output_varies(const takt_session *session, size_t index);

/** The caller's buffer for an input or output, borrowed until it is bound again or the session
 *  dies. Dense row-major buffers are used in place. So is an input that is a slice or in Fortran
 *  order, if every step that reads it supports its strides: element-wise steps, transposes and
 *  slices, softmax and norms along rows, products with it on the left. Otherwise, and for outputs
 *  and buffers that are not aligned for their elements, every run makes one copy, through the
 *  session's own memory for it; takt_session_describe shows which. A view whose `device` is not 0
 *  is in the memory of a device that the plan runs on, is dense and holds its value when the run
 *  begins (with takt_session_options.stream: in the order of that stream). It is used in place if
 *  it is aligned to 16 bytes; if steps on the host need the value, every run copies it. Memory of
 *  inputs and outputs must not overlap. Where the plan has ranges, a buffer may have any size
 *  inside them: sizes follow from all that is bound when a run begins, or an input or output is
 *  queried, and only then are contradictory buffers refused. Views that the session returned before
 *  are then invalid. `view->data` NULL: back to the session's own memory. Until then that keeps its
 *  value, unless runs copy through it: what takt_session_output returned may be an input once the
 *  output is bound to a dense buffer. If it is part of the arena, the session then gets a second
 *  arena, once. */
TAKT_API TAKT_MUST_USE takt_status takt_session_bind(takt_session *session, const char *name,
                                                     const takt_tensor_view *view);
/** Where the value is: the bound buffer, or the session's own memory, which may be written (inputs)
 *  before and read (outputs) after a run. NULL beyond the last, and if out of memory:
 *  takt_session_error then says so. */
TAKT_API const takt_tensor_view *takt_session_input(takt_session *session, size_t index);
TAKT_API const takt_tensor_view *takt_session_output(takt_session *session, size_t index);
/** Random values for input `index`, as takt_view_random makes them, but integers that index a table
 *  of the model stay below its number of rows. They go into `view`, which has the input's type and
 *  any shape; NULL: into the input itself. */
TAKT_API TAKT_MUST_USE takt_status takt_session_random(takt_session *session, size_t index,
                                                       const takt_tensor_view *view, uint64_t seed,
                                                       uint32_t stream);

/** Computes the outputs from the inputs, and the next state, on this thread and those of the pool;
 *  returns when they are there. Fails if an input breaks a `require` of the model, an index is out
 *  of range, a registered function or a device fails, or takt_session_cancel was called:
 *  takt_session_error says which. State is then as before the run, outputs are undefined, and the
 *  session can run again; if a device is lost, every further run fails, and state may be lost
 *  (TAKT_E_STATE_LOST). */
TAKT_API TAKT_MUST_USE takt_status takt_session_run(takt_session *session);
/** Fails with TAKT_ERR_DEADLINE once `budget_ns` have passed. The clock is read before every step
 *  and every task of a step, inside tasks of every kind after every block of work, at most some 40
 *  million operations or half a million elements (two milliseconds of a slow core), and after the
 *  last step; on a device, between segments. A registered function (takt/op.h), the sort of op
 *  `unique` and a step that writes over state early (an append to a cache) are finished first. A
 *  clock of the caller's own (takt_config.now_ns) is read only on the calling thread, so that a
 *  task on another thread is stopped when the caller's next block or task ends. The commit phase,
 *  in which a run overwrites its state, is exempt: a run that has reached it in time returns
 *  TAKT_OK. State is old or new, never torn; outputs of a run that failed are undefined. */
TAKT_API TAKT_MUST_USE takt_status takt_session_run_deadline(takt_session *session,
                                                             uint64_t budget_ns);
/** From any thread: the run in progress ends with TAKT_ERR_CANCELLED, at the points where deadlines
 *  are checked; if none is in progress, the next one does. No other run is affected: a cancel that
 *  comes too late for its run has no effect. */
TAKT_API void takt_session_cancel(takt_session *session);
/** Called on the session's own thread when a run has ended; it may start the next one, but not
 *  destroy the session. */
typedef void takt_done_fn(void *arg, takt_session *session, takt_status status);
/** Runs on the session's own thread, which the first call starts; returns at once. A plan that runs
 *  entirely on a device needs no thread if `done` is NULL. Until `done` is called (it may be NULL)
 *  or takt_session_wait has returned, nothing but takt_session_cancel and takt_session_wait may be
 *  called on the session, and buffers bound to it are in use. A second run before the first has
 *  ended is refused: the reason is the context's last error. Destroying the session waits for its
 *  end. */
TAKT_API TAKT_MUST_USE takt_status takt_run_async(takt_session *session, takt_done_fn *done,
                                                  void *arg);
/** Waits until no run is in progress; returns the status of the last one. In a child forked during
 *  the run: TAKT_ERR_STATE, at once, because the running thread is the parent's. Models, plans and
 *  idle sessions can be used after a fork; runs in the child have one thread until a new session
 *  starts its own threads. */
TAKT_API TAKT_MUST_USE takt_status takt_session_wait(takt_session *session);
/** Resets the state to its initial values. */
TAKT_API void takt_session_reset(takt_session *session);
/** The states of a session: values that runs keep for later runs. Parameters that no run changes
 *  are constants of the plan, not states, unless their size depends on a named dimension. */
TAKT_API size_t takt_session_state_count(const takt_session *session);
/** Name, type and sizes of state `index`; the name lives until the session is reshaped or dies.
 *  TAKT_ERR_ARGUMENT beyond the last. */
TAKT_API TAKT_MUST_USE takt_status takt_session_state(const takt_session *session, size_t index,
                                                      takt_desc *desc);
/** Copies a state to `view`, which is dense and has its type and shape; one whose data is NULL
 *  receives type and shape instead. */
TAKT_API TAKT_MUST_USE takt_status takt_session_state_get(takt_session *session, const char *name,
                                                          takt_tensor_view *view);
/** Copies `view` to a state: the next run begins with it.
 *
 *  @return TAKT_ERR_NOT_FOUND for another name, TAKT_ERR_ARGUMENT for another type or shape or a
 *  view without data, TAKT_ERR_DEVICE if a device refuses: the state is then unchanged */
TAKT_API TAKT_MUST_USE takt_status takt_session_state_put(takt_session *session, const char *name,
                                                          const takt_tensor_view *view);
/** Writes all states to a file, replacing it: .npz, .npy, the parts of a .index.json, or, for any
 *  other ending, safetensors.
 *
 *  @return TAKT_ERR_IO, TAKT_ERR_FORMAT or TAKT_ERR_SHAPE for a type that the format does not have,
 *  TAKT_ERR_STATE for a model without state, TAKT_ERR_MEMORY: the old file then stays */
TAKT_API TAKT_MUST_USE takt_status takt_session_state_save(takt_session *session, const char *path);
/** Reads all states from such a file. Each must be there with its type and shape; other names are
 *  ignored. On failure the state is unchanged. */
TAKT_API TAKT_MUST_USE takt_status takt_session_state_load(takt_session *session, const char *path);
/** Another session of the same plan, with the same state, and nothing bound.
 *
 *  @return what takt_session_create returns */
TAKT_API TAKT_MUST_USE takt_status takt_session_clone(const takt_session *session,
                                                      takt_session **clone);
/** Makes the next run as fast as later ones: allocates outputs, touches the arena, wakes the
 *  threads, and, if every input has data, runs once and restores the state.
 *
 *  @return what takt_session_run returns; the state is as before */
TAKT_API TAKT_MUST_USE takt_status takt_session_warmup(takt_session *session);
/** Changes the sizes of the named dimensions ("batch=8,seq=128"). `model` is the one that the
 * session's plan was made from: a plan keeps only the weights that it needs, so the model must be
 * passed again. The new plan has the old one's options and comes from the cache; state is kept;
 * what was bound must be bound again, and inputs in the session's own memory must be written again.
 *  TAKT_ERR_SHAPE if a state's shape depends on the sizes. On failure the session is unchanged. */
TAKT_API TAKT_MUST_USE takt_status takt_session_reshape(takt_session *session,
                                                        const takt_model *model, const char *sizes);
/** The same, for sizes that go on changing: where the session does not hold them, it gets a plan
 *  for a range, from 1 to the size, or to twice the end of its range so far if that is more. So
 *  sizes from 1 to 1,000, one after the other, take 11 plans, and in between a size costs what
 *  it costs inside a range. A limit, of memory or of the model, makes the range end earlier;
 *  where no range can be planned, each size gets a plan. Results have the same bits either way.
 *  Names that are not given keep their size and range. On failure sizes and ranges are as they
 *  were; what was bound must be bound again. */
TAKT_API TAKT_MUST_USE takt_status takt_session_fit(takt_session *session, const takt_model *model,
                                                    const char *sizes);
/** What takt_prepare did for one size. */
typedef struct takt_prepared {
    const char *sizes;   /**< "batch=8,seq=2" */
    uint64_t plan_ns;    /**< time to make the plan; 0: it was in the cache */
    uint64_t warmup_ns;  /**< time to touch its pages, wake its threads and run once */
    uint64_t peak_bytes; /**< as in takt_plan_info */
} takt_prepared;
typedef void takt_prepared_fn(void *user, const takt_prepared *one);
/** Makes the plans for a list of sizes, "batch=1,8,32" or "batch=1,8;seq=16,32" (every
 *  combination), puts them into the context's cache and warms a session of each. `options->sizes`
 *  has the other dimensions. A later takt_plan_get, or takt_session_reshape, with one of these
 *  sizes makes no plan. At most as many as the cache holds (32). `each` may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_prepare(const takt_model *model,
                                                const takt_plan_options *options, const char *list,
                                                takt_prepared_fn *each, void *user);
/** A tensor for an input or output of a model, by name. */
typedef takt_known_input takt_named_view;

/** Fills `to` with samples [first, first + count) of input `name`, dense row-major. */
typedef takt_status takt_load_fn(void *user, const char *name, int64_t first, int64_t count,
                                 void *to);
/** Receives such samples of output `name`. */
typedef takt_status takt_store_fn(void *user, const char *name, int64_t first, int64_t count,
                                  const void *from);

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_many_options {
    size_t size;
    const char *dim;    /**< the dimension that counts samples; default: the first input's first */
    int64_t batch_size; /**< samples in one run; default 32 */
    int jobs;           /**< concurrent sessions; default: one per core */
    const takt_plan_options *plan; /**< how to compile; sizes of the other dimensions; threads of
                                        one session, default 1 */
    takt_load_fn *load;   /**< for inputs whose view has no data: called for one batch after the
                             other, never concurrently */
    takt_store_fn *store; /**< the same for outputs, in the order of the samples */
    void *user;           /**< of both */
} takt_many_options;

/** Runs a model over many samples: inputs and outputs whose first dimension counts them are cut
 *  into batches, the last of which may be shorter, and distributed among sessions; other inputs are
 *  passed whole to each. Every input and output must be given; one whose view has no data is loaded
 *  or stored batch by batch while others are computed, through jobs + 2 buffers, so that the data
 *  need not fit into memory. The bits do not depend on batches and jobs. The first failure ends it;
 *  the outputs are then undefined. Models that carry state from run to run are refused. */
TAKT_API TAKT_MUST_USE takt_status takt_run_many(const takt_model *model,
                                                 const takt_many_options *options,
                                                 const takt_named_view *views, size_t count);

/** The session's own last failure. */
TAKT_API const takt_error *takt_session_error(const takt_session *session);

#ifdef __cplusplus
}
#endif
#endif
