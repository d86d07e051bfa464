/* serve.c - answers requests over HTTP. */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "signals.h"
#include "text.h"

enum { KEYS = 64 };

typedef struct job {
    takt_server_options options;
    char *keys_text, *chat_text; /* owned */
    const char *keys[KEYS];
} job;

/* A handler has no argument to find it by. */
static takt_server *volatile running;

static void stop(int signal_number)
{
    (void)signal_number;
    takt_server_stop(running);
}

static int read_keys(takt_tool *t, job *j)
{
    const char *path = tool_text_of(t, TAKT_F_API_KEY);
    size_t length;
    if (path == NULL)
        return TAKT_EXIT_OK;
    j->keys_text = tool_whole_file(tool_readable(path), &length);
    if (j->keys_text == NULL)
        return tool_usage_error(t, 3001, "--api-key names a file with one key per line",
                                "cannot read %s", path);
    for (char *at = strtok(j->keys_text, "\r\n"); at != NULL; at = strtok(NULL, "\r\n")) {
        if (j->options.api_key_count == KEYS)
            return tool_usage_error(t, 1003, NULL, "%s has more than %d keys", path, KEYS);
        j->keys[j->options.api_key_count++] = at;
    }
    j->options.api_keys = j->keys;
    return j->options.api_key_count > 0
               ? TAKT_EXIT_OK
               : tool_usage_error(t, 1003, "write one key per line", "%s has no key", path);
}

/* A name, or the text of a file. */
static int read_template(takt_tool *t, job *j)
{
    const char *given = tool_text_of(t, TAKT_F_CHAT_TEMPLATE);
    size_t length;
    j->options.chat_template = given;
    for (size_t i = 0; given != NULL && takt_chat_name(i) != NULL; i++)
        if (strcmp(takt_chat_name(i), given) == 0)
            return TAKT_EXIT_OK;
    j->chat_text = given != NULL ? tool_whole_file(tool_readable(given), &length) : NULL;
    if (j->chat_text != NULL)
        j->options.chat_template = j->chat_text;
    takt_chat *none; /* lists the available ones */
    return given == NULL || j->chat_text != NULL
               ? TAKT_EXIT_OK
               : tool_finish(t, takt_chat_named(t->ctx, given, &none));
}

static int serve(takt_tool *t, const job *j, const char *const *models)
{
    takt_server *server;
    tool_signals before;
    tool_notes_begin(t); /* kept prompts that are damaged */
    const takt_status status = takt_server_open(t->ctx, models, t->arg_count, &j->options, &server);
    tool_notes_end(t, status == TAKT_OK);
    int code = tool_finish(t, status);
    if (code != TAKT_EXIT_OK)
        return code;
    running = server;
    tool_signals_catch(&before, stop);
    printf("listening on http://%s:%d\n", j->options.host != NULL ? j->options.host : "127.0.0.1",
           takt_server_port(server));
    takt_server_memory memory;
    takt_server_query(server, &memory);
    tool_print_server(&memory, false);
    fflush(stdout);
    code = tool_finish(t, takt_server_run(server));
    tool_signals_restore(&before);
    running = NULL;
    takt_server_destroy(server);
    return code;
}

static int read_guesses(const takt_tool *t, takt_server_options *o)
{
    const char *path = tool_text_of(t, TAKT_F_MODEL_DRAFT);
    double least;
    o->draft = path != NULL ? tool_readable(path) : NULL;
    o->lookup = tool_on(t, TAKT_F_LOOKUP);
    o->draft_max = (size_t)tool_number_of(t, TAKT_F_DRAFT, 0);
    if (!tool_real_of(t, TAKT_F_DRAFT_P_MIN, 0.75, &least))
        return TAKT_EXIT_USAGE;
    o->draft_p_min = least > 0 ? least : -1;
    return tool_check_pairs(t);
}

static int run(takt_tool *t)
{
    job j = {.options = {.size = sizeof j.options}};
    j.options.text = tool_text_options(t);
    j.options.host = tool_text_of(t, TAKT_F_HOST);
    j.options.port = (int)tool_number_of(t, TAKT_F_PORT, 8080);
    j.options.parallel = (int)tool_number_of(t, TAKT_F_PARALLEL, 1);
    j.options.queue = (int)tool_number_of(t, TAKT_F_QUEUE, 0);
    j.options.connections = (int)tool_number_of(t, TAKT_F_CONNECTIONS, 0);
    j.options.wait_ms = (int64_t)(tool_number_of(t, TAKT_F_QUEUE_TIME, 0) / 1000000);
    j.options.prompt_cache = tool_text_of(t, TAKT_F_PROMPT_CACHE);
    j.options.pool_bytes = tool_number_of(t, TAKT_F_KV_POOL, 0);
    j.options.max_wait_ns = (int64_t)tool_number_of(t, TAKT_F_MAX_WAIT, 0);
    const int pairs = read_guesses(t, &j.options);
    if (pairs != TAKT_EXIT_OK)
        return pairs;
    if (tool_number_of(t, TAKT_F_PORT, 0) > 65535)
        return tool_usage_error(t, 1003, NULL, "--port is at most 65535");
    const char **models = calloc(t->arg_count, sizeof *models);
    if (models == NULL)
        return tool_usage_error(t, 9003, NULL, "out of memory");
    for (size_t i = 0; i < t->arg_count; i++)
        models[i] = tool_readable(t->args[i]);
    int code = read_keys(t, &j);
    if (code == TAKT_EXIT_OK)
        code = read_template(t, &j);
    if (code == TAKT_EXIT_OK)
        code = serve(t, &j, models);
    free(models);
    free(j.keys_text);
    free(j.chat_text);
    return code;
}

const takt_verb takt_verb_serve = {
    .name = "serve",
    .task = TAKT_TASK_TEXT,
    .is_main = true,
    .summary = "serve models over HTTP, with OpenAI's API",
    .arguments = "MODEL...",
    .arg_min = 1,
    .arg_max = 16,
    .about =
        "A language model or sentence encoder (GGUF file, Hugging Face folder or .taktp) gets\n"
        "OpenAI's routes: /v1/chat/completions, /v1/completions, /v1/embeddings. Other models\n"
        "are served at /v1/infer/NAME. / is a chat page; /health and /metrics report the\n"
        "server's state. On SIGTERM and Ctrl-C the server answers all accepted requests, then\n"
        "exits.",
    .example = "takt serve model.gguf --port 8080 --parallel 4",
    .often = (const tool_flag_id[]){TAKT_F_HOST, TAKT_F_PORT, TAKT_F_PARALLEL, TAKT_F_KV_POOL,
                                    TAKT_F_API_KEY, TAKT_F_TEXT_CONTEXT, TAKT_F_CHAT_TEMPLATE,
                                    TAKT_F_QUEUE, TAKT_F_THREADS, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,        TAKT_F_HOST,         TAKT_F_PORT,          TAKT_F_PARALLEL,
              TAKT_F_KV_POOL,      TAKT_F_API_KEY,      TAKT_F_QUEUE,         TAKT_F_CONNECTIONS,
              TAKT_F_QUEUE_TIME,   TAKT_F_MAX_WAIT,     TAKT_F_CHAT_TEMPLATE, TAKT_F_TEXT_CONTEXT,
              TAKT_F_TEXT_BATCH,   TAKT_F_TEXT_UBATCH,  TAKT_F_THREADS_BATCH, TAKT_F_ACTIVATIONS,
              TAKT_F_CACHE_TYPE_K, TAKT_F_CACHE_TYPE_V, TAKT_F_MODEL_DRAFT,   TAKT_F_LOOKUP,
              TAKT_F_DRAFT,        TAKT_F_DRAFT_P_MIN,  TAKT_F_PROMPT_CACHE,  TAKT_F_THREADS,
              TAKT_F_ISA,          TAKT_FLAG_IDS},
    .run = run,
};
