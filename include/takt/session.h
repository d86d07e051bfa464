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

/** Threads that sessions share. A session that finds them busy works alone; bits do not change. */
TAKT_API TAKT_MUST_USE takt_status takt_pool_open(takt_ctx *ctx, int threads, takt_pool **pool);
/** Accepts NULL. Its sessions must be gone. */
TAKT_API void takt_pool_close(takt_pool *pool);

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_session_options {
    size_t size;
    takt_pool *pool; /**< borrowed until the session dies, of at most the plan's threads; default:
                          one of the session's own */
    void *arena;     /**< memory for activations and scratch, 64-byte aligned; default: allocated */
    uint64_t arena_bytes;
} takt_session_options;

TAKT_API TAKT_MUST_USE takt_status takt_session_create(takt_plan *plan,
                                                       const takt_session_options *options,
                                                       takt_session **session);
/** Accepts NULL. */
TAKT_API void takt_session_destroy(takt_session *session);

/** Descriptions with the plan's concrete sizes. */
TAKT_API size_t takt_session_input_count(const takt_session *session);
TAKT_API size_t takt_session_output_count(const takt_session *session);
TAKT_API const takt_desc *takt_session_input_desc(const takt_session *session, size_t index);
TAKT_API const takt_desc *takt_session_output_desc(const takt_session *session, size_t index);

/** The caller's buffer for an input or output, borrowed until it is bound anew or the session dies.
 *  Dense row-major buffers are used where they lie; a slice, Fortran order or a buffer that is not
 *  aligned for its elements costs one copy a run, through memory that the binding makes.
 *  `view->data` NULL: back to the session's own memory. */
TAKT_API TAKT_MUST_USE takt_status takt_session_bind(takt_session *session, const char *name,
                                                     const takt_tensor_view *view);
/** Where the value is: the bound buffer, or the session's own memory, which may be written
 *  (inputs) before and read (outputs) after a run. NULL beyond the last. */
TAKT_API const takt_tensor_view *takt_session_input(takt_session *session, size_t index);
TAKT_API const takt_tensor_view *takt_session_output(takt_session *session, size_t index);

TAKT_API TAKT_MUST_USE takt_status takt_session_run(takt_session *session);
/** Gives up with TAKT_ERR_DEADLINE between two steps once `budget_ns` have passed. */
TAKT_API TAKT_MUST_USE takt_status takt_session_run_deadline(takt_session *session,
                                                             uint64_t budget_ns);
/** From any thread: the run in progress, or the next one, ends with TAKT_ERR_CANCELLED. */
TAKT_API void takt_session_cancel(takt_session *session);
/** State back to its initial values. */
TAKT_API void takt_session_reset(takt_session *session);
/** Another session of the same plan, with the same state, and nothing bound. */
TAKT_API TAKT_MUST_USE takt_status takt_session_clone(const takt_session *session,
                                                      takt_session **clone);
/** Makes the next run as fast as the others: memory of outputs, pages of the arena, threads, and,
 * if every input has data, one run whose effect on the state is taken back. */
TAKT_API TAKT_MUST_USE takt_status takt_session_warmup(takt_session *session);
/** Other sizes ("batch=8,seq=128") for the named dimensions. `model` is the one that the session's
 *  plan was made from: a plan keeps no weights that it does not need, so it must be given again.
 * The new plan has the old one's options and comes from the cache; state is kept; what was bound
 * must be bound again. TAKT_ERR_SHAPE if a state's shape depends on the sizes. After a failure the
 * session is as it was. */
TAKT_API TAKT_MUST_USE takt_status takt_session_reshape(takt_session *session,
                                                        const takt_model *model, const char *sizes);
/** A tensor for an input or output of a model, by name. */
typedef takt_known_input takt_named_view;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_many_options {
    size_t size;
    const char *dim;    /**< the dimension that counts samples; default: the first input's first */
    int64_t batch_size; /**< samples in one run; default 32 */
    int jobs;           /**< sessions at work at once; default: one per core */
    const takt_plan_options *plan; /**< how to compile; sizes of the other dimensions; threads of
                                        one session, default 1 */
} takt_many_options;

/** Runs a model over many samples: inputs and outputs whose first dimension counts them are cut
 * into batches, the last of which may be shorter, and shared out among sessions; other inputs are
 * given whole to each. Every input and output must be there. The bits do not depend on batches and
 * jobs. The first failure ends it; the outputs are then undefined. Models whose state goes from run
 * to run are refused. */
TAKT_API TAKT_MUST_USE takt_status takt_run_many(const takt_model *model,
                                                 const takt_many_options *options,
                                                 const takt_named_view *views, size_t count);

/** The session's own last failure. */
TAKT_API const takt_error *takt_session_error(const takt_session *session);

#ifdef __cplusplus
}
#endif
#endif
