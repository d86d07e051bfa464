/* op_memory.c - every op's samples, built, differentiated and run while memory fails. */
#include <string.h>

#include "grad/grad.h"
#include "interp/interp.h"
#include "lang/parse.h"
#include "op/ops.h"
#include "test.h"
#include "util/inject.h"

typedef struct subject {
    const takt_op *op;
    const char *text;
} subject;

static takt_status differentiate(takt_graph *g)
{
    takt_id in[TAKT_SAMPLE_INPUTS], result[TAKT_SAMPLE_INPUTS];
    const takt_id out = g->outputs[0].id;
    size_t count = 0;
    for (size_t i = 0; i < g->input_count; i++)
        if (takt_dtype_is_float(takt_type_of(g, g->inputs[i].id)->dtype))
            in[count++] = g->inputs[i].id;
    if (count == 0 || !takt_dtype_is_float(takt_type_of(g, out)->dtype))
        return TAKT_OK;
    const takt_grad_request request = {
        .out_count = 1, .out = &out, .in_count = count, .in = in, .result = result};
    const takt_status status = takt_grad_append(g, &request);
    return status == TAKT_ERR_UNSUPPORTED ? TAKT_OK : status; /* no gradient */
}

/* On zeros: the test is about leaks and crashes, not the result. */
static takt_status evaluate(takt_ctx *ctx, const takt_graph *g)
{
    takt_array in[TAKT_SAMPLE_INPUTS] = {0}, out[TAKT_MAX_OUTPUTS] = {0};
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < g->input_count && status == TAKT_OK; i++)
        status = takt_array_create(ctx, takt_type_of(g, g->inputs[i].id), &in[i]);
    if (status == TAKT_OK)
        status = takt_interpret_arrays(ctx, g, in, NULL, out, NULL);
    for (size_t i = 0; i < g->output_count; i++)
        takt_array_release(ctx, &out[i]);
    for (size_t i = 0; i < g->input_count; i++)
        takt_array_release(ctx, &in[i]);
    return status == TAKT_ERR_RANGE ? TAKT_OK : status; /* zero is neither a divisor nor a scale */
}

static takt_status scenario(takt_inject *inject, void *user)
{
    const subject *s = user;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_graph *g;
    takt_inject_config(inject, &config);
    TAKT_TRY(takt_ctx_create(&config, &ctx));
    takt_status status = takt_sample_graph(ctx, s->op, s->text, &g, NULL);
    if (status == TAKT_OK) {
        status = evaluate(ctx, g);
        if (status == TAKT_OK)
            status = differentiate(g);
        takt_graph_destroy(g);
    }
    takt_ctx_destroy(ctx);
    return status;
}

static void memory(void)
{
    for (size_t i = 0; i < takt_op_count; i++) {
        subject s = {.op = takt_ops[i], .text = takt_ops[i]->samples[0]};
        if (s.text == NULL)
            continue;
        const takt_sweep_report r = takt_sweep(scenario, &s, TAKT_INJECT_MEMORY);
        EXPECT(r.is_good, "%s: %s: %s", s.op->name, s.text, r.message);
    }
}

TEST_MAIN(memory)
