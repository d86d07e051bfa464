/* prompt_cache.c - --prompt-cache: the state after a prompt, kept from run to run. */
#include "text.h"

enum { WRITE_FAILED = 3003 };

static bool is_there(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f != NULL)
        fclose(f);
    return f != NULL;
}

int tool_load_prompt(const takt_tool *t, takt_generator *g)
{
    const char *path = tool_text_of(t, TAKT_F_PROMPT_CACHE);
    if (path == NULL || (!is_there(path) && !takt_generator_has_encoder(g)))
        return TAKT_EXIT_OK;
    return tool_finish(t, takt_generator_load(g, path));
}

int tool_check_pairs(const takt_tool *t)
{
    const bool has_cache = tool_text_of(t, TAKT_F_PROMPT_CACHE) != NULL;
    const bool guesses = tool_text_of(t, TAKT_F_MODEL_DRAFT) != NULL || tool_on(t, TAKT_F_LOOKUP);
    const bool takes_file = tool_verb_takes(t->verb, TAKT_F_PROMPT_FILE);
    const struct {
        tool_flag_id id;
        bool is_given, is_used;
        const char *needs;
    } pairs[] = {
        {TAKT_F_PROMPT_CACHE_RO, tool_on(t, TAKT_F_PROMPT_CACHE_RO), has_cache, "--prompt-cache F"},
        {TAKT_F_PROMPT_CACHE_ALL, tool_on(t, TAKT_F_PROMPT_CACHE_ALL), has_cache,
         "--prompt-cache F"},
        {TAKT_F_PARALLEL, tool_number_of(t, TAKT_F_PARALLEL, 0) > 0 && takes_file, tool_is_batch(t),
         "-f FILE"},
        {TAKT_F_KV_POOL, tool_number_of(t, TAKT_F_KV_POOL, 0) > 0 && takes_file,
         tool_is_batch(t) && tool_number_of(t, TAKT_F_PARALLEL, 0) > 1,
         "-f FILE and --parallel 2 or more"},
        {TAKT_F_DRAFT, tool_number_of(t, TAKT_F_DRAFT, 0) > 0, guesses, "-md M or --lookup"},
        {TAKT_F_DRAFT_P_MIN, tool_text_of(t, TAKT_F_DRAFT_P_MIN) != NULL, guesses,
         "-md M or --lookup"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].is_given && !pairs[i].is_used)
            return tool_usage_error(t, 1003, NULL, "--%s does nothing without %s",
                                    tool_flags[pairs[i].id].name, pairs[i].needs);
    return TAKT_EXIT_OK;
}

/* A cache that was read and cannot be replaced stays as it is: the text is written all the same. */
static int stays(const takt_tool *t, const char *path)
{
    const takt_error *e = takt_last_error_info(t->ctx);
    if (e->id != WRITE_FAILED || !is_there(path))
        return tool_finish(t, e->status);
    fprintf(stderr,
            "note: %s; the prompt cache stays as it was (--prompt-cache-ro only reads it)\n",
            e->message);
    return TAKT_EXIT_OK;
}

/* A model that cannot forget its own output keeps it in the cache. */
int tool_save_prompt(const takt_tool *t, takt_generator *g, size_t tokens)
{
    const char *path = tool_text_of(t, TAKT_F_PROMPT_CACHE);
    if (path == NULL || tool_on(t, TAKT_F_PROMPT_CACHE_RO))
        return TAKT_EXIT_OK;
    takt_status status = TAKT_OK;
    if (!tool_on(t, TAKT_F_PROMPT_CACHE_ALL))
        status = takt_generator_rewind(g, (int64_t)tokens);
    if (status == TAKT_OK || status == TAKT_ERR_UNSUPPORTED)
        status = takt_generator_save(g, path);
    return status == TAKT_OK ? TAKT_EXIT_OK : stays(t, path);
}
