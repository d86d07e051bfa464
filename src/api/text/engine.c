/* engine.c - opening a language model. */
#include "api/text/engine.h"

#include <stdio.h>
#include <string.h>

#include "api/model.h"
#include "api/session/session.h"
#include "base/ctx.h"
#include "base/options.h"
#include "ir/tensor.h"
#include "op/ops.h"
#include "op/util/block.h"
#include "text/tokenizer.h"

enum { BATCH = 128 };

/* The results are read as rows of floats: a model of another format may have other results. */
static bool gives(const takt_desc *out, const char *name, int rank)
{
    return out != NULL && strcmp(out->name, name) == 0 && out->dtype == TAKT_F32 &&
           out->rank == rank && out->dim_names[rank - 1] == NULL && out->dims[rank - 1] > 0;
}

static takt_status check_model(const takt_engine *e, const char *path, const char *output)
{
    const takt_desc *in = takt_model_input(e->model, 0);
    const bool writes = strcmp(output, "logits") == 0;
    if (in != NULL && strcmp(in->name, "tokens") == 0 &&
        gives(takt_model_output(e->model, 0), output, writes ? 2 : 1))
        return TAKT_OK;
    (void)takt_fail(e->ctx, TAKT_E_GGUF_UNSUPPORTED, "%s: the model %s", path,
                    writes ? "does not generate text" : "is not a sentence encoder");
    return takt_fail_hint(e->ctx,
                          writes ? "`takt embed` takes sentence encoders, such as BERT"
                                 : "encoders are BERT and T5; `takt generate` takes other models");
}

bool takt_engine_rounds(const takt_engine *e)
{
    const takt_graph *graph = e->model->graph;
    for (size_t i = 0; i < graph->count; i++) {
        const takt_node *n = &graph->nodes[i];
        if (n->op == &takt_op_ggml_matmul_i8 ||
            (n->op == &takt_op_block_matmul && n->attr[TAKT_BLOCK_COMPUTE].i64 == TAKT_BLOCK_INT8))
            return true;
    }
    return false;
}

/* Whether keys or values are kept in another type than `wanted`; NULL: any will do. */
static bool keeps_other(const takt_engine *e, const char *wanted)
{
    const takt_graph *g = e->model->graph;
    bool has_floats = true;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE && g->slots[i].type.rank == 3)
            has_floats = has_floats && g->slots[i].type.dtype == TAKT_F32;
    return wanted != NULL && (strcmp(wanted, "f32") != 0 || !has_floats);
}

/* These settings are part of a compiled model. Activations may be rounded less than is allowed. */
static takt_status check_compiled(const takt_engine *e, const char *path, bool is_int8)
{
    const takt_generator_options *o = &e->options;
    const int64_t context = takt_engine_context(e);
    const char *what = NULL;
    if (!e->tokenizer->is_compiled)
        return TAKT_OK;
    if (o->context > 0 && o->context != context)
        what = "context is another one";
    if (keeps_other(e, o->cache_type_k) || keeps_other(e, o->cache_type_v))
        what = "caches are of another type";
    if (o->activations != NULL && !is_int8 && takt_engine_rounds(e))
        what = "activations are rounded";
    if (what == NULL)
        return TAKT_OK;
    (void)takt_fail(e->ctx, TAKT_E_OPTION, "%s: its %s, which was chosen when it was compiled",
                    path, what);
    return takt_fail_hint(e->ctx,
                          "leave the setting out, or compile the model again with it; the "
                          "context is %lld tokens",
                          (long long)context);
}

static takt_status load(takt_engine *e, const char *path, const char *output)
{
    char sizes[144];
    const char *k = e->options.cache_type_k, *v = e->options.cache_type_v;
    const char *tokenizer = e->options.tokenizer, *activations = e->options.activations;
    const bool is_int8 = activations != NULL && strcmp(activations, "int8") == 0;
    if (activations != NULL && !is_int8 && strcmp(activations, "f32") != 0)
        return takt_fail(e->ctx, TAKT_E_OPTION, "activations are f32 or int8, not %s", activations);
    /* Settings in the form that the GGUF reader takes from a caller; 0 is its default. */
    (void)snprintf(sizes, sizeof sizes,
                   "context=%lld,activations=%d,cache_k=%.20s,cache_v=%.20s,weights=late%s",
                   (long long)e->options.context, is_int8 ? 8 : 0, k != NULL ? k : "f32",
                   v != NULL ? v : "f32", strcmp(output, "logits") == 0 ? "" : ",part=encoder");
    TAKT_TRY(takt_tokenizer_load(e->ctx, tokenizer != NULL ? tokenizer : path, &e->tokenizer));
    if (e->options.draft_for != NULL)
        TAKT_TRY(takt_draft_check(e->ctx, e->options.draft_for, e->tokenizer));
    const takt_load_options load = {.size = sizeof load,
                                    .sizes = e->tokenizer->is_compiled ? "weights=late" : sizes};
    const takt_status status = takt_model_load(e->ctx, path, &load, &e->model);
    if (status != TAKT_OK && e->ctx->error.id == TAKT_E_OVERFLOW && e->options.context > 0)
        return takt_fail_hint(e->ctx, "a smaller context is -c N");
    TAKT_TRY(status);
    TAKT_TRY(check_model(e, path, output));
    TAKT_TRY(takt_engine_find_encoder(e));
    TAKT_TRY(check_compiled(e, path, is_int8));
    TAKT_TRY(takt_speculate_check(e));
    return e->options.check == NULL
               ? TAKT_OK
               : e->options.check(e->options.check_user, e->tokenizer, takt_engine_context(e));
}

takt_status takt_engine_open(takt_engine *e, takt_ctx *ctx, const char *path,
                             const takt_generator_options *options, const char *output)
{
    *e = (takt_engine){.ctx = ctx};
    TAKT_TRY(
        takt_options_read(ctx, "takt_generator_options", options, &e->options, sizeof e->options));
    if (e->options.context < 0 || e->options.batch < 0 || e->options.batch > 1 << 16)
        return takt_fail(ctx, TAKT_E_OPTION, "context or batch is impossible");
    if (e->options.threads_batch < 0 || e->options.parallel < 0 ||
        e->options.parallel > TAKT_PARALLEL)
        return takt_fail(ctx, TAKT_E_OPTION,
                         "threads are not negative, and at most %d texts go together",
                         TAKT_PARALLEL);
    e->options.batch = e->options.batch > 0 ? e->options.batch : BATCH;
    return load(e, path, output);
}

/* For one token of each text; other plans read parts of prompts. */
static const char token_sizes[] = "seq=1,count=1";

static bool reads_parts(const char *sizes)
{
    return strcmp(sizes, token_sizes) != 0;
}

/* With a pool, caches are written in place: a copy would read tokens that have no memory. */
static takt_status check_caches(const takt_engine *e, const takt_plan *plan)
{
    for (size_t i = 0; e->kv != NULL && i < plan->graph->slot_count; i++) {
        const takt_plan_slot *slot = &plan->slots[i];
        if (plan->graph->slots[i].type.rank >= 3 &&
            (slot->is_swapped || slot->from != UINT32_MAX || slot->space != TAKT_HOST))
            return takt_fail(e->ctx, TAKT_E_OPTION,
                             "the model's caches cannot come from a pool: state %s is copied",
                             plan->graph->slots[i].name);
    }
    return TAKT_OK;
}

takt_status takt_engine_make_plan(const takt_engine *e, size_t rows, const char *sizes,
                                  takt_plan **plan)
{
    sizes = sizes != NULL ? sizes : token_sizes;
    char text[128];
    const int batch = reads_parts(sizes) ? e->options.threads_batch : 0;
    const takt_plan_options options = {.size = sizeof options,
                                       .sizes = text,
                                       .threads = batch > 0 ? batch : e->options.threads,
                                       .isa = e->options.isa,
                                       .dry = e->is_dry};
    const bool is_done = e->has_encoder && strstr(sizes, "source=") == NULL;
    (void)snprintf(text, sizeof text, e->rows > 0 ? "%s%s,rows=%zu" : "%s%s", sizes,
                   is_done ? ",source=0" : "", rows);
    TAKT_TRY(takt_plan_create(e->model, &options, plan));
    return check_caches(e, *plan);
}

bool takt_engine_grows(takt_engine *e, const takt_plan *plan)
{
    if (e->arena_bytes >= plan->arena_bytes)
        return false;
    e->arena_bytes = plan->arena_bytes;
    e->arena_total += plan->arena_bytes;
    return true;
}

/* Memory for the activations of a session, shared with others. */
static takt_status get_arena(takt_engine *e, const takt_plan *plan, takt_session_options *with)
{
    if (e->arena_bytes < plan->arena_bytes && e->arena_count == TAKT_ENGINE_ARENAS)
        return TAKT_OK; /* the session allocates one */
    if (takt_engine_grows(e, plan)) {
        TAKT_TRY(takt_storage_create(e->ctx, plan->arena_bytes, &e->arenas[e->arena_count]));
        e->arena_count++;
    }
    with->arena = e->arena_count > 0 ? takt_storage_data(e->arenas[e->arena_count - 1]) : NULL;
    with->arena_bytes = e->arena_bytes;
    return TAKT_OK;
}

/* A session with its state: new, shared with the other session, or a row of the store. */
static takt_status make_session(takt_engine *e, takt_plan *plan, size_t row, takt_session **session)
{
    takt_plan_info info;
    takt_plan_query(plan, &info);
    takt_pool *pool = info.threads != e->threads ? e->batch_pool : e->pool;
    takt_session_options with = {.size = sizeof with, .pool = pool, .state_of = e->token};
    TAKT_TRY(get_arena(e, plan, &with));
    if (e->rows > 0 && e->token == NULL)
        TAKT_TRY(takt_session_create_part(plan, &with, e->store, row, session));
    else
        TAKT_TRY(takt_session_create(plan, &with, session));
    (*session)->may_outgrow = true; /* few tokens may need more memory than the largest batch
                                     * does */
    return TAKT_OK;
}

/* One pool serves all plans with that many threads: only one of them runs at a time. The first plan
 * is that for one token. */
static takt_status open_pool(takt_engine *e, const takt_plan *plan)
{
    takt_plan_info info;
    takt_plan_query(plan, &info);
    if (e->pool == NULL)
        e->threads = info.threads;
    takt_pool **pool = info.threads == e->threads ? &e->pool : &e->batch_pool;
    return *pool != NULL ? TAKT_OK : takt_pool_open(e->ctx, info.threads, pool);
}

takt_status takt_engine_open_plan(takt_engine *e, const char *sizes, takt_plan **plan,
                                  takt_session **session)
{
    TAKT_TRY(takt_engine_make_plan(e, 1, sizes, plan));
    TAKT_TRY(open_pool(e, *plan));
    TAKT_TRY(make_session(e, *plan, 0, session));
    return strstr(sizes, "source=") == NULL ? takt_engine_bind_nothing(e, *session, 1) : TAKT_OK;
}

/* Memory for the scores is allocated on first use: now, not with the first token. */
static takt_status make_scores(const takt_engine *e, takt_session *session)
{
    size_t made = 0;
    while (made < e->model->graph->output_count && takt_session_output(session, made) != NULL)
        made++;
    if (made == e->model->graph->output_count)
        return TAKT_OK;
    e->ctx->error = *takt_session_error(session);
    return e->ctx->error.status;
}

static size_t count_scans(const takt_graph *g)
{
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++)
        count += g->nodes[i].op == &takt_op_scan;
    return count;
}

/* State that has to be computed one text at a time gains nothing from batching. */
takt_status takt_engine_make_wide(takt_engine *e)
{
    takt_model *wide;
    const takt_status status = takt_model_batch_active(e->model, "rows", &wide);
    if (status != TAKT_OK)
        return status == TAKT_ERR_UNSUPPORTED ? TAKT_OK : status;
    const bool is_worse = count_scans(wide->graph) > count_scans(e->model->graph);
    takt_model_destroy(is_worse ? wide : e->model);
    if (!is_worse) {
        e->model = wide;
        e->rows = 1;
    }
    return TAKT_OK;
}

static takt_status make_store(takt_engine *e, uint64_t pool)
{
    takt_session_options with = {.size = sizeof with, .pool = e->pool};
    TAKT_TRY(get_arena(e, e->wide_plan, &with));
    if (pool == 0)
        return takt_session_create(e->wide_plan, &with, &e->store);
    TAKT_TRY(takt_kv_open(e->ctx, e->wide_plan->graph, e->rows, pool, &e->kv));
    TAKT_TRY(check_caches(e, e->wide_plan));
    const takt_given_state given = {e->kv->storages};
    return takt_session_create_given(e->wide_plan, &with, given, &e->store);
}

takt_status takt_engine_widen(takt_engine *e, size_t rows, uint64_t pool)
{
    TAKT_TRY(takt_engine_make_wide(e));
    if (e->rows == 0 && pool > 0)
        return takt_fail(e->ctx, TAKT_E_OPTION,
                         "the model writes one text at a time: it has no use for a pool of caches");
    if (e->rows == 0)
        return TAKT_OK;
    e->rows = rows;
    TAKT_TRY(takt_engine_make_plan(e, rows, token_sizes, &e->wide_plan));
    TAKT_TRY(open_pool(e, e->wide_plan));
    return make_store(e, pool);
}

/* Shorter parts gain little, and every plan has memory for the scores of its texts. */
enum { LEAST_PART = 8 };

size_t takt_engine_part(const takt_engine *e, size_t rows)
{
    const size_t tokens = rows > 1 && !e->has_encoder ? (size_t)e->options.batch / rows : 0;
    return tokens >= LEAST_PART ? tokens : 0;
}

const char *takt_engine_part_sizes(size_t tokens, char text[TAKT_PART_SIZES])
{
    (void)snprintf(text, TAKT_PART_SIZES, "seq=1..%zu,count=1", tokens);
    return text;
}

takt_status takt_engine_open_rows(takt_engine *e, size_t rows, size_t tokens, takt_plan **plan,
                                  takt_session **session)
{
    char sizes[TAKT_PART_SIZES];
    takt_plan_info info;
    takt_session_options with = {.size = sizeof with};
    TAKT_TRY(takt_engine_make_plan(
        e, rows, tokens > 1 ? takt_engine_part_sizes(tokens, sizes) : token_sizes, plan));
    takt_plan_query(*plan, &info);
    with.pool = info.threads != e->threads ? e->batch_pool : e->pool;
    TAKT_TRY(get_arena(e, *plan, &with));
    TAKT_TRY(takt_session_create_part(*plan, &with, e->store, 0, session));
    (*session)->may_outgrow = true; /* as in make_session */
    TAKT_TRY(takt_engine_bind_nothing(e, *session, rows));
    return make_scores(e, *session);
}

takt_status takt_engine_plan(takt_engine *e, const char *sizes)
{
    takt_session_destroy(e->session);
    takt_plan_destroy(e->plan);
    e->session = NULL;
    e->plan = NULL;
    return takt_engine_open_plan(e, sizes, &e->plan, &e->session);
}

takt_status takt_engine_plan_token(takt_engine *e)
{
    TAKT_TRY(takt_engine_open_plan(e, token_sizes, &e->token_plan, &e->token));
    return make_scores(e, e->token);
}

takt_status takt_engine_share(takt_engine *e, const takt_engine *of, size_t row)
{
    *e = *of;
    e->is_shared = true;
    e->session = e->token = e->prompt = NULL;
    for (size_t i = 0; i < e->arena_count; i++)
        takt_storage_retain(e->arenas[i]);
    TAKT_TRY(make_session(e, e->token_plan, row, &e->token));
    TAKT_TRY(make_session(e, e->plan, row, &e->session));
    if (e->has_encoder)
        TAKT_TRY(make_session(e, e->prompt_plan, row, &e->prompt));
    TAKT_TRY(takt_engine_bind_nothing(e, e->token, 1));
    TAKT_TRY(takt_engine_bind_nothing(e, e->session, 1));
    return make_scores(e, e->token);
}

void takt_engine_close(takt_engine *e)
{
    takt_session_destroy(e->session);
    takt_session_destroy(e->prompt);
    takt_session_destroy(e->token);
    takt_session_destroy(e->is_shared ? NULL : e->store);
    for (size_t i = 0; i < e->arena_count; i++)
        takt_storage_release(e->arenas[i]);
    if (e->is_shared)
        return;
    takt_kv_close(e->kv);
    takt_plan_destroy(e->wide_plan);
    takt_plan_destroy(e->plan);
    takt_plan_destroy(e->prompt_plan);
    takt_plan_destroy(e->token_plan);
    takt_pool_close(e->pool);
    takt_pool_close(e->batch_pool);
    takt_model_destroy(e->model);
    takt_tokenizer_destroy(e->tokenizer);
}
