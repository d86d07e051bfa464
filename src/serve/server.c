/* server.c - starting and stopping a server: models, memory, the socket, the engine's thread. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/options.h"
#include "os/os.h"
#include "serve/serve.h"
#include "text/pack.h"
#include "text/tokenizer.h"

enum { QUEUE = 64, CONNECTIONS = 256, MOST_CONNECTIONS = 2048, WAIT_MS = 60000 };

/* "models/tiny.q4.gguf" is "tiny.q4"; a folder "models/tiny/" is "tiny". */
static void name_of(const char *path, bool is_folder, char to[128])
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    const char *from = path + begin;
    size_t length = end - begin;
    for (size_t i = length; !is_folder && i > 1; i--)
        if (from[i - 1] == '.') {
            length = i - 1;
            break;
        }
    length = length < 127 ? length : 127;
    memcpy(to, from, length);
    to[length] = '\0';
}

/* ---- models ---- */

static takt_status open_chat(takt_server *s, const takt_tokenizer *tokenizer)
{
    const char *given = s->options.chat_template;
    if (given == NULL)
        given = takt_tokenizer_chat_template(tokenizer);
    if (given == NULL)
        return TAKT_OK; /* conversations are refused, plain texts are not */
    for (size_t i = 0; takt_chat_name(i) != NULL; i++)
        if (strcmp(takt_chat_name(i), given) == 0)
            return takt_chat_named(&s->shadow, given, &s->chat);
    s->call_format = takt_calls_of(takt_span_of(given));
    const takt_status status = takt_chat_parse(&s->shadow, "the chat template", given, 0, &s->chat);
    if (status != TAKT_OK)
        s->ctx->error = s->shadow.error;
    return status;
}

/* takt_generator_options.check: a template that cannot be used is refused before weights are
 * read. */
static takt_status check(void *server, const takt_tokenizer *tokenizer, int64_t context)
{
    takt_server *s = server;
    const takt_generator_options *o = &s->options.text;
    s->has_writer = true;
    if (o->check != NULL)
        TAKT_TRY(o->check(o->check_user, tokenizer, context));
    return open_chat(s, tokenizer);
}

static takt_status make_slots(takt_server *s)
{
    void *block;
    const size_t count = (size_t)s->options.parallel;
    TAKT_TRY(takt_mem_zero(s->ctx, count, sizeof *s->slots, "slots", &block));
    s->slots = block;
    TAKT_TRY(takt_mem_zero(s->ctx, count, sizeof *s->texts, "slots", &block));
    s->texts = block;
    TAKT_TRY(takt_mem_zero(s->ctx, count, sizeof *s->ids, "slots", &block));
    s->ids = block;
    TAKT_TRY(takt_mem_zero(s->ctx, count, sizeof *s->parts, "slots", &block));
    s->parts = block;
    return TAKT_OK;
}

static takt_status open_slots(takt_server *s, takt_generator *first)
{
    takt_plan_info info, token;
    const size_t count = (size_t)s->options.parallel;
    const takt_status status = make_slots(s);
    if (status != TAKT_OK) {
        takt_generator_destroy(first);
        return status;
    }
    s->slots[0].g = first;
    s->kv = first->engine.kv;
    s->slot_count = 1;
    s->tokenizer = takt_generator_tokenizer(first);
    for (; s->slot_count < count; s->slot_count++)
        TAKT_TRY(takt_generator_clone(first, s->slot_count, &s->slots[s->slot_count].g));
    for (size_t i = 0; i < count; i++)
        s->texts[i] = s->slots[i].g;
    if (first->engine.rows > 0)
        TAKT_TRY(takt_together_open(&s->together, s->texts, count));
    takt_plan_query(first->engine.plan, &info);
    takt_plan_query(first->engine.token_plan, &token);
    s->weight_bytes = info.weights + info.packed;
    s->cache_bytes = s->kv != NULL ? s->kv->layout.bytes : count * token.state;
    takt_serve_count_blocks(s);
    return TAKT_OK;
}

static takt_status open_other(takt_server *s, const char *path)
{
    if (s->model_count == TAKT_SERVE_MODELS)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "more than %d models", TAKT_SERVE_MODELS);
    takt_served *m = &s->models[s->model_count];
    name_of(path, false, m->name);
    TAKT_TRY(takt_model_load(s->ctx, path, NULL, &m->model));
    s->model_count++;
    return TAKT_OK;
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t length = strlen(path), n = strlen(ending);
    return length > n && strcmp(path + length - n, ending) == 0;
}

/* A GGUF, or a folder or a compiled model with a tokenizer. */
static takt_status has_words(takt_server *s, const char *path, bool *has, bool *is_folder)
{
    takt_text found;
    takt_text_init(&found, s->ctx);
    takt_status status = takt_tokenizer_inside(s->ctx, path, &found);
    *is_folder = found.length > 0;
    if (status == TAKT_OK && ends_with(path, ".taktp"))
        status = takt_tokenizer_pack(s->ctx, path, &found);
    *has = found.length > 0 || ends_with(path, ".gguf");
    takt_text_deinit(&found);
    return status;
}

takt_generator_options takt_serve_writer(const takt_server *s)
{
    takt_generator_options how = s->options.text;
    how.activations = how.activations != NULL ? how.activations : "int8";
    return how;
}

/* Such a model generates text or embeddings; which one is found by trying. */
static takt_status open_model(takt_server *s, const char *path)
{
    takt_generator *g;
    bool is_text, is_folder;
    takt_generator_options how = takt_serve_writer(s);
    how.check = check;
    how.check_user = s;
    how.speculates = takt_serve_guesses(s);
    TAKT_TRY(has_words(s, path, &is_text, &is_folder));
    if (!is_text)
        return open_other(s, path);
    if (s->slot_count > 0 || s->embedder != NULL)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT, "%s: there is a language model already", path);
    TAKT_TRY(takt_serve_check_draft(s, path));
    takt_status status = takt_generator_open_first(s->ctx, path, &how, (size_t)s->options.parallel,
                                                   s->options.pool_bytes, &g);
    if (status == TAKT_OK) {
        name_of(path, is_folder, s->name);
        return open_slots(s, g);
    }
    if (s->has_writer || status != TAKT_ERR_UNSUPPORTED || s->ctx->error.id == TAKT_E_SPECULATION)
        return status;
    const takt_error error = s->ctx->error;
    status = takt_embedder_open(s->ctx, path, &s->options.text, &s->embedder);
    if (status == TAKT_ERR_UNSUPPORTED)
        s->ctx->error = error;
    if (status == TAKT_OK)
        name_of(path, is_folder, s->name);
    return status;
}

/* ---- opening ---- */

static takt_status settle(takt_server *s, const takt_server_options *options)
{
    takt_server_options *o = &s->options;
    TAKT_TRY(takt_options_read(s->ctx, "takt_server_options", options, o, sizeof *o));
    o->host = o->host != NULL ? o->host : "127.0.0.1";
    o->parallel = o->parallel != 0 ? o->parallel : 1;
    o->queue = o->queue != 0 ? o->queue : QUEUE;
    o->connections = o->connections != 0 ? o->connections : CONNECTIONS;
    o->body_bytes = o->body_bytes != 0 ? o->body_bytes : 4 << 20;
    o->wait_ms = o->wait_ms != 0 ? o->wait_ms : WAIT_MS;
    if (o->port < 0 || o->port > 65535 || o->parallel < 0 || o->parallel > TAKT_SERVER_TEXTS ||
        o->queue < 0 || o->connections < 0 || o->connections > MOST_CONNECTIONS ||
        o->body_bytes < 0 || o->body_bytes > 1 << 30 || o->wait_ms < 0 || o->max_wait_ns < 0)
        return takt_fail(s->ctx, TAKT_E_OPTION,
                         "port, parallel (1 to %d), queue, connections (to %d) or another limit is "
                         "impossible",
                         TAKT_SERVER_TEXTS, MOST_CONNECTIONS);
    if (o->api_keys == NULL && o->api_key_count > 0)
        return takt_fail(s->ctx, TAKT_E_OPTION, "there are keys, but their list is NULL");
    return TAKT_OK;
}

static takt_status socket_failure(takt_server *s, int error)
{
    char reason[128];
    (void)takt_fail(s->ctx, TAKT_E_SERVE_SOCKET, "cannot listen at %s, port %d: %s",
                    s->options.host, s->options.port, takt_os_reason(error, reason, sizeof reason));
    return error == EADDRINUSE
               ? takt_fail_hint(s->ctx, "another program listens there: take another --port, or 0 "
                                        "for one that is free")
               : takt_fail_hint(s->ctx, "an address of this machine in numbers: 127.0.0.1 for "
                                        "programs on it alone, 0.0.0.0 for any");
}

static takt_status open_sockets(takt_server *s)
{
    void *block;
    s->conn_count = (size_t)s->options.connections;
    TAKT_TRY(takt_mem_zero(s->ctx, s->conn_count, sizeof *s->conns, "connections", &block));
    s->conns = block;
    for (size_t i = 0; i < s->conn_count; i++)
        s->conns[i].socket = -1;
    TAKT_TRY(takt_mem_zero(s->ctx, s->conn_count + 2, sizeof *s->watch, "connections", &block));
    s->watch = block;
    int error = takt_net_pipe(&s->wake_from, &s->wake_to);
    s->port = s->options.port;
    if (error == 0)
        error = takt_net_bind(s->options.host, &s->port, &s->listener);
    return error == 0 ? TAKT_OK : socket_failure(s, error);
}

/* Not before all models are open: clients would wait for them, instead of being refused. */
static takt_status listen_now(takt_server *s)
{
    const int error = takt_net_listen(s->listener);
    return error == 0 ? TAKT_OK : socket_failure(s, error);
}

static takt_status open_futexes(takt_server *s)
{
    s->has_futex = takt_futex_init(&s->futex) == 0;
    s->words.has_futex = takt_futex_init(&s->words.futex) == 0;
    return s->has_futex && s->words.has_futex
               ? TAKT_OK
               : takt_fail(s->ctx, TAKT_E_SERVE_SOCKET, "the engine's thread cannot be prepared");
}

static takt_status open_all(takt_server *s, const char *const *models, size_t count,
                            const takt_server_options *options)
{
    TAKT_TRY(settle(s, options));
    takt_ctx_shadow(s->ctx, &s->shadow);
    takt_ctx_shadow(s->ctx, &s->words.shadow);
    TAKT_TRY(open_futexes(s));
    TAKT_TRY(open_sockets(s));
    for (size_t i = 0; i < count; i++)
        TAKT_TRY(open_model(s, models[i]));
    if (s->options.pool_bytes > 0 && s->kv == NULL)
        return takt_fail(s->ctx, TAKT_E_OPTION,
                         "there is no model whose caches could be in a pool");
    TAKT_TRY(takt_serve_read_kept(s));
    TAKT_TRY(takt_serve_open_guesses(s));
    if (s->slot_count > 0)
        s->arena_bytes = s->slots[0].g->engine.arena_total +
                         (s->slots[0].draft != NULL ? s->slots[0].draft->engine.arena_total : 0);
    return listen_now(s);
}

takt_status takt_server_open(takt_ctx *ctx, const char *const *models, size_t count,
                             const takt_server_options *options, takt_server **server)
{
    void *block;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, server);
    *server = NULL;
    TAKT_NEED(ctx, models);
    for (size_t i = 0; i < count; i++)
        if (models[i] == NULL)
            return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_server_open: a model is NULL");
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **server, "a server", &block));
    takt_server *s = block;
    s->ctx = ctx;
    s->listener = s->wake_from = s->wake_to = -1;
    const takt_status status = open_all(s, models, count, options);
    if (status == TAKT_OK)
        *server = s;
    else
        takt_server_destroy(s);
    return status;
}

void takt_server_query(const takt_server *s, takt_server_memory *memory)
{
    if (memory == NULL)
        return;
    *memory = (takt_server_memory){0};
    if (s == NULL || s->slot_count == 0)
        return;
    *memory = (takt_server_memory){.weights = s->weight_bytes,
                                   .caches = s->cache_bytes,
                                   .parallel = (int)s->slot_count,
                                   .context = s->slots[0].g->context};
    memory->arena = s->arena_bytes;
    if (s->kv != NULL) {
        memory->pages = (int64_t)s->kv->layout.blocks;
        memory->page_tokens = (int64_t)s->kv->layout.tokens;
    }
}

int takt_server_port(const takt_server *s)
{
    return s != NULL ? s->port : 0;
}

void takt_server_stop(takt_server *s)
{
    if (s == NULL)
        return;
    atomic_store(&s->is_stopping, true);
    takt_net_wake(s->wake_to);
}

static takt_status start(takt_server *s, void (*body)(void *), void **thread)
{
    const takt_threads *threads = &s->ctx->threads;
    return threads->start(threads->user, body, s, thread) == 0
               ? TAKT_OK
               : takt_fail(s->ctx, TAKT_E_SERVE_SOCKET, "the engine's thread does not start");
}

static void join(takt_server *s, void **thread)
{
    const takt_threads *threads = &s->ctx->threads;
    if (*thread != NULL)
        threads->join(threads->user, *thread);
    *thread = NULL;
}

takt_status takt_server_run(takt_server *s)
{
    TAKT_NEED(NULL, s);
    takt_status status = start(s, takt_serve_engine, &s->thread);
    if (status == TAKT_OK && s->tokenizer != NULL)
        status = start(s, takt_serve_words_run, &s->words.thread);
    if (status == TAKT_OK)
        status = takt_serve_loop(s);
    atomic_store(&s->is_over, true);
    atomic_fetch_add(&s->calls, 1);
    takt_futex_wake(&s->futex, &s->calls, 1);
    takt_serve_words_call(s);
    join(s, &s->thread);
    join(s, &s->words.thread);
    return status == TAKT_OK ? takt_serve_write_kept(s) : status;
}

void takt_server_destroy(takt_server *s)
{
    if (s == NULL)
        return;
    takt_ctx *ctx = s->ctx;
    const size_t slots = (size_t)s->options.parallel;
    takt_together_close(&s->together);
    for (size_t i = s->slot_count; i-- > 0;) {
        takt_generator_destroy(i < s->draft_count ? s->slots[i].draft : NULL);
        takt_generator_destroy(s->slots[i].g);
    }
    takt_mem_put(ctx, s->slots, slots * sizeof *s->slots);
    takt_mem_put(ctx, s->texts, slots * sizeof *s->texts);
    takt_mem_put(ctx, s->ids, slots * sizeof *s->ids);
    takt_mem_put(ctx, s->parts, slots * sizeof *s->parts);
    takt_embedder_destroy(s->embedder);
    for (size_t i = 0; i < s->model_count; i++)
        takt_model_destroy(s->models[i].model);
    takt_chat_destroy(s->chat);
    takt_net_close(s->listener);
    takt_net_close(s->wake_from);
    takt_net_close(s->wake_to);
    takt_mem_put(ctx, s->conns, s->conn_count * sizeof *s->conns);
    takt_mem_put(ctx, s->watch, (s->conn_count + 2) * sizeof *s->watch);
    if (s->has_futex)
        takt_futex_deinit(&s->futex);
    if (s->words.has_futex)
        takt_futex_deinit(&s->words.futex);
    takt_mem_put(ctx, s, sizeof *s);
}
