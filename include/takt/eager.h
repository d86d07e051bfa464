/**
 * eager.h - one operation at a time, without a model.
 *
 *     takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = numbers};
 *     takt_op_call call = {"softmax", "{\"axis\": 1}", &x, 1, &x, 1};   // in place
 *     takt_op_run(ctx, &call);
 *     takt_einsum(ctx, "ij,jk->ik", ab, 2, &c);
 *
 * The first call of a kind (operation, attributes, types, shapes) makes a plan, which the context
 * keeps; later calls allocate nothing. The bits are those of a model with this operation.
 *
 * Threads: any, at any time: calls of one context wait for each other only while they look for a
 * plan.
 */
#ifndef TAKT_EAGER_H
#define TAKT_EAGER_H

#include <takt/ctx.h>
#include <takt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One call of an operation. */
typedef struct takt_op_call {
    const char *name;       /**< `takt ops` lists them */
    const char *attributes; /**< a JSON object, or NULL for the defaults */
    const takt_tensor_view *in;
    size_t in_count;
    const takt_tensor_view *out; /**< with the results' types and shapes */
    size_t out_count;
} takt_op_call;

/** Runs it. Buffers may be slices, and outputs may overlap inputs. May be called concurrently on
 *  one context.
 *
 *  @return TAKT_ERR_NOT_FOUND if there is no such operation, TAKT_ERR_ARGUMENT for attributes that
 *  it does not have, TAKT_ERR_FORMAT for those that are not JSON, TAKT_ERR_SHAPE for types or
 *  shapes that do not fit, TAKT_ERR_RANGE for values that it does not allow, TAKT_ERR_MEMORY. After
 *  a failure in the run the outputs are undefined, after any other they are unchanged */
TAKT_API TAKT_MUST_USE takt_status takt_op_run(takt_ctx *ctx, const takt_op_call *call);
/** The operation einsum: "ij,jk->ik".
 *
 *  @return what takt_op_run returns */
TAKT_API TAKT_MUST_USE takt_status takt_einsum(takt_ctx *ctx, const char *equation,
                                               const takt_tensor_view *in, size_t in_count,
                                               const takt_tensor_view *out);

#ifdef __cplusplus
}
#endif
#endif
