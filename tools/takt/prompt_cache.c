/* prompt_cache.c - --prompt-cache: what the model made of a prompt, from run to run. */
#include "text.h"

int tool_load_prompt(const takt_tool *t, takt_generator *g)
{
    const char *path = tool_text_of(t, TAKT_F_PROMPT_CACHE);
    FILE *f = path != NULL ? fopen(path, "rb") : NULL;
    if (f == NULL)
        return TAKT_EXIT_OK;
    fclose(f);
    return tool_finish(t, takt_generator_load(g, path));
}

/* A model that cannot forget what it has written keeps it. */
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
    return tool_finish(t, status);
}
