/* einsum_parse.c - from an equation to the labels of every axis. */
#include "op/util/einsum.h"

#include <string.h>

typedef struct reader {
    takt_ctx *ctx;
    const char *equation, *at;
    int dots; /* most axes that "..." stands for in one operand */
} reader;

static takt_status bad(const reader *r, const char *what)
{
    takt_fail(r->ctx, TAKT_E_ATTR, "einsum: %s at character %d of \"%.200s\"", what,
              (int)(r->at - r->equation) + 1, r->equation);
    return takt_fail_hint(r->ctx, "an equation looks like \"bij,bjk->bik\"");
}

static void skip(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static int letter(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* One operand's or the result's letters; `dots` is the place of "..." among them, or -1. */
static takt_status read_term(reader *r, takt_labels *term, int *dots)
{
    term->rank = 0;
    *dots = -1;
    for (skip(r); *r->at != '\0' && *r->at != ',' && *r->at != '-'; skip(r)) {
        if (strncmp(r->at, "...", 3) == 0) {
            if (*dots >= 0)
                return bad(r, "a second \"...\" in one operand");
            *dots = term->rank;
            r->at += 3;
            continue;
        }
        if (letter(*r->at) < 0)
            return bad(r, "neither a letter nor \"...\"");
        if (term->rank == TAKT_MAX_RANK)
            return bad(r, "too many axes");
        term->at[term->rank++] = (unsigned char)letter(*r->at++);
    }
    return TAKT_OK;
}

/* Inserts `count` labels for the axes of "..."; the last axis always has the last label, since
 * broadcasting aligns at the right. */
static takt_status expand(reader *r, takt_labels *term, int place, int count)
{
    if (place < 0)
        return TAKT_OK;
    if (term->rank + count > TAKT_MAX_RANK)
        return bad(r, "too many axes");
    memmove(term->at + place + count, term->at + place, (size_t)(term->rank - place));
    for (int i = 0; i < count; i++)
        term->at[place + i] = (unsigned char)(TAKT_EINSUM_LABELS - count + i);
    term->rank += count;
    return TAKT_OK;
}

static takt_status read_operands(reader *r, const int *ranks, size_t count, takt_einsum *e)
{
    for (size_t i = 0; i < count; i++) {
        int place = -1;
        TAKT_TRY(read_term(r, &e->in[i], &place));
        const int rest = ranks[i] - e->in[i].rank;
        if (rest < 0 || (place < 0 && rest > 0))
            return takt_fail(r->ctx, TAKT_E_SHAPE,
                             "einsum: \"%.200s\" names %d axes of input %zu, "
                             "which has rank %d",
                             r->equation, e->in[i].rank, i, ranks[i]);
        TAKT_TRY(expand(r, &e->in[i], place, rest));
        r->dots = place >= 0 && rest > r->dots ? rest : r->dots;
        if (i + 1 < count && *r->at != ',')
            return takt_fail(r->ctx, TAKT_E_ARITY,
                             "einsum: \"%.200s\" has %zu operands, but there "
                             "are %zu inputs",
                             r->equation, i + 1, count);
        r->at += i + 1 < count;
    }
    if (*r->at == ',')
        return takt_fail(r->ctx, TAKT_E_ARITY,
                         "einsum: \"%.200s\" has more operands than the %zu "
                         "inputs",
                         r->equation, count);
    return TAKT_OK;
}

/* Letters that occur exactly once, in alphabetical order as in NumPy. */
static takt_status imply_result(reader *r, takt_einsum *e)
{
    int seen[TAKT_EINSUM_LETTERS] = {0};
    for (size_t i = 0; i < e->count; i++)
        for (int d = 0; d < e->in[i].rank; d++)
            if (e->in[i].at[d] < TAKT_EINSUM_LETTERS)
                seen[e->in[i].at[d]]++;
    e->out.rank = 0;
    TAKT_TRY(expand(r, &e->out, 0, r->dots));
    for (int l = 0; l < TAKT_EINSUM_LETTERS; l++) {
        if (seen[l] != 1)
            continue;
        if (e->out.rank == TAKT_MAX_RANK)
            return bad(r, "the result would have too many axes");
        e->out.at[e->out.rank++] = (unsigned char)l;
    }
    return TAKT_OK;
}

static takt_status check_result(const reader *r, const takt_einsum *e)
{
    for (int d = 0; d < e->out.rank; d++) {
        bool known = false;
        for (size_t i = 0; i < e->count; i++)
            known = known || takt_labels_has(&e->in[i], e->out.at[d]);
        if (!known)
            return takt_fail(r->ctx, TAKT_E_ATTR,
                             "einsum: the result of \"%.200s\" has a letter "
                             "that no operand has",
                             r->equation);
        if (takt_labels_find(&e->out, e->out.at[d]) != d)
            return takt_fail(r->ctx, TAKT_E_ATTR,
                             "einsum: the result of \"%.200s\" has a letter "
                             "twice",
                             r->equation);
    }
    return TAKT_OK;
}

takt_status takt_einsum_parse(takt_ctx *ctx, const char *equation, const int *ranks, size_t count,
                              takt_einsum *e)
{
    reader r = {.ctx = ctx, .equation = equation, .at = equation};
    if (count == 0 || count > TAKT_EINSUM_OPERANDS)
        return takt_fail(ctx, TAKT_E_ARITY, "einsum: takes 1 to %d inputs, got %zu",
                         TAKT_EINSUM_OPERANDS, count);
    e->count = count;
    TAKT_TRY(read_operands(&r, ranks, count, e));
    if (*r.at == '\0')
        return imply_result(&r, e);
    if (strncmp(r.at, "->", 2) != 0)
        return bad(&r, "expected \"->\"");
    r.at += 2;
    int place = -1;
    TAKT_TRY(read_term(&r, &e->out, &place));
    if (*r.at != '\0')
        return bad(&r, "the result is one operand");
    TAKT_TRY(expand(&r, &e->out, place, r.dots));
    return check_result(&r, e);
}

int takt_labels_find(const takt_labels *labels, int label)
{
    for (int d = 0; d < labels->rank; d++)
        if (labels->at[d] == label)
            return d;
    return -1;
}

bool takt_labels_has(const takt_labels *labels, int label)
{
    return takt_labels_find(labels, label) >= 0;
}
