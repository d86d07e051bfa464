/**
 * op.h - custom operations.
 *
 * In a model a custom operation has a name and a body, which defines what it computes:
 *
 *     y = custom(x, name="swish2", body=graph(x: f32[4]) { return x * sigmoid(2 * x) })
 *
 * That is enough to run and differentiate it anywhere. A function registered under the name is
 * then used by the cpu backend instead of the body:
 *
 *     takt_register_op(ctx, &(takt_op_def){.name = "swish2", .run = swish2});
 *
 * Threads: register before other threads use the context.
 */
#ifndef TAKT_OP_H
#define TAKT_OP_H

#include <takt/ctx.h>
#include <takt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Computes `out` from `in`: dense, of the types that the body declares. It must not fail, allocate
 *  or keep state, and may be called by several threads at once, each with its own buffers. A
 *  deadline or a cancel does not interrupt it. */
typedef void takt_op_run_fn(void *user, const takt_tensor_view *in, size_t in_count,
                            const takt_tensor_view *out, size_t out_count);

typedef struct takt_op_def {
    const char *name;
    takt_op_run_fn *run;
    void *user; /**< borrowed until the context and all its sessions are gone */
} takt_op_def;

/** Plans made from now on use it. Registering a name again replaces its function.
 *
 *  @return TAKT_ERR_ARGUMENT without a name or a function, TAKT_ERR_MEMORY: nothing is then
 *  registered */
TAKT_API TAKT_MUST_USE takt_status takt_register_op(takt_ctx *ctx, const takt_op_def *def);

#ifdef __cplusplus
}
#endif
#endif
