/* shrinking.c - shared by tests of smaller models. */
#include "util/shrinking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int shrink_keep_text(void *user, const char *bytes, size_t length)
{
    char *to = user;
    const size_t used = strlen(to);
    if (used + length < SHRINK_REPORT) {
        memcpy(to + used, bytes, length);
        to[used + length] = '\0';
    }
    return 0;
}

takt_data *shrink_data(takt_ctx *ctx, const char *name, size_t width, int what)
{
    char path[512];
    const char *folder = getenv("TAKT_TEST_TMP");
    takt_data *data = NULL;
    snprintf(path, sizeof path, "%s/%s.csv", folder != NULL ? folder : "/tmp", name);
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return NULL;
    for (size_t k = 0; k < width; k++)
        fprintf(f, "c%zu,", k);
    fprintf(f, "label\n");
    uint32_t state = 7;
    for (size_t i = 0; i < SHRINK_SAMPLES; i++) {
        for (size_t k = 0; k < width; k++) {
            state = state * 1664525U + 1013904223U;
            const double v = (double)(state >> 8) / 0x1p23 - 1;
            if (what == 2 && i == 5 && k == 3)
                fprintf(f, "1e300,");
            else
                fprintf(f, "%.6f,", what == 1 ? 0.5 : v);
        }
        fprintf(f, "%zu\n", i % SHRINK_CLASSES);
    }
    fclose(f);
    const takt_data_options options = {.limit = what == 3 ? 8 : 0};
    if (takt_data_open(ctx, path, &options, &data) != TAKT_OK)
        printf("%s: %s\n", path, takt_last_error(ctx));
    return data;
}

takt_status shrink_tell(void *user, takt_session *before, takt_session *after, takt_comparison *c)
{
    shrink_told *t = user;
    takt_status status = takt_session_run(before);
    if (status == TAKT_OK)
        status = takt_session_run(after);
    if (status != TAKT_OK)
        return status;
    const size_t at = t->calls < t->count ? t->calls : t->count - 1;
    t->calls++;
    c->verdict = t->verdicts[at];
    c->a_ns = 1000;
    c->b_ns = c->verdict == TAKT_FASTER ? 400 : 1500;
    c->ratio = c->b_ns / c->a_ns;
    c->ci = (takt_interval){c->ratio, c->ratio};
    return TAKT_OK;
}
