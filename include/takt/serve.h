/**
 * serve.h - a server for language models and any other: HTTP/1.1 with OpenAI's routes.
 *
 *     takt_server *server;
 *     const char *models[] = {"model.gguf"};
 *     takt_server_options how = {.port = 8080, .parallel = 4};
 *     takt_server_open(ctx, models, 1, &how, &server);
 *     takt_server_run(server);
 *     takt_server_destroy(server);
 *
 * The server listens on the loopback interface unless it is told otherwise. All its limits are
 * finite: connections, header and body bytes, waiting requests, and memory, which is taken when it
 * opens. A text depends on the request, never on others that are written beside it.
 */
#ifndef TAKT_SERVE_H
#define TAKT_SERVE_H

#include <takt/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_server takt_server;

/** Zero in any field means the default. */
typedef struct takt_server_options {
    size_t size;
    const char *host; /**< numeric address; default 127.0.0.1 */
    int port;         /**< 0: any that is free, see takt_server_port */
    int parallel; /**< texts that are written at a time, each with a cache of its own; default 1 */
    int queue;    /**< requests that may wait; default 64 */
    int connections;             /**< open at a time; default 256, at most 2048 */
    int64_t body_bytes;          /**< of one request; default 4 MiB */
    int64_t wait_ms;             /**< a request that waited longer is refused; default 60,000 */
    const char *const *api_keys; /**< one of them must come with requests; default: none needed */
    size_t api_key_count;
    const char *chat_template; /**< a name of takt_chat_name, or a text; default: the model's own */
    takt_generator_options text; /**< `activations`: int8 for models that write, unless said */
    /** Speculation, as in takt_generate_options: a draft model by its path, of which every text has
     *  a cache of its own, or look-up. Used while one text is written alone; texts stay the same.
     */
    const char *draft;
    bool lookup;
    size_t draft_max;
    double draft_p_min;
    /** A request for /v1/infer waits so long for others, with which it is computed as one batch;
     *  default 0: each is computed alone. */
    int64_t max_wait_ns;
} takt_server_options;

/** Loads the models and begins to listen. Of language models and of sentence encoders there may be
 *  one each; others answer at /v1/infer/NAME, with the file's name without its ending.
 *
 *  @return TAKT_ERR_IO (3782) if it cannot listen; what takt_generator_open and takt_model_load
 *  return */
TAKT_API TAKT_MUST_USE takt_status takt_server_open(takt_ctx *ctx, const char *const *models,
                                                    size_t count,
                                                    const takt_server_options *options,
                                                    takt_server **server);
/** What a server has taken for its language model: fixed from its opening on. */
typedef struct takt_server_memory {
    uint64_t weights, caches; /**< bytes: the weights once, the caches of all texts */
    int parallel;             /**< texts that are written at a time */
    int64_t context;          /**< tokens that there is room for in each */
} takt_server_memory;
TAKT_API void takt_server_query(const takt_server *server, takt_server_memory *memory);
TAKT_API int takt_server_port(const takt_server *server);
/** Answers requests until takt_server_stop; requests already accepted are still answered. */
TAKT_API TAKT_MUST_USE takt_status takt_server_run(takt_server *server);
/** Ends takt_server_run. May be called by any thread and by signal handlers. */
TAKT_API void takt_server_stop(takt_server *server);
/** Accepts NULL. */
TAKT_API void takt_server_destroy(takt_server *server);

#ifdef __cplusplus
}
#endif
#endif
