/* golden.c - reads, compares and writes files of cases. */
#include "util/golden.h"

#include <string.h>

#include "../test.h"

enum { ROOM = 1 << 20 };

char *golden_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    *length = 0;
    if (!EXPECT(file != NULL, "%s", path))
        return NULL;
    char *text = calloc(1, ROOM);
    *length = fread(text, 1, ROOM - 1, file);
    EXPECT(*length > 0, "%s", path);
    fclose(file);
    return text;
}

typedef struct golden {
    takt_ctx *ctx;
    const char *verb;
    golden_fn *make;
    takt_text fresh; /* the file as it would be now */
} golden;

/* One case at `at`; returns the next one. */
static const char *one_case(golden *g, const char *at)
{
    const char *text = strchr(at, '\n') + 1;
    const char *middle = strstr(text, "---\n"), *end = strstr(text, "\n=== ");
    end = end != NULL ? end + 1 : text + strlen(text);
    if (!EXPECT(middle != NULL && middle < end, "no --- after %.40s", at))
        return end;
    const char *want = middle + 4;
    takt_text got;
    takt_text_init(&got, g->ctx);
    g->make(text, (size_t)(middle - text), &got);
    EXPECT(got.length == (size_t)(end - want) && memcmp(takt_text_get(&got), want, got.length) == 0,
           "%.*s\n%s\n%s\ninstead of\n%.*s", (int)(text - at - 1), at, g->verb, takt_text_get(&got),
           (int)(end - want), want);
    takt_text_put(&g->fresh, at, (size_t)(want - at));
    takt_text_put(&g->fresh, takt_text_get(&got), got.length);
    takt_text_deinit(&got);
    return end;
}

size_t golden_cases(takt_ctx *ctx, const char *path, const char *verb, bool bless, golden_fn *make)
{
    golden g = {.ctx = ctx, .verb = verb, .make = make};
    size_t count = 0, length;
    char *cases = golden_file(path, &length);
    takt_text_init(&g.fresh, ctx);
    for (const char *at = cases; at != NULL && *at != '\0'; count++)
        at = one_case(&g, at);
    FILE *file = bless ? fopen(path, "wb") : NULL;
    if (file != NULL) {
        fwrite(takt_text_get(&g.fresh), 1, g.fresh.length, file);
        fclose(file);
    }
    takt_text_deinit(&g.fresh);
    free(cases);
    return count;
}
