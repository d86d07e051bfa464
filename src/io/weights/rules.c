/* rules.c - reading rules, matching names, moving elements. */
#include "io/weights/rules.h"

#include <string.h>

#include "base/error.h"
#include "ir/dtype.h"

enum { STARS = 8 };

/* ---- reading ---- */

typedef struct reader {
    takt_arena *arena;
    const char *name;
    size_t line;
} reader;

static takt_status fail(const reader *r, const char *what)
{
    (void)takt_fail(r->arena->ctx, TAKT_E_WEIGHTS, "%s:%zu: %s", r->name, r->line, what);
    return takt_fail_hint(r->arena->ctx,
                          "a rule is `their.*.name -> our.*.name`, with `transpose` or "
                          "`transpose=1,0` behind it, or `their.name -> -`");
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of [*at, end), terminated in place; NULL: there is none. */
static char *next_word(char **at, char *end)
{
    char *from = *at;
    while (from < end && is_blank(*from))
        from++;
    char *to = from;
    while (to < end && !is_blank(*to))
        to++;
    *at = to < end ? to + 1 : end;
    *to = '\0';
    return to > from ? from : NULL;
}

static size_t star_count(const char *pattern)
{
    size_t count = 0;
    for (; *pattern != '\0'; pattern++)
        count += *pattern == '*';
    return count;
}

/* "transpose", or "transpose=1,0": each axis once. */
static bool read_axes(const char *word, takt_weight_rule *rule)
{
    bool seen[TAKT_MAX_RANK] = {false};
    if (strcmp(word, "transpose") == 0) {
        rule->swaps = true;
        return true;
    }
    if (strncmp(word, "transpose=", 10) != 0)
        return false;
    for (word += 10;; word += 2) {
        const int axis = *word - '0';
        if (axis < 0 || axis >= TAKT_MAX_RANK || seen[axis] || rule->axis_count == TAKT_MAX_RANK)
            return false;
        seen[axis] = true;
        rule->axis[rule->axis_count++] = axis;
        if (word[1] == '\0')
            break;
        if (word[1] != ',')
            return false;
    }
    for (int i = 0; i < rule->axis_count; i++)
        if (!seen[i])
            return false;
    return true;
}

static takt_status read_line(const reader *r, char *at, char *end, takt_weight_rules *rules)
{
    takt_weight_rule rule = {.line = r->line};
    rule.from = next_word(&at, end);
    if (rule.from == NULL)
        return TAKT_OK;
    const char *arrow = next_word(&at, end), *to = next_word(&at, end);
    if (arrow == NULL || strcmp(arrow, "->") != 0 || to == NULL)
        return fail(r, "there is no `-> NAME`");
    rule.to = strcmp(to, "-") != 0 ? to : NULL;
    const size_t stars = star_count(rule.from);
    if (stars > STARS)
        return fail(r, "a pattern has more than 8 stars");
    if (rule.to != NULL && star_count(rule.to) > stars)
        return fail(r, "the model's name has more stars than the file's");
    for (const char *word; (word = next_word(&at, end)) != NULL;)
        if (rule.swaps || rule.axis_count > 0 || !read_axes(word, &rule))
            return fail(r, "what follows the names is not `transpose`");
    rules->at[rules->count++] = rule;
    return TAKT_OK;
}

takt_status takt_weight_rules_read(takt_arena *arena, const char *name, const char *text,
                                   takt_weight_rules *rules)
{
    reader r = {.arena = arena, .name = name};
    size_t lines = 1;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    char *own = takt_arena_text(arena, text, strlen(text));
    *rules = (takt_weight_rules){.at = takt_arena_array(arena, lines, sizeof *rules->at)};
    if (own == NULL || rules->at == NULL)
        return TAKT_ERR_MEMORY;
    for (char *next; own != NULL; own = next) {
        char *end = strchr(own, '\n');
        next = end != NULL ? end + 1 : NULL;
        if (end == NULL)
            end = own + strlen(own);
        char *comment = memchr(own, '#', (size_t)(end - own));
        r.line++;
        TAKT_TRY(read_line(&r, own, comment != NULL ? comment : end, rules));
    }
    return TAKT_OK;
}

/* ---- matching ---- */

typedef struct star {
    const char *first, *end; /* the matched text */
} star;

/* On a mismatch only the last star is extended: nothing an earlier one took would fit better. */
static bool matches(const char *pattern, const char *name, star stars[STARS])
{
    const char *after = NULL; /* of the last star, in the pattern */
    size_t count = 0;
    while (*name != '\0' || *pattern != '\0') {
        if (*pattern == '*' && *name != '\0' && *name != '.') {
            stars[count++] = (star){name, name + 1};
            after = ++pattern;
            name++;
        } else if (*pattern != '*' && *pattern == *name) {
            pattern++;
            name++;
        } else {
            if (count == 0 || *stars[count - 1].end == '\0' || *stars[count - 1].end == '.')
                return false;
            name = ++stars[count - 1].end;
            pattern = after;
        }
    }
    return true;
}

static bool fill(const char *to, const star *stars, char name[TAKT_WEIGHT_NAME])
{
    size_t length = 0;
    for (; *to != '\0'; to++) {
        const star one = *to == '*' ? *stars++ : (star){to, to + 1};
        const size_t bytes = (size_t)(one.end - one.first);
        if (bytes >= TAKT_WEIGHT_NAME - length)
            return false;
        memcpy(name + length, one.first, bytes);
        length += bytes;
    }
    name[length] = '\0';
    return true;
}

takt_weight_rule *takt_weight_rules_find(const takt_weight_rules *rules, const char *name,
                                         char to[TAKT_WEIGHT_NAME])
{
    star stars[STARS + 1];
    to[0] = '\0';
    for (size_t i = 0; i < rules->count; i++)
        if (matches(rules->at[i].from, name, stars)) {
            takt_weight_rule *rule = &rules->at[i];
            rule->used++;
            if (rule->to != NULL && !fill(rule->to, stars, to))
                to[0] = '\0'; /* no parameter has an empty name */
            return rule;
        }
    return NULL;
}

/* ---- elements ---- */

static int axis_of(const takt_weight_rule *rule, int rank, int d)
{
    if (rule->axis_count > 0)
        return rule->axis[d];
    return !rule->swaps || d < rank - 2 ? d : d == rank - 1 ? rank - 2 : rank - 1;
}

bool takt_weight_rule_type(const takt_weight_rule *rule, const takt_type *from, takt_type *to)
{
    *to = *from;
    if ((rule->swaps && from->rank < 2) || (rule->axis_count > 0 && rule->axis_count != from->rank))
        return false;
    for (int d = 0; d < from->rank; d++)
        to->dim[d] = from->dim[axis_of(rule, from->rank, d)];
    return !rule->swaps && rule->axis_count == 0 ? true : takt_dtype_bits(from->dtype) % 8 == 0;
}

void takt_weight_rule_move(const takt_weight_rule *rule, const takt_type *from, const void *bytes,
                           void *to)
{
    const size_t size = (size_t)takt_dtype_bits(from->dtype) / 8;
    const int rank = from->rank;
    size_t step[TAKT_MAX_RANK], count = 1;
    int64_t at[TAKT_MAX_RANK] = {0}, dim[TAKT_MAX_RANK];
    const uint8_t *source = bytes;
    uint8_t *next = to;
    for (int d = rank; d-- > 0;) {
        step[d] = count * size;
        count *= (size_t)from->dim[d];
    }
    size_t own[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        own[d] = step[axis_of(rule, rank, d)];
        dim[d] = from->dim[axis_of(rule, rank, d)];
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(next, source, size);
        next += size;
        for (int d = rank; d-- > 0;) {
            source += own[d];
            if (++at[d] < dim[d])
                break;
            source -= own[d] * (size_t)dim[d];
            at[d] = 0;
        }
    }
}
