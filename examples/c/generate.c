/* generate.c - continues a text with a model in GGUF: generate MODEL PROMPT */
#include <stdio.h>

#include <takt/takt.h>

static int put(void *user, const char *text, size_t length)
{
    (void)user;
    return fwrite(text, 1, length, stdout) == length ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "tests/corpus/gguf/tiny.gguf";
    const char *prompt = argc > 2 ? argv[2] : "a b";
    const takt_generate_options how = {.max_tokens = 32};
    takt_ctx *ctx = NULL;
    takt_generator *writer = NULL;
    takt_generated told = {0};
    takt_status status = takt_ctx_create(NULL, &ctx);
    if (status == TAKT_OK)
        status = takt_generator_open(ctx, path, NULL, &writer);
    if (status == TAKT_OK)
        status = takt_generate(writer, prompt, &how, put, NULL, &told);
    if (status == TAKT_OK)
        printf("\n%zu tokens\n", told.tokens);
    else
        fprintf(stderr, "%s\n", takt_last_error(ctx));
    takt_generator_destroy(writer);
    takt_ctx_destroy(ctx);
    return status != TAKT_OK;
}
