/* sampling_flags.c - flags of the rarer samplers, and of their order. */
#include <float.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

/* --dry-sequence-breaker; with C escapes, since a shell has no other way to write them. */
static bool read_breakers(const takt_tool *t, takt_sampling *s, tool_sampling_room *room)
{
    const char *text;
    for (size_t i = 0; (text = tool_item_of(t, TAKT_F_DRY_SEQUENCE_BREAKER, i)) != NULL; i++) {
        const size_t length = strlen(text);
        s->dry_breakers = room->breakers;
        if (strcmp(text, "none") == 0)
            continue;
        if (length >= TOOL_BREAKER_BYTES || s->dry_breaker_count == TOOL_BREAKERS) {
            (void)tool_usage_error(t, 1003, NULL, "%.20s...: too long, or there are too many",
                                   text);
            return false;
        }
        char *to = room->texts[s->dry_breaker_count];
        memcpy(to, text, length + 1);
        (void)tool_unescape(to, length);
        room->breakers[s->dry_breaker_count++] = to;
    }
    return true;
}

/* "edk" as "e;d;k". */
static bool read_letters(const takt_tool *t, const char *letters, char *order)
{
    const size_t count = strlen(letters);
    for (size_t i = 0; i < count && 2 * i < TOOL_ORDER_BYTES; i++) {
        order[2 * i] = letters[i];
        order[2 * i + 1] = i + 1 < count ? ';' : '\0';
    }
    if (count > 0 && 2 * count <= TOOL_ORDER_BYTES)
        return true;
    (void)tool_usage_error(t, 1003, "the default is edskypmxt",
                           "--sampling-seq has no letter, or too many");
    return false;
}

static bool read_order(const takt_tool *t, takt_sampling *s, tool_sampling_room *room)
{
    const char *letters = tool_text_of(t, TAKT_F_SAMPLING_SEQ);
    s->samplers = tool_text_of(t, TAKT_F_SAMPLERS);
    if (letters == NULL)
        return true;
    if (s->samplers != NULL) {
        (void)tool_usage_error(t, 1003, "give one of them",
                               "the order is given by names and by letters");
        return false;
    }
    s->samplers = room->order;
    return read_letters(t, letters, room->order);
}

/* In the library 0 means the default; here it means 0. */
bool tool_read_more_sampling(const takt_tool *t, takt_sampling *s, tool_sampling_room *room)
{
    double sigma, last;
    if (!tool_real_of(t, TAKT_F_DYNATEMP_RANGE, 0, &s->dynatemp_range) ||
        !tool_real_of(t, TAKT_F_DYNATEMP_EXP, 1, &s->dynatemp_exponent) ||
        !tool_real_of(t, TAKT_F_TOP_N_SIGMA, -1, &sigma) ||
        !tool_real_of(t, TAKT_F_XTC_PROBABILITY, 0, &s->xtc_probability) ||
        !tool_real_of(t, TAKT_F_XTC_THRESHOLD, 0.1, &s->xtc_threshold) ||
        !tool_real_of(t, TAKT_F_DRY_MULTIPLIER, 0, &s->dry_multiplier) ||
        !tool_real_of(t, TAKT_F_DRY_BASE, 1.75, &s->dry_base) ||
        !tool_real_of(t, TAKT_F_DRY_PENALTY_LAST_N, -1, &last))
        return false;
    s->top_n_sigma = sigma > 0 ? sigma : 0;
    s->dynatemp_exponent = s->dynatemp_exponent != 0 ? s->dynatemp_exponent : DBL_MIN;
    s->xtc_threshold = s->xtc_threshold != 0 ? s->xtc_threshold : DBL_MIN;
    s->dry_base = s->dry_base != 0 ? s->dry_base : DBL_MIN;
    s->dry_penalty_last_n = last < 0 || last > INT32_MAX ? -1 : (int64_t)last;
    s->dry_multiplier = last == 0 ? 0 : s->dry_multiplier;
    s->dry_allowed_length = (int64_t)tool_number_of(t, TAKT_F_DRY_ALLOWED_LENGTH, 2);
    return read_breakers(t, s, room) && read_order(t, s, room);
}
