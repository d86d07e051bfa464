/* consumer.c - somebody else's program: makes a context and says which Takt it runs. */
#include <stdio.h>

#include <takt/takt.h>

int main(void)
{
    takt_ctx *ctx = NULL;
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    printf("takt %s\n", takt_version());
    takt_ctx_destroy(ctx);
    return 0;
}
