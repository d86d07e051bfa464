/* api.c - the interpreter's entry points: packed tensors in and out, arrays, single nodes. */
#include "base/mem.h"
#include "interp/run.h"

takt_status takt_interpret_arrays(takt_ctx *ctx, const takt_graph *g, const takt_array *inputs,
                                  const takt_array *slots, takt_array *outputs, takt_array *next)
{
    interp it = {.ctx = ctx};
    const takt_status status = takt_interp_run(&it, g, inputs, slots, outputs, next);
    takt_interp_forget(&it);
    return status;
}

takt_status takt_interpret_node_by(takt_ctx *ctx, const takt_graph *g, const takt_node *n,
                                   takt_interp_way way, const takt_array *in, takt_array *out)
{
    interp it = {.ctx = ctx};
    const takt_status status = takt_interp_node(&it, g, n, way, in, out);
    takt_interp_forget(&it);
    return status;
}

takt_status takt_interpret_node_polled(takt_ctx *ctx, const takt_graph *g, const takt_node *n,
                                       const takt_poll *poll, const takt_array *in, takt_array *out)
{
    interp it = {.run.poll = poll, .ctx = ctx};
    const takt_status status = takt_interp_node(&it, g, n, TAKT_INTERP_ANY, in, out);
    takt_interp_forget(&it);
    return status;
}

takt_status takt_interpret_node(takt_ctx *ctx, const takt_graph *g, const takt_node *n,
                                const takt_array *in, takt_array *out)
{
    return takt_interpret_node_by(ctx, g, n, TAKT_INTERP_ANY, in, out);
}

/* ---- packed tensors ---- */

typedef struct arrays {
    size_t count;
    takt_array *at;
} arrays;

static takt_status arrays_init(takt_ctx *ctx, size_t count, arrays *a)
{
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof *a->at, "values", &block));
    *a = (arrays){.count = count, .at = block};
    return TAKT_OK;
}

static void arrays_deinit(takt_ctx *ctx, arrays *a)
{
    for (size_t i = 0; i < a->count; i++)
        takt_array_release(ctx, &a->at[i]);
    takt_mem_put(ctx, a->at, a->count * sizeof *a->at);
}

static takt_status unpack(takt_ctx *ctx, const takt_tensor *from, arrays *to)
{
    for (size_t i = 0; i < to->count; i++)
        TAKT_TRY(takt_array_from_tensor(ctx, &from[i], &to->at[i]));
    return TAKT_OK;
}

static takt_status pack(takt_ctx *ctx, const arrays *from, takt_tensor *to)
{
    for (size_t i = 0; i < from->count; i++)
        TAKT_TRY(takt_array_to_tensor(ctx, &from->at[i], &to[i]));
    return TAKT_OK;
}

static void clear_tensors(takt_tensor *tensors, size_t count)
{
    for (size_t i = 0; tensors != NULL && i < count; i++)
        tensors[i] = (takt_tensor){0};
}

static void release_tensors(takt_tensor *tensors, size_t count)
{
    for (size_t i = 0; tensors != NULL && i < count; i++)
        takt_tensor_release(&tensors[i]);
}

/* Everything in and out of one run; zero until made. */
typedef struct job {
    arrays inputs, slots, outputs, next;
} job;

static takt_status run_job(takt_ctx *ctx, const takt_graph *g, const takt_tensor *inputs,
                           const takt_tensor *slots, job *j)
{
    TAKT_TRY(arrays_init(ctx, g->input_count, &j->inputs));
    TAKT_TRY(arrays_init(ctx, g->slot_count, &j->slots));
    TAKT_TRY(arrays_init(ctx, g->output_count, &j->outputs));
    TAKT_TRY(arrays_init(ctx, g->slot_count, &j->next));
    TAKT_TRY(unpack(ctx, inputs, &j->inputs));
    if (g->slot_count > 0 && slots == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "the graph has %zu slots but no values came",
                         g->slot_count);
    TAKT_TRY(unpack(ctx, slots, &j->slots));
    return takt_interpret_arrays(ctx, g, j->inputs.at, j->slots.at, j->outputs.at, j->next.at);
}

takt_status takt_interpret(takt_ctx *ctx, const takt_graph *g, const takt_tensor *inputs,
                           const takt_tensor *slots, takt_tensor *outputs, takt_tensor *next)
{
    job j = {0};
    clear_tensors(outputs, g->output_count);
    clear_tensors(next, g->slot_count);
    takt_status status = run_job(ctx, g, inputs, slots, &j);
    if (status == TAKT_OK)
        status = pack(ctx, &j.outputs, outputs);
    if (status == TAKT_OK && next != NULL)
        status = pack(ctx, &j.next, next);
    if (status != TAKT_OK) {
        release_tensors(outputs, g->output_count);
        release_tensors(next, g->slot_count);
    }
    arrays_deinit(ctx, &j.inputs);
    arrays_deinit(ctx, &j.slots);
    arrays_deinit(ctx, &j.outputs);
    arrays_deinit(ctx, &j.next);
    return status;
}
