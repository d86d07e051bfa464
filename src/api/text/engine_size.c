/* engine_size.c - the memory of a server's language model, before a weight is read. */
#include <takt/serve.h>

#include "api/model.h"
#include "api/text/engine.h"
#include "base/options.h"
#include "plan/plan.h"

/* ---- limits ---- */

/* Adds the bytes of a type, or sets `*sum` to the largest number. */
static void add_bytes(const takt_type *type, uint64_t *sum)
{
    size_t bytes;
    if (!takt_type_bytes(type, &bytes) || bytes > UINT64_MAX - *sum)
        *sum = UINT64_MAX;
    else
        *sum += bytes;
}

takt_status takt_engine_check_memory(const takt_engine *e, size_t rows, uint64_t pool)
{
    uint64_t weights = 0, cache = 0, caches;
    const takt_graph *g = e->model->graph;
    const uint64_t limit = e->ctx->limits.bytes;
    for (size_t i = 0; i < g->tensor_count; i++)
        add_bytes(&g->tensors[i]->type, &weights);
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            add_bytes(&g->slots[i].type, &cache);
    if (__builtin_mul_overflow(cache, (uint64_t)rows, &caches))
        caches = UINT64_MAX;
    if (pool > 0 && pool < caches) /* a larger one is refused where it is made */
        caches = pool;
    if (limit == 0 || (weights <= limit && caches <= limit - weights))
        return TAKT_OK;
    (void)takt_fail(e->ctx, TAKT_E_MEMORY,
                    "weights of %llu bytes and caches of %llu for %zu x %lld tokens exceed the "
                    "%llu that may be used",
                    (unsigned long long)weights, (unsigned long long)caches, rows,
                    (long long)takt_engine_context(e), (unsigned long long)limit);
    return takt_fail_hint(e->ctx, "a smaller context is -c N, caches of half the size are -ctk f16 "
                                  "-ctv f16, another limit is --max-ram");
}

/* ---- plans ---- */

typedef struct sizes {
    uint64_t weights, state; /* of the last plan */
    takt_kv_layout layout;
} sizes;

/* Counts a plan that the server makes; `pool`: bytes of the pool that its caches come from, or 0.
 */
static takt_status add(takt_engine *e, size_t rows, const char *what, uint64_t pool, sizes *s)
{
    takt_plan *plan = NULL;
    takt_plan_info info;
    takt_status status = takt_engine_make_plan(e, rows, what, &plan);
    if (status == TAKT_OK) {
        takt_plan_query(plan, &info);
        s->weights = info.weights + info.packed;
        s->state = info.state;
        (void)takt_engine_grows(e, plan);
        if (pool > 0)
            status = takt_kv_divide(e->ctx, plan->graph, rows, pool, &s->layout);
    }
    takt_plan_destroy(plan);
    return status;
}

/* In the order in which takt_server_open makes its plans, which determines the arenas. */
static takt_status add_all(takt_engine *e, size_t rows, uint64_t pool, sizes *s)
{
    char parts[TAKT_PART_SIZES];
    const int64_t context = takt_engine_context(e);
    if (e->options.batch > context)
        e->options.batch = context;
    (void)takt_engine_part_sizes((size_t)e->options.batch, parts);
    if (rows > 1 || pool > 0)
        TAKT_TRY(takt_engine_make_wide(e));
    if (e->rows == 0 && pool > 0)
        return takt_fail(e->ctx, TAKT_E_OPTION, "the model's caches cannot come from a pool");
    if (e->rows > 0) {
        e->rows = rows;
        TAKT_TRY(add(e, rows, NULL, pool, s));
    }
    TAKT_TRY(add(e, 1, NULL, 0, s));
    const uint64_t state = s->state;
    TAKT_TRY(add(e, 1, parts, 0, s));
    const uint64_t weights = s->weights;
    for (size_t width = 2; e->rows > 0; width *= 2) {
        const size_t wide = width < rows ? width : rows, tokens = takt_engine_part(e, wide);
        TAKT_TRY(add(e, wide, NULL, 0, s));
        if (tokens > 0)
            TAKT_TRY(add(e, wide, takt_engine_part_sizes(tokens, parts), 0, s));
        if (width >= rows)
            break;
    }
    s->state = state;
    s->weights = weights;
    return TAKT_OK;
}

static takt_status measure(takt_engine *e, const takt_server_options *o, takt_server_memory *memory)
{
    sizes s = {0};
    const int rows = o->parallel > 0 ? o->parallel : 1;
    const int64_t context = takt_engine_context(e);
    e->is_dry = true;
    if (e->has_encoder)
        return takt_fail(e->ctx, TAKT_E_OPTION,
                         "the model has an encoder: its memory is reported when the server starts");
    TAKT_TRY(add_all(e, (size_t)rows, o->pool_bytes, &s));
    *memory = (takt_server_memory){.weights = s.weights,
                                   .caches = o->pool_bytes > 0 ? s.layout.bytes
                                                               : (uint64_t)rows * s.state,
                                   .parallel = rows,
                                   .context = context,
                                   .pages = (int64_t)s.layout.blocks,
                                   .page_tokens = (int64_t)s.layout.tokens,
                                   .arena = e->arena_total};
    return TAKT_OK;
}

takt_status takt_server_plan(takt_ctx *ctx, const char *path, const takt_server_options *options,
                             takt_server_memory *memory)
{
    takt_server_options o;
    takt_engine e = {.ctx = ctx};
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, memory);
    *memory = (takt_server_memory){0};
    TAKT_NEED(ctx, path);
    TAKT_TRY(takt_options_read(ctx, "takt_server_options", options, &o, sizeof o));
    if (o.parallel < 0 || o.parallel > TAKT_SERVER_TEXTS)
        return takt_fail(ctx, TAKT_E_OPTION, "1 to %d texts are written at a time, not %d",
                         TAKT_SERVER_TEXTS, o.parallel);
    o.text.activations = o.text.activations != NULL ? o.text.activations : "int8";
    takt_status status = takt_engine_open(&e, ctx, path, &o.text, "logits");
    if (status == TAKT_OK)
        status = measure(&e, &o, memory);
    takt_engine_close(&e);
    return status;
}
