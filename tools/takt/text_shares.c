/* text_shares.c - how close the speeds of a text are to the machine's ceilings. */
#include <string.h>

#include "measure.h"
#include "text.h"

/* Ceilings that a text exceeds by this much were measured while the machine was busy. */
#define MEASURED_LOW 1.25

static void put(bool is_json, const char *name, double floor_ns, double ns, char to[40])
{
    if (!(floor_ns > 0 && ns > 0))
        return;
    if (is_json)
        (void)snprintf(to, 40, "\"%s\": %.4f, ", name, floor_ns / ns);
    else if (floor_ns > MEASURED_LOW * ns)
        (void)snprintf(to, 40, " (above the ceiling kept here)");
    else
        (void)snprintf(to, 40, " (%.0f %% of the ceiling)", 100 * floor_ns / ns);
}

void tool_text_shares(takt_tool *t, const takt_generator *g, const takt_generated *r,
                      char shares[2][40])
{
    takt_ceilings c;
    const bool is_json = tool_format_of(t) == TAKT_FORMAT_JSON;
    const int64_t end = takt_generator_position(g), text = (int64_t)r->tokens;
    const size_t read = r->prompt_tokens - r->cached_tokens;
    memset(shares, 0, 2 * sizeof *shares);
    if (!tool_ceilings_known(t, &c))
        return;
    /* Guesses are read several at a time: the floor for single tokens does not apply. */
    const int64_t begin = end > text ? end - text : 0;
    put(is_json, "prompt_share",
        takt_generator_floor(g, &c, (int64_t)r->cached_tokens, read, false), r->prompt_ns,
        shares[0]);
    if (r->drafted == 0)
        put(is_json, "share", takt_generator_floor(g, &c, begin, r->tokens, true), r->ns,
            shares[1]);
}
