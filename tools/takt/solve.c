/* solve.c - the size of a name from an expression that contains it: "2*n + 1" is 9, so n is 4.
 *
 * The expression is evaluated for two guesses; the solution of the line through them is tried.
 * Whatever this does not solve has to be given by -D. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum { DEEPEST = 64 };

typedef struct evaluation {
    const char *at;
    const tool_sizes *sizes;
    char unknown[TOOL_NAME]; /* written; the first name without a size */
    int64_t guess;           /* of it */
    bool is_wrong;           /* no expression, too many names without a size, too large */
    bool has_many;
    int depth;
} evaluation;

static int64_t sum(evaluation *e);

static int64_t wrong(evaluation *e)
{
    e->is_wrong = true;
    e->at = "";
    return 0;
}

static bool take(evaluation *e, const char *word)
{
    const size_t length = strlen(word);
    while (*e->at == ' ')
        e->at++;
    if (strncmp(e->at, word, length) != 0)
        return false;
    e->at += length;
    return true;
}

static int64_t floored(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* After the opening bracket of a call. */
static int64_t call(evaluation *e, const char *name)
{
    const int64_t a = sum(e);
    if (!take(e, ","))
        return wrong(e);
    const int64_t b = sum(e);
    if (!take(e, ")"))
        return wrong(e);
    if (strcmp(name, "min") == 0)
        return a < b ? a : b;
    if (strcmp(name, "max") == 0)
        return a > b ? a : b;
    if (b <= 0)
        return wrong(e);
    if (strcmp(name, "floordiv") == 0)
        return floored(a, b);
    return strcmp(name, "mod") == 0 ? a - floored(a, b) * b : wrong(e);
}

static int64_t name(evaluation *e)
{
    char plain[TOOL_NAME], written[TOOL_NAME];
    const size_t length = takt_name_read(e->at, " +-*(),", plain, sizeof plain);
    if (length == 0 || length >= sizeof written)
        return wrong(e);
    memcpy(written, e->at, length);
    written[length] = '\0';
    e->at += length;
    if (take(e, "("))
        return call(e, plain);
    const long long size = tool_size_of(e->sizes, written);
    if (size >= 0)
        return size;
    if (e->unknown[0] != '\0' && strcmp(e->unknown, written) != 0)
        e->has_many = true;
    strcpy(e->unknown, written);
    return e->guess;
}

static int64_t atom(evaluation *e)
{
    if (take(e, "(")) {
        const int64_t inner = sum(e);
        return take(e, ")") ? inner : wrong(e);
    }
    if (*e->at < '0' || *e->at > '9')
        return name(e);
    char *end;
    const long long number = strtoll(e->at, &end, 10);
    e->at = end;
    return number;
}

static int64_t product(evaluation *e)
{
    int64_t out = atom(e);
    while (!e->is_wrong && take(e, "*"))
        if (__builtin_mul_overflow(out, atom(e), &out))
            return wrong(e);
    return out;
}

static int64_t sum(evaluation *e)
{
    if (++e->depth > DEEPEST)
        return wrong(e);
    int64_t out = product(e);
    for (bool more = true; more && !e->is_wrong;) {
        bool overflows = false;
        more = false;
        if (take(e, "+")) {
            overflows = __builtin_add_overflow(out, product(e), &out);
            more = true;
        } else if (take(e, "-")) {
            overflows = __builtin_sub_overflow(out, product(e), &out);
            more = true;
        }
        if (overflows)
            return wrong(e);
    }
    e->depth--;
    return out;
}

static bool work_out(evaluation *e, const char *text, const tool_sizes *sizes, int64_t guess,
                     int64_t *value)
{
    *e = (evaluation){.at = text, .sizes = sizes, .guess = guess};
    *value = sum(e);
    return !e->is_wrong && *e->at == '\0';
}

tool_solution tool_solve(const char *text, const tool_sizes *sizes, int64_t value,
                         char unknown[TOOL_NAME], int64_t *size)
{
    evaluation e;
    int64_t one, two, found, step, rest;
    if (!work_out(&e, text, sizes, 1, &one) || e.has_many)
        return TOOL_UNSOLVED;
    if (e.unknown[0] == '\0')
        return one == value ? TOOL_SOLVED : TOOL_IMPOSSIBLE;
    if (!work_out(&e, text, sizes, 2, &two))
        return TOOL_UNSOLVED;
    strcpy(unknown, e.unknown);
    if (__builtin_sub_overflow(two, one, &step) || __builtin_sub_overflow(value, one, &rest))
        return TOOL_UNSOLVED;
    *size = step != 0 ? rest / step + 1 : 1;
    if (*size < 0 || !work_out(&e, text, sizes, *size, &found) || found != value)
        return step != 0 && strchr(text, '(') == NULL ? TOOL_IMPOSSIBLE : TOOL_UNSOLVED;
    return TOOL_SOLVED;
}
