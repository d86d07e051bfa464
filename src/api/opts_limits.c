/* opts_limits.c - limits of devices' memories: "cuda=2G". */
#include <math.h>
#include <string.h>

#include "api/backends.h"
#include "api/opts.h"
#include "base/number.h"
#include "base/text.h"

/* "2G", "1.5GiB", "4096": bytes. */
static bool read_bytes(takt_span text, size_t *bytes)
{
    static const char units[] = "KMGT";
    double value;
    if (text.length > 0 && text.at[text.length - 1] == 'B')
        text.length--;
    if (text.length > 0 && text.at[text.length - 1] == 'i')
        text.length--;
    const char *unit =
        text.length > 0 ? memchr(units, text.at[text.length - 1], sizeof units - 1) : NULL;
    if (!takt_number_read(text.at, text.length - (unit != NULL), &value))
        return false;
    value = ldexp(value, unit != NULL ? 10 * (int)(unit - units + 1) : 0);
    *bytes = value >= 1 && value < 0x1p62 ? (size_t)value : 0;
    return *bytes > 0;
}

static takt_status fail_word(takt_ctx *ctx, takt_span word)
{
    takt_fail(ctx, TAKT_E_OPTION, "the limit %.*s is not understood", (int)word.length, word.at);
    return takt_fail_hint(ctx, "a backend and its bytes, cuda=2G; a size alone limits the host");
}

static takt_status settle_word(takt_ctx *ctx, takt_span word, takt_plan_settings *s)
{
    const char *sign = memchr(word.at, '=', word.length);
    char name[32];
    size_t bytes;
    const size_t length = sign != NULL ? (size_t)(sign - word.at) : 0;
    const takt_span value = {word.at + length + 1, word.length - length - 1};
    if (length == 0 || length >= sizeof name || !read_bytes(value, &bytes))
        return fail_word(ctx, word);
    memcpy(name, word.at, length);
    name[length] = '\0';
    if (strcmp(name, s->backend->name) == 0)
        s->away_limit = bytes;
    else if (takt_backend_named(name) == NULL)
        return fail_word(ctx, word);
    return TAKT_OK; /* a backend that runs nothing of the plan needs no memory for it */
}

takt_status takt_settle_limits(takt_ctx *ctx, const char *words, takt_plan_settings *s)
{
    while (words != NULL && *words != '\0') {
        const size_t length = strcspn(words, ",");
        if (length > 0)
            TAKT_TRY(settle_word(ctx, (takt_span){words, length}, s));
        words += length + (words[length] == ',');
    }
    return TAKT_OK;
}
