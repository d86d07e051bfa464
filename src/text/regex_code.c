/* regex_code.c - the program of a pattern: steps, and how they are repeated. */
#include <string.h>

#include "text/regex_parse.h"

/* ---- code ---- */

static bool reserve(takt_regex_parser *p, size_t more)
{
    takt_regex *r = p->r;
    if (more > TAKT_REGEX_STEPS - r->step_count)
        takt_regex_refuse(p, "it is too long");
    if (p->status != TAKT_OK || r->step_count + more <= p->step_room)
        return p->status == TAKT_OK;
    size_t room = p->step_room > 0 ? p->step_room : 64;
    while (room < r->step_count + more)
        room *= 2;
    takt_regex_step *steps = takt_arena_array(p->arena, room, sizeof *steps);
    if (steps == NULL) {
        p->status = TAKT_ERR_MEMORY;
        return false;
    }
    if (r->step_count > 0)
        memcpy(steps, r->steps, r->step_count * sizeof *steps);
    r->steps = steps;
    p->step_room = room;
    return true;
}

size_t takt_regex_emit(takt_regex_parser *p, takt_regex_op op, size_t a, size_t b, size_t c)
{
    if (!reserve(p, 1))
        return 0;
    p->r->steps[p->r->step_count] = (takt_regex_step){op, (uint32_t)a, (uint32_t)b, (uint32_t)c};
    return p->r->step_count++;
}

/* Moves the targets of steps by `by`. */
static void move(takt_regex_step *s, int64_t by)
{
    const bool jumps = s->op == TAKT_R_SPLIT || s->op == TAKT_R_JUMP || s->op == TAKT_R_LOOK;
    if (jumps)
        s->a = (uint32_t)((int64_t)s->a + by);
    if (s->op == TAKT_R_SPLIT || s->op == TAKT_R_LOOK)
        s->b = (uint32_t)((int64_t)s->b + by);
}

/* Makes room for one step before the code from `first` on; all its targets are inside it. */
void takt_regex_insert(takt_regex_parser *p, size_t first, takt_regex_op op, size_t b)
{
    if (!reserve(p, 1))
        return;
    takt_regex *r = p->r;
    for (size_t i = r->step_count; i > first; i--) {
        r->steps[i] = r->steps[i - 1];
        move(&r->steps[i], 1);
    }
    r->step_count++;
    r->steps[first] = (takt_regex_step){op, (uint32_t)first + 1, (uint32_t)b, 0};
}

static void copy(takt_regex_parser *p, const takt_regex_step *code, size_t count, size_t from)
{
    if (!reserve(p, count))
        return;
    const int64_t by = (int64_t)p->r->step_count - (int64_t)from;
    for (size_t i = 0; i < count; i++) {
        takt_regex_step s = code[i];
        move(&s, by);
        p->r->steps[p->r->step_count++] = s;
    }
}

/* ---- repetition ---- */

enum { REPEATS = 1 << 12 };

static bool take_number(takt_regex_parser *p, uint32_t *value)
{
    const size_t first = p->at;
    for (*value = 0; p->at < p->pattern.length && p->pattern.at[p->at] >= '0' &&
                     p->pattern.at[p->at] <= '9' && *value <= REPEATS;
         p->at++)
        *value = 10 * *value + (uint32_t)(p->pattern.at[p->at] - '0');
    return p->at > first;
}

/* "{1,3}"; a brace that does not begin this is a character. */
static bool take_braces(takt_regex_parser *p, takt_regex_repeat *r)
{
    const size_t first = p->at;
    if (!takt_regex_takes(p, "{"))
        return false;
    const bool has_least = take_number(p, &r->least);
    r->most = r->least;
    if (takt_regex_takes(p, ",") && !take_number(p, &r->most))
        r->most = has_least ? UINT32_MAX : 0;
    if (takt_regex_takes(p, "}") && (has_least || r->most > 0) && r->least <= r->most) {
        if (r->least > REPEATS || (r->most > REPEATS && r->most != UINT32_MAX))
            takt_regex_refuse(p, "a repetition is too long");
        return true;
    }
    p->at = first;
    return false;
}

bool takt_regex_take_repeat(takt_regex_parser *p, takt_regex_repeat *r)
{
    *r = (takt_regex_repeat){0, UINT32_MAX, false, false};
    const bool has_braces = take_braces(p, r);
    if (!has_braces) {
        if (takt_regex_takes(p, "+"))
            r->least = 1;
        else if (takt_regex_takes(p, "?"))
            r->most = 1;
        else if (!takt_regex_takes(p, "*"))
            return false;
    }
    const bool is_rust = (p->flags & TAKT_REGEX_RUST) != 0;
    r->is_lazy = takt_regex_takes(p, "?");
    if (!r->is_lazy && (!has_braces || is_rust))
        r->is_possessive = takt_regex_takes(p, "+");
    return true;
}

/* A step that takes one character, as a set. The case-folding group may have ended. */
bool takt_regex_as_set(takt_regex_parser *p, const takt_regex_step *s, uint32_t *set)
{
    const bool folds = p->folds;
    if (s->op == TAKT_R_SET) {
        *set = s->a;
        return true;
    }
    if (s->op != TAKT_R_CHAR && s->op != TAKT_R_FOLD)
        return false;
    p->folds = s->op == TAKT_R_FOLD;
    *set = takt_regex_set_of(p, (takt_regex_item){TAKT_R_RANGE, false, s->a, s->a});
    p->folds = folds;
    return true;
}

/* The second branch of a split, which skips what follows. */
static size_t split(takt_regex_parser *p, bool is_lazy)
{
    const size_t at = takt_regex_emit(p, TAKT_R_SPLIT, 0, 0, 0);
    if (p->status == TAKT_OK) {
        p->r->steps[at].a = is_lazy ? 0 : (uint32_t)at + 1;
        p->r->steps[at].b = is_lazy ? (uint32_t)at + 1 : 0;
    }
    return at;
}

static void skip_to(takt_regex_parser *p, size_t at, bool is_lazy, size_t to)
{
    if (p->status != TAKT_OK)
        return;
    if (is_lazy)
        p->r->steps[at].a = (uint32_t)to;
    else
        p->r->steps[at].b = (uint32_t)to;
}

/* The optional rest of a repetition, after the required part. */
static void emit_optional(takt_regex_parser *p, const takt_regex_repeat *how,
                          const takt_regex_step *code, size_t count, size_t from)
{
    const size_t first = p->r->step_count;
    if (how->most == UINT32_MAX) {
        const size_t at = split(p, how->is_lazy);
        copy(p, code, count, from);
        takt_regex_emit(p, TAKT_R_JUMP, at, 0, 0);
        skip_to(p, at, how->is_lazy, p->r->step_count);
        return;
    }
    for (uint32_t i = how->least; i < how->most && p->status == TAKT_OK; i++) {
        (void)split(p, how->is_lazy);
        copy(p, code, count, from);
    }
    const size_t end = p->r->step_count;
    for (size_t at = first; p->status == TAKT_OK && at < end; at += count + 1)
        skip_to(p, at, how->is_lazy, end);
}

/* Repeats the code from `first` on. */
void takt_regex_repeat_code(takt_regex_parser *p, size_t first, const takt_regex_repeat *how)
{
    takt_regex *r = p->r;
    uint32_t set;
    const size_t count = r->step_count - first;
    if (p->status != TAKT_OK || (how->least == 1 && how->most == 1))
        return;
    if (how->is_possessive) {
        if (count != 1 || !takt_regex_as_set(p, &r->steps[first], &set)) {
            takt_regex_refuse(p, "only one character can be repeated possessively");
            return;
        }
        r->step_count = first;
        takt_regex_emit(p, TAKT_R_RUN, set, how->least, how->most);
        return;
    }
    takt_regex_step *code = takt_arena_array(p->arena, count + 1, sizeof *code);
    if (code == NULL) {
        p->status = TAKT_ERR_MEMORY;
        return;
    }
    memcpy(code, r->steps + first, count * sizeof *code);
    r->step_count = first;
    for (uint32_t i = 0; i < how->least && p->status == TAKT_OK; i++)
        copy(p, code, count, first);
    emit_optional(p, how, code, count, first);
}
