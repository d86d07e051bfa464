/* gbnf.c - parses grammars in llama.cpp's notation into nodes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/grammar/gbnf.h"

void takt_gbnf_fail(takt_gparser *p, takt_error_id id, const char *format, ...)
{
    char text[200];
    va_list args;
    if (p->status != TAKT_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[takt_utf8_cut(text, sizeof text - 1)] = '\0';
    p->status = takt_fail(p->g->ctx, id, "grammar, line %u: %s", p->line, text);
    (void)takt_fail_place(p->g->ctx, (int)p->line, 1);
}

char takt_gbnf_peek(const takt_gparser *p)
{
    return p->pos < p->length ? p->at[p->pos] : '\0';
}

static void skip_space(takt_gparser *p, bool over_lines)
{
    while (p->pos < p->length) {
        const char c = p->at[p->pos];
        if (c == '#') {
            while (p->pos < p->length && p->at[p->pos] != '\n')
                p->pos++;
        } else if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && over_lines)) {
            p->line += c == '\n';
            p->pos++;
        } else {
            break;
        }
    }
}

bool takt_gbnf_skip(takt_gparser *p, const char *text)
{
    const size_t n = strlen(text);
    if (p->length - p->pos < n || memcmp(p->at + p->pos, text, n) != 0)
        return false;
    p->pos += n;
    return true;
}

takt_gnode *takt_gbnf_node(takt_gparser *p, takt_gnode_kind kind)
{
    takt_gnode *n = takt_arena_array(&p->g->arena, 1, sizeof *n);
    if (n == NULL) {
        p->status = TAKT_ERR_MEMORY;
        return &p->spare;
    }
    n->kind = kind;
    return n;
}

void takt_gbnf_add(const takt_gparser *p, takt_gnode *parent, takt_gnode *child)
{
    if (p->status != TAKT_OK)
        return;
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
}

/* ---- rules ---- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static takt_span take_name(takt_gparser *p)
{
    const size_t begin = p->pos;
    while (p->pos < p->length && is_name(p->at[p->pos]))
        p->pos++;
    if (p->pos == begin)
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "a name was expected");
    return (takt_span){p->at + begin, p->pos - begin};
}

static uint32_t rule_named(takt_gparser *p, takt_span name)
{
    takt_grammar *g = p->g;
    for (size_t i = 0; i < g->rule_count; i++)
        if (g->rules[i].name.length == name.length &&
            memcmp(g->rules[i].name.at, name.at, name.length) == 0)
            return (uint32_t)i;
    if (g->rule_count == TAKT_GRAMMAR_RULES)
        takt_gbnf_fail(p, TAKT_E_GRAMMAR_LIMIT, "more than %d rules", TAKT_GRAMMAR_RULES);
    if (g->rule_count == g->rule_capacity && p->status == TAKT_OK) {
        const size_t room = g->rule_capacity > 0 ? 2 * g->rule_capacity : 32;
        takt_grule *more = takt_arena_array(&g->arena, room, sizeof *more);
        if (more == NULL) {
            p->status = TAKT_ERR_MEMORY;
        } else {
            for (size_t i = 0; i < g->rule_count; i++)
                more[i] = g->rules[i];
            g->rules = more;
            g->rule_capacity = room;
        }
    }
    if (p->status != TAKT_OK)
        return 0;
    g->rules[g->rule_count] = (takt_grule){.name = name, .line = p->line};
    return (uint32_t)g->rule_count++;
}

/* ---- expressions ---- */

static takt_gnode *parse_choice(takt_gparser *p, bool is_nested);

static takt_gnode *parse_item(takt_gparser *p)
{
    takt_grange any = {0, 0x10FFFF};
    if (takt_gbnf_skip(p, "\""))
        return takt_gbnf_literal(p);
    if (takt_gbnf_skip(p, "["))
        return takt_gbnf_class(p);
    if (takt_gbnf_skip(p, "."))
        return takt_gbnf_one_of(p, &any, 1);
    if (takt_gbnf_skip(p, "(")) {
        skip_space(p, true);
        takt_gnode *n = parse_choice(p, true);
        if (p->status == TAKT_OK && !takt_gbnf_skip(p, ")"))
            takt_gbnf_fail(p, TAKT_E_GRAMMAR, "( is not closed");
        return n;
    }
    takt_gnode *n = takt_gbnf_node(p, TAKT_GN_RULE);
    n->rule = rule_named(p, take_name(p));
    return n;
}

static int64_t take_number(takt_gparser *p)
{
    int64_t value = 0;
    const size_t begin = p->pos;
    for (; takt_gbnf_peek(p) >= '0' && takt_gbnf_peek(p) <= '9'; p->pos++)
        value = value < TAKT_GRAMMAR_SIZE ? 10 * value + (takt_gbnf_peek(p) - '0') : value;
    if (p->pos == begin)
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "a number was expected");
    return value;
}

/* * + ? {2} {2,} {2,5} */
static bool parse_repeat(takt_gparser *p, int64_t *least, int64_t *most)
{
    *least = 0;
    *most = TAKT_GRAMMAR_MANY;
    if (takt_gbnf_skip(p, "*"))
        return true;
    if (takt_gbnf_skip(p, "+")) {
        *least = 1;
        return true;
    }
    if (takt_gbnf_skip(p, "?")) {
        *most = 1;
        return true;
    }
    if (!takt_gbnf_skip(p, "{"))
        return false;
    skip_space(p, true);
    *least = *most = take_number(p);
    skip_space(p, true);
    if (takt_gbnf_skip(p, ",")) {
        skip_space(p, true);
        *most = takt_gbnf_peek(p) == '}' ? TAKT_GRAMMAR_MANY : take_number(p);
        skip_space(p, true);
    }
    if (p->status == TAKT_OK && !takt_gbnf_skip(p, "}"))
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "{ is not closed");
    if (*most >= 0 && *most < *least)
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "a repeat has less at most than at least");
    return true;
}

static takt_gnode *parse_sequence(takt_gparser *p, bool is_nested)
{
    takt_gnode *n = takt_gbnf_node(p, TAKT_GN_SEQUENCE);
    while (p->status == TAKT_OK) {
        const char c = takt_gbnf_peek(p);
        int64_t least, most;
        if (c != '"' && c != '[' && c != '(' && c != '.' && !is_name(c))
            break;
        const uint32_t depth = p->depth;
        takt_gnode *item = parse_item(p);
        while (p->status == TAKT_OK && parse_repeat(p, &least, &most)) {
            takt_gnode *repeat = takt_gbnf_node(p, TAKT_GN_REPEAT);
            repeat->least = least;
            repeat->most = most;
            repeat->first = item;
            item = repeat;
            if (++p->depth > TAKT_GRAMMAR_DEPTH)
                takt_gbnf_fail(p, TAKT_E_GRAMMAR_LIMIT, "repeats of repeats nest too deeply");
        }
        p->depth = depth;
        takt_gbnf_add(p, n, item);
        skip_space(p, is_nested);
    }
    return n;
}

static takt_gnode *parse_choice(takt_gparser *p, bool is_nested)
{
    takt_gnode *n = takt_gbnf_node(p, TAKT_GN_CHOICE);
    if (++p->depth > TAKT_GRAMMAR_DEPTH)
        takt_gbnf_fail(p, TAKT_E_GRAMMAR_LIMIT, "brackets nest deeper than %d levels",
                       TAKT_GRAMMAR_DEPTH);
    const uint32_t depth = p->depth;
    do {
        skip_space(p, true);
        p->depth = depth;
        takt_gbnf_add(p, n, parse_sequence(p, is_nested));
        /* An alternative may begin on a new line. */
        const size_t pos = p->pos;
        const uint32_t line = p->line;
        skip_space(p, true);
        if (takt_gbnf_peek(p) != '|' && !is_nested) {
            p->pos = pos;
            p->line = line;
        }
    } while (p->status == TAKT_OK && takt_gbnf_skip(p, "|"));
    p->depth = depth - 1;
    return n;
}

static void parse_rule(takt_gparser *p)
{
    const takt_span name = take_name(p);
    const uint32_t rule = rule_named(p, name);
    skip_space(p, false);
    if (p->status == TAKT_OK && !takt_gbnf_skip(p, "::="))
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "::= was expected");
    if (p->status == TAKT_OK && p->g->rules[rule].body != NULL)
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "rule %.*s is there twice",
                       (int)(name.length < 60 ? name.length : 60), name.at);
    takt_gnode *body = parse_choice(p, false);
    if (p->status != TAKT_OK)
        return;
    p->g->rules[rule].body = body;
    if (p->pos < p->length && takt_gbnf_peek(p) != '\n')
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "unexpected '%c'",
                       takt_gbnf_peek(p) >= 0x20 ? takt_gbnf_peek(p) : '?');
    skip_space(p, true);
}

static void check_rules(takt_gparser *p)
{
    const takt_grammar *g = p->g;
    for (size_t i = 0; i < g->rule_count && p->status == TAKT_OK; i++)
        if (g->rules[i].body == NULL) {
            p->line = g->rules[i].line;
            takt_gbnf_fail(p, TAKT_E_GRAMMAR, "there is no rule %.*s",
                           (int)(g->rules[i].name.length < 60 ? g->rules[i].name.length : 60),
                           g->rules[i].name.at);
        }
    p->line = 1;
    const size_t before = g->rule_count;
    p->g->root = rule_named(p, takt_span_of("root"));
    if (p->status == TAKT_OK && p->g->rule_count != before)
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "there is no rule root");
}

static takt_status parse(takt_grammar *g, size_t length)
{
    takt_gparser p = {.g = g, .at = g->text, .length = length, .line = 1};
    skip_space(&p, true);
    while (p.status == TAKT_OK && p.pos < p.length)
        parse_rule(&p);
    if (p.status == TAKT_OK)
        check_rules(&p);
    TAKT_TRY(p.status);
    TAKT_TRY(takt_grammar_compile(g));
    return takt_grammar_check(g);
}

takt_status takt_grammar_parse(takt_ctx *ctx, const char *text, size_t length,
                               takt_grammar **grammar)
{
    void *block;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, grammar);
    *grammar = NULL;
    TAKT_NEED(ctx, text);
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **grammar, "a grammar", &block));
    takt_grammar *g = block;
    g->ctx = ctx;
    takt_arena_init(&g->arena, ctx);
    length = length > 0 ? length : strlen(text);
    g->text = takt_arena_text(&g->arena, text, length);
    const takt_status status = g->text != NULL ? parse(g, length) : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        *grammar = g;
    else
        takt_grammar_destroy(g);
    return status;
}

void takt_grammar_destroy(takt_grammar *g)
{
    if (g == NULL)
        return;
    takt_mem_put(g->ctx, g->program, g->capacity * sizeof *g->program);
    takt_arena_deinit(&g->arena);
    takt_mem_put(g->ctx, g, sizeof *g);
}

const char *takt_grammar_text(const takt_grammar *g)
{
    return g != NULL ? g->text : "";
}
