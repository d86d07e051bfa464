/* rules.c - the lines of an architecture's text that map a folder's names. */
#include <string.h>

#include "io/hf/hf.h"

takt_hf_lines takt_hf_lines_of(const char *architecture)
{
    return (takt_hf_lines){
        .at = takt_gguf_arch(architecture),
        .then = {takt_gguf_arch_encoder(architecture), takt_gguf_arch("common")}};
}

static void cut(const char *at, const char *end, takt_hf_line *line)
{
    line->count = 0;
    while (line->count < TAKT_HF_WORDS) {
        while (at < end && *at == ' ')
            at++;
        const char *begin = at;
        while (at < end && *at != ' ')
            at++;
        if (at == begin)
            return;
        line->word[line->count++] = (takt_span){begin, (size_t)(at - begin)};
    }
}

bool takt_hf_next(takt_hf_lines *lines, takt_hf_line *line)
{
    while (lines->at != NULL) {
        const char *begin = lines->at, *end = strchr(begin, '\n');
        if (end == NULL) { /* texts end with a newline */
            const size_t next = lines->then[0] == NULL ? 1 : 0;
            lines->at = lines->then[next];
            lines->then[next] = NULL;
            continue;
        }
        lines->at = end + 1;
        if (strncmp(begin, "#: ", 3) != 0)
            continue;
        cut(begin + 3, end, line);
        if (line->count > 1)
            return true;
    }
    return false;
}

bool takt_hf_is(const takt_hf_line *line, const char *verb)
{
    return takt_span_is(line->word[0], verb);
}

/* ---- patterns ---- */

size_t takt_hf_stars(takt_span pattern)
{
    size_t count = 0;
    for (size_t i = 0; i < pattern.length; i++)
        count += pattern.at[i] == '*';
    return count;
}

/* Digits at `*at`; false if there are none, too many, or a leading 0: each number has one
 * spelling. */
static bool take_number(takt_span name, size_t *at, uint32_t *number)
{
    const size_t first = *at;
    *number = 0;
    while (*at < name.length && name.at[*at] >= '0' && name.at[*at] <= '9' && *at - first < 7)
        *number = 10 * *number + (uint32_t)(name.at[(*at)++] - '0');
    return *at > first && (name.at[first] != '0' || *at == first + 1);
}

bool takt_hf_matches(takt_span pattern, takt_span name, takt_hf_match *match)
{
    size_t at = 0;
    *match = (takt_hf_match){0};
    for (size_t i = 0; i < pattern.length; i++) {
        if (pattern.at[i] == '*') {
            if (match->count == 2 || !take_number(name, &at, &match->number[match->count++]))
                return false;
        } else if (at >= name.length || name.at[at++] != pattern.at[i]) {
            return false;
        }
    }
    match->rest = (takt_span){name.at + at, name.length - at};
    return match->rest.length == 0 || takt_span_is(match->rest, ".weight") ||
           takt_span_is(match->rest, ".bias");
}

const char *takt_hf_name(takt_arena *arena, takt_span pattern, const takt_hf_match *match)
{
    char name[2 * TAKT_GGUF_NAME];
    size_t length = 0, star = 0;
    for (size_t i = 0; i < pattern.length && length + 16 < sizeof name; i++) {
        if (pattern.at[i] != '*') {
            name[length++] = pattern.at[i];
            continue;
        }
        char digits[16];
        uint32_t number = match->number[star++];
        size_t count = 0;
        do
            digits[count++] = (char)('0' + number % 10);
        while ((number /= 10) > 0);
        while (count > 0)
            name[length++] = digits[--count];
    }
    return takt_arena_format(arena, "%.*s%.*s", (int)length, name, (int)match->rest.length,
                             match->rest.at);
}
