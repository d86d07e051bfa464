/* regex_run.c - runs a pattern: the first branch that leads to a match wins.
 *
 * The current path is a stack of splits. If a text takes long, the run continues with a memo of the
 * splits that have failed at a position, and of those inside lookaheads that led to a match: no
 * pair of split and position is then tried twice, so the time is linear in the text.
 */
#include <string.h>

#include "base/mem.h"
#include "text/regex.h"
#include "text/unicode.h"

enum { STEPS_A_BYTE = 100, SPLITS_A_BYTE = 4, STEPS_ANYWAY = 4096, FAILED = 1, MATCHES = 2 };
#define SEEN_MOST (UINT64_C(1) << 30)

void takt_regex_begin(takt_regex_run *run, takt_ctx *ctx, const takt_regex *regex, takt_span text)
{
    run->ctx = ctx;
    run->regex = regex;
    run->text = text;
    run->count = 0;
    run->is_careful = false;
    run->left = STEPS_ANYWAY + (uint64_t)text.length * STEPS_A_BYTE;
    run->status = TAKT_OK;
    memset(run->known, 0, sizeof run->known);
}

void takt_regex_deinit(takt_regex_run *run)
{
    takt_mem_put(run->ctx, run->frames, run->room * sizeof *run->frames);
    takt_mem_put(run->ctx, run->seen, run->seen_bytes);
    run->frames = NULL;
    run->seen = NULL;
    run->room = run->seen_bytes = 0;
}

/* ---- memo of attempts ---- */

static void be_careful(takt_regex_run *run)
{
    const uint64_t pairs = (uint64_t)run->regex->split_count * (run->text.length + 1);
    const size_t bytes = (size_t)(pairs / 4 + 1);
    void *block;
    if (pairs > SEEN_MOST) {
        run->status = takt_fail(run->ctx, TAKT_E_TOKENIZER_UNSUPPORTED,
                                "a text of %zu bytes is too long for the pattern that cuts it",
                                run->text.length);
        return;
    }
    if (bytes > run->seen_bytes) {
        takt_mem_put(run->ctx, run->seen, run->seen_bytes);
        run->seen = NULL;
        run->seen_bytes = 0;
        run->status = takt_mem_get(run->ctx, bytes, "a pattern's memory", &block);
        if (run->status != TAKT_OK)
            return;
        run->seen = block;
        run->seen_bytes = bytes;
    }
    memset(run->seen, 0, bytes);
    run->is_careful = true;
}

static uint64_t pair_of(const takt_regex_run *run, uint32_t step, size_t at)
{
    return (uint64_t)run->regex->steps[step].c * (run->text.length + 1) + at;
}

static unsigned seen(const takt_regex_run *run, uint64_t pair)
{
    return run->seen[pair / 4] >> (pair % 4 * 2) & 3;
}

static void see(takt_regex_run *run, uint64_t pair, unsigned what)
{
    uint8_t *to = &run->seen[pair / 4];
    *to = (uint8_t)((*to & ~(3u << (pair % 4 * 2))) | what << (pair % 4 * 2));
}

/* ---- characters ---- */

static uint32_t look(const takt_regex_run *run, size_t at, size_t *bytes)
{
    *bytes = 0;
    return at < run->text.length
               ? takt_unicode_take(run->text.at + at, run->text.length - at, bytes)
               : 0;
}

/* The character that ends at `at`; false at the beginning. */
static bool before(const takt_regex_run *run, size_t at, uint32_t *c)
{
    for (size_t k = at < 4 ? at : 4; k > 0; k--) {
        size_t bytes;
        *c = look(run, at - k, &bytes);
        if (bytes == k)
            return true;
    }
    return false;
}

static bool is_edge(const takt_regex_run *run, size_t at)
{
    uint32_t c;
    size_t bytes;
    const bool left = before(run, at, &c) && takt_regex_is_word(run->regex, c);
    c = look(run, at, &bytes);
    return left != (bytes > 0 && takt_regex_is_word(run->regex, c));
}

static bool is_at(const takt_regex_run *run, takt_regex_place place, size_t at)
{
    const size_t end = run->text.length;
    switch (place) {
    case TAKT_R_LINE_BEGIN: return at == 0 || (run->text.at[at - 1] == '\n' && at < end);
    case TAKT_R_LINE_END: return at == end || run->text.at[at] == '\n';
    case TAKT_R_BEGIN: return at == 0;
    case TAKT_R_END: return at == end;
    case TAKT_R_LAST: return at == end || (at + 1 == end && run->text.at[at] == '\n');
    case TAKT_R_WORD_EDGE: return is_edge(run, at);
    case TAKT_R_NO_WORD_EDGE: return !is_edge(run, at);
    }
    return false;
}

static bool is_one(const takt_regex *r, const takt_regex_step *s, uint32_t c)
{
    if (s->op == TAKT_R_CHAR)
        return c == s->a;
    if (s->op == TAKT_R_FOLD)
        return (c < 0x80 && (c | 0x20) == s->a) || (c == 0x17F && s->a == 's') ||
               (c == 0x212A && s->a == 'k');
    return takt_regex_has(r, &r->sets[s->a], c);
}

/* Moves past a possessive run; false: there are too few characters. The end of an earlier run is
 * remembered. */
static bool run_over(takt_regex_run *run, const takt_regex_step *s, size_t *at)
{
    const takt_regex_set *set = &run->regex->sets[s->a];
    takt_regex_known *known = &run->known[(size_t)(s - run->regex->steps) % TAKT_REGEX_KNOWN];
    const size_t from = *at;
    uint32_t n = 0;
    if (known->step == s && s->c == UINT32_MAX && s->b < 2 && from >= known->from &&
        from < known->to) {
        *at = known->to;
        return true;
    }
    for (size_t bytes; n < s->c; n++, *at += bytes) {
        const uint32_t c = look(run, *at, &bytes);
        if (bytes == 0 || !takt_regex_has(run->regex, set, c))
            break;
    }
    *known = (takt_regex_known){s, from, *at};
    return n >= s->b;
}

/* ---- paths ---- */

static bool push(takt_regex_run *run, uint32_t step, size_t at)
{
    if (run->count == run->room) {
        const size_t room = run->room > 0 ? 2 * run->room : 256;
        void *block;
        run->status =
            takt_mem_get(run->ctx, room * sizeof *run->frames, "a pattern's path", &block);
        if (run->status != TAKT_OK)
            return false;
        if (run->count > 0)
            memcpy(block, run->frames, run->count * sizeof *run->frames);
        takt_mem_put(run->ctx, run->frames, run->room * sizeof *run->frames);
        run->frames = block;
        run->room = room;
    }
    run->frames[run->count++] = (takt_regex_frame){.step = step, .at = at};
    return true;
}

/* The last split with a second branch; false: there is none above `base`. */
static bool back(takt_regex_run *run, size_t base, uint32_t *step, size_t *at)
{
    while (run->count > base) {
        takt_regex_frame *f = &run->frames[run->count - 1];
        if (!f->is_second) {
            f->is_second = true;
            *step = run->regex->steps[f->step].b;
            *at = f->at;
            return true;
        }
        if (run->is_careful)
            see(run, pair_of(run, f->step, f->at), FAILED);
        run->count--;
    }
    return false;
}

/* The splits of the path have not failed. */
static void settle(takt_regex_run *run, size_t base, bool is_look)
{
    for (; run->count > base; run->count--) {
        const takt_regex_frame *f = &run->frames[run->count - 1];
        if (run->is_careful)
            see(run, pair_of(run, f->step, f->at), is_look ? MATCHES : 0);
    }
}

typedef enum outcome { GOES_ON, FAILS, ENDS } outcome;

/* Enters a split, unless its outcome is known. */
static outcome enter(takt_regex_run *run, uint32_t step, size_t at)
{
    /* a path much longer than the text loops without consuming anything */
    if (run->left > 0 && run->count < STEPS_ANYWAY + run->text.length * SPLITS_A_BYTE)
        run->left--;
    else if (!run->is_careful)
        be_careful(run);
    if (run->status != TAKT_OK)
        return FAILS;
    if (run->is_careful) {
        const uint64_t pair = pair_of(run, step, at);
        const unsigned known = seen(run, pair);
        if (known != 0)
            return known == MATCHES ? ENDS : FAILS;
        see(run, pair, FAILED); /* until the loop is left: an empty iteration ends it */
    }
    return push(run, step, at) ? GOES_ON : FAILS;
}

static bool match_at(takt_regex_run *run, uint32_t step, size_t at, bool is_look, size_t *end);

/* One step: `*step` and `*at` are the next. */
static outcome advance(takt_regex_run *run, uint32_t *step, size_t *at)
{
    const takt_regex_step *s = &run->regex->steps[*step];
    size_t bytes, end;
    uint32_t c;
    bool is = true;
    switch (s->op) {
    case TAKT_R_CHAR:
    case TAKT_R_FOLD:
    case TAKT_R_SET:
        c = look(run, *at, &bytes);
        is = bytes > 0 && is_one(run->regex, s, c);
        *at += bytes;
        break;
    case TAKT_R_RUN: is = run_over(run, s, at); break;
    case TAKT_R_SPLIT: {
        const outcome entered = enter(run, *step, *at);
        *step = s->a;
        return entered;
    }
    case TAKT_R_JUMP: *step = s->a; return GOES_ON;
    case TAKT_R_LOOK:
        is = match_at(run, s->a, *at, true, &end) == (s->c != 0);
        *step = s->b;
        return is && run->status == TAKT_OK ? GOES_ON : FAILS;
    case TAKT_R_BEHIND:
        is = before(run, *at, &c) && takt_regex_has(run->regex, &run->regex->sets[s->a], c);
        is = is == (s->c != 0);
        break;
    case TAKT_R_AT: is = is_at(run, (takt_regex_place)s->a, *at); break;
    case TAKT_R_MATCH: return ENDS;
    }
    (*step)++;
    return is ? GOES_ON : FAILS;
}

/* Whether the program from `step` on matches at `at`, and where the match ends. */
static bool match_at(takt_regex_run *run, uint32_t step, size_t at, bool is_look, size_t *end)
{
    const size_t base = run->count;
    while (run->status == TAKT_OK) {
        const outcome next = advance(run, &step, &at);
        if (next == ENDS) {
            *end = at;
            settle(run, base, is_look);
            return true;
        }
        if (next == FAILS && !back(run, base, &step, &at))
            return false;
    }
    run->count = base;
    return false;
}

bool takt_regex_next(takt_regex_run *run, size_t from, size_t *begin, size_t *end)
{
    for (size_t at = from, bytes; at <= run->text.length; at += bytes) {
        if (match_at(run, 0, at, false, end)) {
            *begin = at;
            return true;
        }
        (void)look(run, at, &bytes);
        if (run->status != TAKT_OK || bytes == 0)
            return false;
    }
    return false;
}

void takt_regex_replace(const takt_regex *regex, takt_span text, takt_span by, takt_text *to)
{
    takt_regex_run run = {0};
    size_t at = 0, from = 0, begin, end;
    takt_regex_begin(&run, to->ctx, regex, text);
    bool is_first = true;
    while (from <= text.length && takt_regex_next(&run, from, &begin, &end)) {
        const bool is_none = begin == end && begin == at && !is_first; /* where the last ended */
        takt_text_put(to, text.at + at, begin - at);
        takt_text_put(to, by.at, is_none ? 0 : by.length);
        at = end;
        is_first = false;
        from = begin == end ? end + 1 : end;
        while (from < text.length && ((unsigned char)text.at[from] & 0xC0) == 0x80)
            from++;
    }
    takt_text_put(to, text.at + at, text.length - at);
    if (run.status != TAKT_OK)
        to->status = run.status;
    takt_regex_deinit(&run);
}
