/**
 * serve.h - a server for language models and others: HTTP/1.1 with OpenAI's routes.
 *
 *     takt_server *server;
 *     const char *models[] = {"model.gguf"};
 *     takt_server_options how = {.port = 8080, .parallel = 4};
 *     takt_server_open(ctx, models, 1, &how, &server);
 *     takt_server_run(server);
 *     takt_server_destroy(server);
 *
 * The server listens on the loopback interface unless configured otherwise. All its limits are
 * finite: connections, header and body bytes, waiting requests, and memory, which is allocated when
 * it opens. A text depends only on its request, never on others generated at the same time.
 *
 * Threads: one opens, runs and destroys a server; takt_server_stop may be called by any.
 */
#ifndef TAKT_SERVE_H
#define TAKT_SERVE_H

#include <takt/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_server takt_server;

enum { TAKT_SERVER_TEXTS = 64 }; /**< texts generated at a time, at most */

/** Zero in any field means the default. */
typedef struct takt_server_options {
    size_t size;
    const char *host;            /**< numeric address or "localhost"; default 127.0.0.1 */
    int port;                    /**< 0: any that is free, see takt_server_port */
    int parallel;                /**< texts generated concurrently; default 1 */
    int queue;                   /**< requests that may be queued; default 64 */
    int connections;             /**< open at a time; default 256, at most 2048 */
    int64_t body_bytes;          /**< of one request; default 4 MiB */
    int64_t wait_ms;             /**< a request that has waited longer is refused; default 60,000 */
    const char *const *api_keys; /**< requests must carry one of them; default: none needed */
    size_t api_key_count;
    const char *chat_template; /**< a name of takt_chat_name, or a text; default: the model's own */
    takt_generator_options text; /**< `activations`: default int8 for models that generate text */
    /** Speculative decoding, as in takt_generate_options: a draft model by path, with one cache for
     *  all texts, or look-up. Used while only one text is generated; texts stay the same. */
    const char *draft;
    bool lookup;
    size_t draft_max;
    double draft_p_min;
    /** How long a request for /v1/infer waits for others to form a batch; default 0: no
     *  batching. */
    int64_t max_wait_ns;
    /** Bytes of one pool for the caches of all texts; default 0: every text has a cache for a full
     *  context. A request begins when its prompt and `max_tokens` fit into the pool, and is refused
     *  if they never can. Texts that begin alike share pages, and texts that have ended stay in the
     *  pool as a cache of prompts until others need their pages. */
    uint64_t pool_bytes;
    /** Files PATH.0, PATH.1, ... with texts and their caches: read when the server opens, written
     *  when it ends, the last used first; prompt caches of earlier runs with higher numbers are
     *  removed. Only the owner may read them. Each has a checksum and belongs to one model: a
     *  damaged file is reported to the log and left out; one of another model, or one that is not
     *  a prompt cache, is refused. Default NULL: nothing is kept. */
    const char *prompt_cache;
} takt_server_options;

/** Loads the models and begins to listen. At most one language model and one sentence encoder;
 *  other models answer at /v1/infer/NAME, where NAME is the file name without its extension.
 *
 *  @return TAKT_ERR_IO (3782) if it cannot listen; TAKT_ERR_ARGUMENT (1003) if the pool has no
 *  room for two pages, or the model's caches cannot come from a pool; what takt_generator_open and
 *  takt_model_load return */
TAKT_API TAKT_MUST_USE takt_status takt_server_open(takt_ctx *ctx, const char *const *models,
                                                    size_t count,
                                                    const takt_server_options *options,
                                                    takt_server **server);
/** Resources of a server's language model: fixed when it opens. */
typedef struct takt_server_memory {
    uint64_t weights, caches; /**< bytes: the weights once, the caches of all texts */
    int parallel;             /**< texts generated at a time */
    int64_t context;          /**< capacity of each in tokens */
    int64_t pages;            /**< of the pool; 0: there is none */
    int64_t page_tokens;      /**< tokens that a page holds */
    uint64_t arena;           /**< bytes for activations, which all texts share */
} takt_server_memory;
/** Fills `*memory`; zeros without a language model. */
TAKT_API void takt_server_query(const takt_server *server, takt_server_memory *memory);
/** The memory that a server would need for a language model, without a draft: no weight is read,
 *  and nothing stays allocated. The figures are those of takt_server_query.
 *
 *  @return what takt_server_open returns for such a model; TAKT_ERR_ARGUMENT (1003) if it has an
 *  encoder */
TAKT_API TAKT_MUST_USE takt_status takt_server_plan(takt_ctx *ctx, const char *path,
                                                    const takt_server_options *options,
                                                    takt_server_memory *memory);
/** The port that it listens on; if the options said 0, the one chosen by the system. */
TAKT_API int takt_server_port(const takt_server *server);
/** Answers requests until takt_server_stop; requests already accepted are still answered.
 *
 *  @return TAKT_ERR_IO if a socket or thread fails or prompt caches cannot be written; the server
 *  can then be destroyed */
TAKT_API TAKT_MUST_USE takt_status takt_server_run(takt_server *server);
/** Ends takt_server_run. May be called by any thread and by signal handlers. */
TAKT_API void takt_server_stop(takt_server *server);
/** Accepts NULL. */
TAKT_API void takt_server_destroy(takt_server *server);

#ifdef __cplusplus
}
#endif
#endif
