/* encode.c - models with an encoder: it reads the prompt, and a decoder generates text from a start
 * token. Both are one model with an additional input, `prompt`, which is empty once the encoder is
 * done; a plan for that has none of the encoder's steps. */
#include <stdio.h>
#include <string.h>

#include "api/model.h"
#include "api/text/engine.h"
#include "base/mem.h"
#include "op/ops.h"

bool takt_generator_has_encoder(const takt_generator *g)
{
    return g != NULL && g->engine.has_encoder;
}

takt_status takt_engine_find_encoder(takt_engine *e)
{
    const takt_graph *g = e->model->graph;
    const takt_desc *prompt = takt_model_input(e->model, 2);
    if (prompt == NULL || strcmp(prompt->name, "prompt") != 0)
        return TAKT_OK;
    for (size_t i = 0; i < g->output_count; i++) {
        const takt_node *n = &g->nodes[g->outputs[i].id];
        while (n->op == &takt_op_broadcast)
            n = &g->nodes[n->in[0]];
        if (strcmp(g->outputs[i].name, "start") == 0 && n->op == &takt_op_constant &&
            n->type->dtype == TAKT_I64) {
            const int64_t *start = takt_tensor_data(n->attr[0].tensor);
            e->has_encoder = true;
            e->start = *start;
        }
    }
    return e->has_encoder ? TAKT_OK
                          : takt_fail(e->ctx, TAKT_E_GGUF_UNSUPPORTED,
                                      "the model has a prompt, but no token to start with");
}

takt_status takt_engine_bind_nothing(const takt_engine *e, takt_session *s, size_t rows)
{
    static int64_t nothing;
    takt_tensor_view view = {.dtype = TAKT_I64, .rank = 1, .dims = {0}, .data = &nothing};
    if (e->rows > 0) {
        view.rank = 2;
        view.dims[0] = (int64_t)rows;
        view.dims[1] = 0;
    }
    if (!e->has_encoder || takt_session_bind(s, "prompt", &view) == TAKT_OK)
        return TAKT_OK;
    e->ctx->error = *takt_session_error(s);
    return e->ctx->error.status;
}

takt_status takt_generator_open_encoder(takt_generator *g)
{
    char sizes[64];
    void *block;
    takt_engine *e = &g->engine;
    if (!e->has_encoder)
        return TAKT_OK;
    if (e->start < 0 || e->start >= g->vocabulary)
        return takt_fail(e->ctx, TAKT_E_TOKEN_ID,
                         "the decoder starts with token %lld; the vocabulary has ids from 0 to "
                         "%lld",
                         (long long)e->start, (long long)g->vocabulary - 1);
    (void)snprintf(sizes, sizeof sizes, "source=1..%lld,seq=1,count=1", (long long)g->context);
    if (e->prompt_plan == NULL)
        TAKT_TRY(takt_engine_open_plan(e, sizes, &e->prompt_plan, &e->prompt));
    TAKT_TRY(takt_mem_zero(e->ctx, (size_t)g->context, sizeof *g->prompt, "a prompt", &block));
    g->prompt = block;
    return TAKT_OK;
}

takt_status takt_generator_encode(takt_generator *g, const int32_t *ids, size_t count)
{
    const int32_t start = (int32_t)g->engine.start;
    const int last = g->engine.rows > 0 ? 1 : 0;
    takt_tensor_view view = {.dtype = TAKT_I64, .rank = last + 1, .dims = {1}, .data = g->prompt};
    if (count == 0)
        return TAKT_OK;
    TAKT_TRY(takt_generator_check(g, ids, count));
    for (size_t i = 0; i < count; i++)
        g->prompt[i] = ids[i];
    view.dims[last] = (int64_t)count;
    if (takt_session_bind(g->engine.prompt, "prompt", &view) != TAKT_OK) {
        g->engine.ctx->error = *takt_session_error(g->engine.prompt);
        return g->engine.ctx->error.status;
    }
    return takt_generator_run(g, g->engine.prompt, &start, 1, false);
}
