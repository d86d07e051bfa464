/* generator.c - reading tokens into a model, and the scores that come out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/model.h"
#include "api/session/session.h"
#include "api/text/engine.h"
#include "base/mem.h"
#include "base/options.h"

/* ---- life ---- */

/* Rows of the cache: of the first state that is a cache. A model without a cache has no limit on
 * the length of its texts. */
int64_t takt_engine_context(const takt_engine *e)
{
    const takt_graph *g = e->model->graph;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE && g->slots[i].type.rank == 3)
            return g->slots[i].type.dim[1];
    return e->options.context > 0 ? e->options.context : 1 << 20;
}

/* The plan for parts of a prompt; the plan for one token and the state stay. */
static takt_status plan(takt_generator *g, bool rates)
{
    char sizes[96];
    const long long batch = (long long)g->engine.options.batch;
    (void)snprintf(sizes, sizeof sizes, rates ? "seq=1..%lld,count=1..%lld" : "seq=1..%lld,count=1",
                   batch, batch);
    g->scores = NULL;
    TAKT_TRY(takt_engine_plan(&g->engine, sizes));
    g->is_rating = rates;
    return TAKT_OK;
}

static takt_status allocate(takt_generator *g)
{
    const size_t batch = (size_t)g->engine.options.batch, vocabulary = (size_t)g->vocabulary;
    takt_ctx *ctx = g->engine.ctx;
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, batch, sizeof *g->tokens, "tokens", &block));
    g->tokens = block;
    TAKT_TRY(takt_mem_zero(ctx, batch, sizeof *g->wanted, "rows", &block));
    g->wanted = block;
    TAKT_TRY(takt_mem_zero(ctx, (size_t)g->context, sizeof *g->history, "tokens", &block));
    g->history = block;
    TAKT_TRY(takt_mem_zero(ctx, vocabulary, sizeof *g->candidates, "candidates", &block));
    g->candidates = block;
    TAKT_TRY(takt_mem_zero(ctx, vocabulary, sizeof *g->times, "candidates", &block));
    g->times = block;
    return takt_generator_open_encoder(g);
}

static takt_status open_all(takt_generator *g, const char *path,
                            const takt_generator_options *options, size_t rows, uint64_t pool)
{
    takt_ctx *ctx = g->engine.ctx;
    TAKT_TRY(takt_engine_open(&g->engine, ctx, path, options, "logits"));
    g->vocabulary = takt_model_output(g->engine.model, 0)->dims[1];
    g->context = takt_engine_context(&g->engine);
    TAKT_TRY(takt_engine_check_memory(&g->engine, rows, pool));
    if (rows > 1 || pool > 0)
        TAKT_TRY(takt_engine_widen(&g->engine, rows, pool));
    if (g->engine.options.batch > g->context)
        g->engine.options.batch = g->context;
    TAKT_TRY(takt_engine_plan_token(&g->engine));
    TAKT_TRY(plan(g, false));
    if ((uint64_t)g->vocabulary < takt_tokenizer_count(g->engine.tokenizer)) {
        (void)takt_fail(ctx, TAKT_E_GGUF_MODEL,
                        "%s: the tokenizer has %zu tokens, the model scores %lld of them", path,
                        takt_tokenizer_count(g->engine.tokenizer), (long long)g->vocabulary);
        return takt_fail_hint(ctx, "take the tokenizer that the model was trained with");
    }
    if (g->engine.kv != NULL)
        g->engine.kv->texts[0].g = g;
    return allocate(g);
}

takt_status takt_generator_open(takt_ctx *ctx, const char *path,
                                const takt_generator_options *options, takt_generator **generator)
{
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, generator);
    *generator = NULL;
    TAKT_NEED(ctx, path);
    takt_generator_options o;
    TAKT_TRY(takt_options_read(ctx, "takt_generator_options", options, &o, sizeof o));
    const bool is_one = o.parallel < 2 || o.parallel > TAKT_PARALLEL;
    const size_t count = is_one ? 1 : (size_t)o.parallel;
    if (count == 1 && o.pool_bytes > 0)
        return takt_fail(ctx, TAKT_E_OPTION, "a pool of caches is for 2 texts or more at a time");
    TAKT_TRY(takt_generator_open_first(ctx, path, options, count, o.pool_bytes, generator));
    const takt_status status = count > 1 ? takt_many_open(*generator, count) : TAKT_OK;
    if (status != TAKT_OK) {
        takt_generator_destroy(*generator);
        *generator = NULL;
    }
    return status;
}

takt_status takt_generator_open_first(takt_ctx *ctx, const char *path,
                                      const takt_generator_options *options, size_t rows,
                                      uint64_t pool, takt_generator **generator)
{
    void *block;
    *generator = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **generator, "a generator", &block));
    takt_generator *g = block;
    g->engine.ctx = ctx;
    const takt_status status = open_all(g, path, options, rows, pool);
    if (status == TAKT_OK)
        *generator = g;
    else
        takt_generator_destroy(g);
    return status;
}

takt_status takt_generator_clone(const takt_generator *of, size_t row, takt_generator **clone)
{
    void *block;
    takt_ctx *ctx = of->engine.ctx;
    *clone = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **clone, "a generator", &block));
    takt_generator *g = block;
    *g = (takt_generator){.context = of->context, .vocabulary = of->vocabulary, .row = row};
    takt_status status = takt_engine_share(&g->engine, &of->engine, row);
    if (status == TAKT_OK)
        status = allocate(g);
    if (status == TAKT_OK && g->engine.kv != NULL)
        g->engine.kv->texts[row].g = g;
    if (status == TAKT_OK)
        *clone = g;
    else
        takt_generator_destroy(g);
    return status;
}

void takt_generator_destroy(takt_generator *g)
{
    if (g == NULL)
        return;
    takt_ctx *ctx = g->engine.ctx;
    const size_t batch = (size_t)g->engine.options.batch, vocabulary = (size_t)g->vocabulary;
    takt_many_close(g);
    takt_session_destroy(g->ahead_session);
    takt_plan_destroy(g->ahead_plan);
    takt_engine_close(&g->engine);
    if (g->table.rows != NULL)
        takt_token_table_deinit(&g->table);
    takt_mem_put(ctx, g->tokens, batch * sizeof *g->tokens);
    takt_mem_put(ctx, g->wanted, batch * sizeof *g->wanted);
    takt_mem_put(ctx, g->prompt, g->prompt != NULL ? (size_t)g->context * sizeof *g->prompt : 0);
    takt_mem_put(ctx, g->history, (size_t)g->context * sizeof *g->history);
    takt_mem_put(ctx, g->candidates, vocabulary * sizeof *g->candidates);
    takt_mem_put(ctx, g->times, vocabulary * sizeof *g->times);
    takt_mem_put(ctx, g->kept_scores, vocabulary * sizeof *g->kept_scores);
    takt_mem_put(ctx, g, sizeof *g);
}

/* ---- questions ---- */

const takt_tokenizer *takt_generator_tokenizer(const takt_generator *g)
{
    return g != NULL ? g->engine.tokenizer : NULL;
}

const takt_plan *takt_generator_plan(const takt_generator *g)
{
    return g != NULL ? g->engine.plan : NULL;
}

bool takt_generator_rounds(const takt_generator *g)
{
    return g != NULL && takt_engine_rounds(&g->engine);
}

size_t takt_generator_vocabulary(const takt_generator *g)
{
    return g != NULL ? (size_t)g->vocabulary : 0;
}

int64_t takt_generator_context(const takt_generator *g)
{
    return g != NULL ? g->context : 0;
}

int64_t takt_generator_position(const takt_generator *g)
{
    return g != NULL ? g->position : 0;
}

void takt_generator_reset(takt_generator *g)
{
    if (g == NULL)
        return;
    if (g->engine.kv != NULL) {
        if (takt_generator_rewind(g, 0) != TAKT_OK)
            return; /* the error is the context's */
    } else {
        takt_session_reset(g->engine.token);
    }
    g->position = 0;
    g->has_unread = false;
    g->ahead = 0;
    g->scores = NULL;
}

const float *takt_generator_scores(const takt_generator *g, size_t *count)
{
    if (count != NULL)
        *count = g != NULL && g->scores != NULL ? (size_t)g->vocabulary : 0;
    return g != NULL ? g->scores : NULL;
}

/* ---- reading ---- */

static takt_status run_session(takt_generator *g, takt_session *s)
{
    s->outer_cancel = &g->cancel;
    s->outer_run = atomic_load(&g->calls);
    const takt_status status = takt_session_run(s);
    s->outer_cancel = NULL;
    return status;
}

takt_status takt_generator_run(takt_generator *g, takt_session *s, const int32_t *ids, size_t count,
                               bool wants_all)
{
    for (size_t i = 0; i < count; i++) {
        g->tokens[i] = ids[i];
        g->wanted[i] = (int64_t)i;
    }
    const bool is_wide = g->engine.rows > 0;
    const int last = is_wide ? 1 : 0; /* the dimension of tokens */
    takt_tensor_view tokens = {.dtype = TAKT_I64, .rank = last + 1, .dims = {1}};
    tokens.dims[last] = (int64_t)count;
    takt_tensor_view wanted = tokens;
    tokens.data = g->tokens;
    wanted.data = g->wanted;
    if (!wants_all) {
        wanted.dims[last] = 1;
        g->wanted[0] = (int64_t)count - 1;
    }
    bool yes = true;
    const takt_tensor_view active = {.dtype = TAKT_BOOL, .rank = 1, .dims = {1}, .data = &yes};
    takt_status status = takt_session_bind(s, "tokens", &tokens);
    if (status == TAKT_OK)
        status = takt_session_bind(s, "wanted", &wanted);
    if (status == TAKT_OK && is_wide)
        status = takt_session_bind(s, "active", &active);
    if (status == TAKT_OK)
        status = run_session(g, s);
    const takt_tensor_view *out = status == TAKT_OK ? takt_session_output(s, 0) : NULL;
    if (out == NULL) {
        g->scores = NULL; /* they may be in an output that the run has begun to write */
        if (takt_session_error(s)->status != TAKT_OK)
            g->engine.ctx->error = *takt_session_error(s);
        return status != TAKT_OK ? status : g->engine.ctx->error.status;
    }
    if (out->dims[last] != wanted.dims[last])
        return takt_fail(g->engine.ctx, TAKT_E_GGUF_UNSUPPORTED,
                         "the model gives %lld rows of scores where %lld are wanted",
                         (long long)out->dims[last], (long long)wanted.dims[last]);
    memcpy(g->history + g->position, ids, count * sizeof *ids);
    g->position += (int64_t)count;
    g->has_unread = false;
    g->scores = out->data;
    return TAKT_OK;
}

static takt_status run(takt_generator *g, const int32_t *ids, size_t count, bool wants_all)
{
    takt_session *s = count == 1 ? g->engine.token : g->engine.session;
    return takt_generator_run(g, s, ids, count, wants_all);
}

takt_status takt_generator_check(const takt_generator *g, const int32_t *ids, size_t count)
{
    takt_ctx *ctx = g->engine.ctx;
    if (ids == NULL && count > 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_generator_read: ids is NULL");
    if (count > (uint64_t)(g->context - g->position)) {
        (void)takt_fail(ctx, TAKT_E_ARGUMENT,
                        "%zu tokens do not fit: the context has room for %lld, of which %lld are "
                        "used",
                        count, (long long)g->context, (long long)g->position);
        return takt_fail_hint(ctx, "a larger context is -c N, or takt_generator_options.context");
    }
    if (g->engine.kv != NULL && (size_t)g->position + count > takt_kv_room(g))
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "%zu tokens: the pool of caches has pages for texts of takt_generate_many "
                         "alone",
                         count);
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= g->vocabulary)
            return takt_fail(ctx, TAKT_E_TOKEN_ID,
                             "token %zu is %d; the vocabulary has ids from 0 to %lld", i, ids[i],
                             (long long)g->vocabulary - 1);
    return TAKT_OK;
}

static takt_status read_all(takt_generator *g, const int32_t *ids, size_t count)
{
    if (g->is_rating || g->engine.session == NULL)
        TAKT_TRY(plan(g, false));
    if (g->engine.has_encoder && g->position == 0)
        return takt_generator_encode(g, ids, count);
    TAKT_TRY(takt_generator_check(g, ids, count));
    TAKT_TRY(takt_generator_settle(g));
    for (size_t at = 0; at < count;) {
        const size_t batch = (size_t)g->engine.options.batch;
        const size_t part = count - at < batch ? count - at : batch;
        TAKT_TRY(run(g, ids + at, part, false));
        at += part;
    }
    return TAKT_OK;
}

takt_status takt_generator_read(takt_generator *g, const int32_t *ids, size_t count)
{
    TAKT_NEED(NULL, g);
    const bool begun = takt_generator_begin(g);
    return takt_generator_end(g, begun, read_all(g, ids, count));
}

/* ---- probabilities of a text ---- */

static double log_share(const float *scores, size_t count, int32_t id)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        most = (double)scores[i] > most ? (double)scores[i] : most;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)scores[i] - most);
    return (double)scores[id] - most - log(sum);
}

static takt_status rate_each(takt_generator *g, const int32_t *ids, size_t count,
                             takt_scores_fn *each, void *user)
{
    if (g->engine.has_encoder)
        return takt_fail(g->engine.ctx, TAKT_E_GGUF_UNSUPPORTED,
                         "the model answers prompts: a text by itself has no probability");
    if (!g->is_rating || g->engine.session == NULL)
        TAKT_TRY(plan(g, true));
    takt_generator_reset(g);
    TAKT_TRY(takt_generator_check(g, ids, count));
    const size_t vocabulary = (size_t)g->vocabulary;
    for (size_t at = 0; at < count;) {
        const size_t batch = (size_t)g->engine.options.batch;
        const size_t part = count - at < batch ? count - at : batch;
        TAKT_TRY(run(g, ids + at, part, true));
        const float *first = g->scores;
        g->scores = first + (part - 1) * vocabulary;
        for (size_t i = 0; i < part && at + i + 1 < count; i++)
            if (each(user, at + i, first + i * vocabulary, vocabulary) != 0)
                return TAKT_OK;
        at += part;
    }
    return TAKT_OK;
}

takt_status takt_generator_rate_each(takt_generator *g, const int32_t *ids, size_t count,
                                     takt_scores_fn *each, void *user)
{
    TAKT_NEED(NULL, g);
    TAKT_NEED(g->engine.ctx, each);
    const bool begun = takt_generator_begin(g);
    return takt_generator_end(g, begun, rate_each(g, ids, count, each, user));
}

typedef struct rating {
    const int32_t *ids;
    double *logs;
} rating;

static int rate_one(void *user, size_t index, const float *scores, size_t count)
{
    const rating *r = user;
    r->logs[index] = log_share(scores, count, r->ids[index + 1]);
    return 0;
}

takt_status takt_generator_rate(takt_generator *g, const int32_t *ids, size_t count, double *logs)
{
    TAKT_NEED(NULL, g);
    TAKT_NEED(g->engine.ctx, logs);
    return takt_generator_rate_each(g, ids, count, rate_one, &(rating){ids, logs});
}
