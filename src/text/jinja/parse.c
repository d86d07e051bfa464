/* parse.c - statements of a template as nodes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "text/jinja/jinja.h"

/* ---- shared by the parsers ---- */

void takt_jinja_hint(takt_ctx *ctx, takt_error_id id)
{
    if (id == TAKT_E_TEMPLATE || id == TAKT_E_TEMPLATE_LIMIT)
        (void)takt_fail_hint(ctx, "another template is --chat-template NAME, or takt_chat_named");
}

void takt_jinja_fail(takt_jinja *j, takt_error_id id, uint32_t line, const char *format, ...)
{
    char text[256];
    va_list args;
    if (j->status != TAKT_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[takt_utf8_cut(text, sizeof text - 1)] = '\0';
    j->status = takt_fail(j->ctx, id, "%s, line %u: %s", j->name, line, text);
    (void)takt_fail_place(j->ctx, (int)line, 1);
    takt_jinja_hint(j->ctx, id);
}

const takt_jtoken *takt_jinja_peek(const takt_jinja *j)
{
    return &j->tokens[j->at];
}

bool takt_jinja_is(const takt_jinja *j, takt_jtoken_kind kind, const char *text)
{
    const takt_jtoken *t = takt_jinja_peek(j);
    return t->kind == kind && (text == NULL || takt_span_is(t->text, text));
}

bool takt_jinja_skip(takt_jinja *j, takt_jtoken_kind kind, const char *text)
{
    if (j->status != TAKT_OK || !takt_jinja_is(j, kind, text))
        return false;
    j->at += kind != TAKT_JT_END;
    return true;
}

void takt_jinja_expect(takt_jinja *j, takt_jtoken_kind kind, const char *text)
{
    static const char *const names[] = {"text",     "{{",          "}}",       "{%",
                                        "%}",       "a name",      "a string", "a number",
                                        "a number", "an operator", "the end"};
    const takt_jtoken *t = takt_jinja_peek(j);
    if (!takt_jinja_skip(j, kind, text))
        takt_jinja_fail(j, TAKT_E_TEMPLATE, t->line, "%s was expected, not '%.*s'",
                        text != NULL ? text : names[kind],
                        (int)(t->text.length < 40 ? t->text.length : 40), t->text.at);
}

/* Parsing ends when out of memory, so one spare node is enough. */
takt_jnode *takt_jinja_node(takt_jinja *j, takt_jnode_kind kind)
{
    takt_jnode *n = takt_arena_array(&j->arena, 1, sizeof *n);
    if (n == NULL) {
        j->status = TAKT_ERR_MEMORY;
        return j->root;
    }
    n->kind = kind;
    n->line = takt_jinja_peek(j)->line;
    n->depth = 1;
    return n;
}

void takt_jinja_deepen(takt_jinja *j, takt_jnode *parent, const takt_jnode *child)
{
    if (child == NULL || j->status != TAKT_OK)
        return;
    if (child->depth >= parent->depth)
        parent->depth = child->depth + 1;
    if (parent->depth > TAKT_JINJA_DEPTH)
        takt_jinja_fail(j, TAKT_E_TEMPLATE_LIMIT, parent->line,
                        "nested deeper than the %d levels that are possible", TAKT_JINJA_DEPTH);
}

void takt_jinja_child(takt_jinja *j, takt_jnode *parent, takt_jnode *child)
{
    if (j->status != TAKT_OK)
        return;
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    takt_jinja_deepen(j, parent, child);
}

/* ---- statements ---- */

static void parse_body(takt_jinja *j, takt_jnode *parent, const char *const ends[]);

static takt_span name_of(takt_jinja *j)
{
    const takt_span name = takt_jinja_peek(j)->text;
    takt_jinja_expect(j, TAKT_JT_NAME, NULL);
    return name;
}

/* Names, a tuple of them, or an attribute of a namespace. */
static takt_jnode *parse_target(takt_jinja *j)
{
    takt_jnode *tuple = takt_jinja_node(j, TAKT_JN_TUPLE);
    const bool is_closed = takt_jinja_skip(j, TAKT_JT_SIGN, "(");
    bool is_tuple = false;
    do {
        if (is_tuple && !takt_jinja_is(j, TAKT_JT_NAME, NULL))
            break;
        takt_jnode *name = takt_jinja_node(j, TAKT_JN_NAME);
        name->text = name_of(j);
        if (takt_jinja_skip(j, TAKT_JT_SIGN, ".")) {
            takt_jnode *attribute = takt_jinja_node(j, TAKT_JN_ATTRIBUTE);
            attribute->a = name;
            attribute->text = name_of(j);
            name = attribute;
        }
        takt_jinja_child(j, tuple, name);
        is_tuple = true;
    } while (takt_jinja_skip(j, TAKT_JT_SIGN, ","));
    if (is_closed)
        takt_jinja_expect(j, TAKT_JT_SIGN, ")");
    return j->status == TAKT_OK && tuple->first == tuple->last ? tuple->first : tuple;
}

static takt_jnode *group_until(takt_jinja *j, const char *const ends[])
{
    takt_jnode *group = takt_jinja_node(j, TAKT_JN_GROUP);
    takt_jinja_expect(j, TAKT_JT_BLOCK_END, NULL);
    parse_body(j, group, ends);
    return group;
}

static takt_jnode *parse_if(takt_jinja *j)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    takt_jnode *n = takt_jinja_node(j, TAKT_JN_IF);
    bool has_else = false;
    do {
        takt_jnode *branch = takt_jinja_node(j, TAKT_JN_BRANCH);
        if (!has_else) {
            branch->a = takt_jinja_tuple(j);
            takt_jinja_deepen(j, branch, branch->a);
        }
        takt_jinja_expect(j, TAKT_JT_BLOCK_END, NULL);
        parse_body(j, branch, ends);
        takt_jinja_child(j, n, branch);
        if (has_else || takt_jinja_is(j, TAKT_JT_NAME, "endif"))
            break;
        has_else = takt_jinja_is(j, TAKT_JT_NAME, "else");
        j->at += j->status == TAKT_OK;
    } while (j->status == TAKT_OK);
    takt_jinja_expect(j, TAKT_JT_NAME, "endif");
    return n;
}

static takt_jnode *parse_for(takt_jinja *j)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    static const char *const last[] = {"endfor", NULL};
    takt_jnode *n = takt_jinja_node(j, TAKT_JN_FOR);
    n->a = parse_target(j);
    takt_jinja_expect(j, TAKT_JT_NAME, "in");
    n->b = takt_jinja_plain(j);
    if (takt_jinja_skip(j, TAKT_JT_NAME, "if"))
        n->c = takt_jinja_expression(j);
    if (takt_jinja_is(j, TAKT_JT_NAME, "recursive"))
        takt_jinja_fail(j, TAKT_E_TEMPLATE_UNSUPPORTED, n->line, "recursive loops are not run");
    takt_jinja_deepen(j, n, n->b);
    takt_jinja_deepen(j, n, n->c);
    takt_jinja_expect(j, TAKT_JT_BLOCK_END, NULL);
    parse_body(j, n, ends);
    if (takt_jinja_skip(j, TAKT_JT_NAME, "else")) {
        n->d = group_until(j, last);
        takt_jinja_deepen(j, n, n->d);
    }
    takt_jinja_expect(j, TAKT_JT_NAME, "endfor");
    return n;
}

static takt_jnode *parse_set(takt_jinja *j)
{
    static const char *const ends[] = {"endset", NULL};
    takt_jnode *n = takt_jinja_node(j, TAKT_JN_SET);
    n->a = parse_target(j);
    if (takt_jinja_skip(j, TAKT_JT_SIGN, "=")) {
        n->b = takt_jinja_tuple(j);
        takt_jinja_deepen(j, n, n->b);
        return n;
    }
    n->c = takt_jinja_filters(j, NULL);
    takt_jinja_deepen(j, n, n->c);
    takt_jinja_expect(j, TAKT_JT_BLOCK_END, NULL);
    parse_body(j, n, ends);
    takt_jinja_expect(j, TAKT_JT_NAME, "endset");
    return n;
}

static takt_jnode *parse_macro(takt_jinja *j)
{
    static const char *const ends[] = {"endmacro", NULL};
    takt_jnode *n = takt_jinja_node(j, TAKT_JN_MACRO);
    takt_jnode *parameters = takt_jinja_node(j, TAKT_JN_GROUP);
    n->text = name_of(j);
    n->a = parameters;
    takt_jinja_expect(j, TAKT_JT_SIGN, "(");
    while (j->status == TAKT_OK && !takt_jinja_is(j, TAKT_JT_SIGN, ")")) {
        takt_jnode *p = takt_jinja_node(j, TAKT_JN_PARAMETER);
        p->text = name_of(j);
        if (takt_jinja_skip(j, TAKT_JT_SIGN, "="))
            p->a = takt_jinja_expression(j);
        takt_jinja_deepen(j, p, p->a);
        takt_jinja_child(j, parameters, p);
        if (!takt_jinja_skip(j, TAKT_JT_SIGN, ","))
            break;
    }
    takt_jinja_expect(j, TAKT_JT_SIGN, ")");
    takt_jinja_deepen(j, n, parameters);
    takt_jinja_expect(j, TAKT_JT_BLOCK_END, NULL);
    parse_body(j, n, ends);
    takt_jinja_expect(j, TAKT_JT_NAME, "endmacro");
    return n;
}

/* {% filter upper %} ... */
static takt_jnode *parse_filtered(takt_jinja *j)
{
    static const char *const ends[] = {"endfilter", NULL};
    takt_jnode *n = takt_jinja_node(j, TAKT_JN_FILTERED);
    /* As if there were a | before the first name. */
    j->at--;
    j->tokens[j->at] = (takt_jtoken){TAKT_JT_SIGN, n->line, takt_span_of("|")};
    n->c = takt_jinja_filters(j, NULL);
    takt_jinja_deepen(j, n, n->c);
    takt_jinja_expect(j, TAKT_JT_BLOCK_END, NULL);
    parse_body(j, n, ends);
    takt_jinja_expect(j, TAKT_JT_NAME, "endfilter");
    return n;
}

/* Hugging Face's mark around the assistant's text. */
static takt_jnode *parse_generation(takt_jinja *j)
{
    static const char *const ends[] = {"endgeneration", NULL};
    takt_jnode *n = group_until(j, ends);
    takt_jinja_expect(j, TAKT_JT_NAME, "endgeneration");
    return n;
}

static takt_jnode *parse_break(takt_jinja *j)
{
    return takt_jinja_node(j, TAKT_JN_BREAK);
}

static takt_jnode *parse_continue(takt_jinja *j)
{
    return takt_jinja_node(j, TAKT_JN_CONTINUE);
}

static const struct {
    const char *name;
    takt_jnode *(*parse)(takt_jinja *j);
} statements[] = {
    {"if", parse_if},       {"for", parse_for},           {"set", parse_set},
    {"macro", parse_macro}, {"filter", parse_filtered},   {"generation", parse_generation},
    {"break", parse_break}, {"continue", parse_continue},
};

static takt_jnode *parse_statement(takt_jinja *j)
{
    static const char *const refused[] = {"include", "import", "from",       "extends", "block",
                                          "call",    "with",   "autoescape", "do",      "trans"};
    const takt_jtoken *t = takt_jinja_peek(j);
    takt_jinja_expect(j, TAKT_JT_NAME, NULL);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (takt_span_is(t->text, statements[i].name))
            return j->status == TAKT_OK ? statements[i].parse(j) : NULL;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (takt_span_is(t->text, refused[i]))
            takt_jinja_fail(j, TAKT_E_TEMPLATE_UNSUPPORTED, t->line, "{%% %s %%} is not run",
                            refused[i]);
    takt_jinja_fail(j, TAKT_E_TEMPLATE, t->line, "there is no statement '%.*s' here",
                    (int)(t->text.length < 40 ? t->text.length : 40), t->text.at);
    return NULL;
}

static bool ends_here(const takt_jinja *j, const char *const ends[])
{
    for (size_t i = 0; ends[i] != NULL; i++)
        if (takt_jinja_is(j, TAKT_JT_NAME, ends[i]))
            return true;
    return false;
}

/* Up to a tag that begins with one of `ends`, whose name is then the next token. */
static void parse_body(takt_jinja *j, takt_jnode *parent, const char *const ends[])
{
    if (++j->nested > TAKT_JINJA_DEPTH)
        takt_jinja_fail(j, TAKT_E_TEMPLATE_LIMIT, parent->line, "blocks nest too deeply");
    while (j->status == TAKT_OK) {
        const takt_jtoken *t = takt_jinja_peek(j);
        takt_jnode *n;
        if (t->kind == TAKT_JT_END) {
            if (ends[0] != NULL)
                takt_jinja_fail(j, TAKT_E_TEMPLATE, parent->line, "the template ends before {%% %s",
                                ends[0]);
            break;
        }
        j->at++;
        if (t->kind == TAKT_JT_DATA) {
            n = takt_jinja_node(j, TAKT_JN_DATA);
            n->text = t->text;
        } else if (t->kind == TAKT_JT_PRINT) {
            n = takt_jinja_node(j, TAKT_JN_PRINT);
            n->a = takt_jinja_tuple(j);
            takt_jinja_deepen(j, n, n->a);
            takt_jinja_expect(j, TAKT_JT_PRINT_END, NULL);
        } else {
            if (ends_here(j, ends))
                break;
            n = parse_statement(j);
            takt_jinja_expect(j, TAKT_JT_BLOCK_END, NULL);
        }
        takt_jinja_child(j, parent, n);
    }
    j->nested--;
}

takt_status takt_jinja_parse(takt_jinja *j, takt_ctx *ctx, const char *name, takt_span text)
{
    static const char *const ends[] = {NULL};
    *j = (takt_jinja){.ctx = ctx};
    takt_arena_init(&j->arena, ctx);
    j->name = takt_arena_text(&j->arena, name, strlen(name));
    j->root = takt_arena_array(&j->arena, 1, sizeof *j->root);
    if (j->name == NULL || j->root == NULL)
        j->status = TAKT_ERR_MEMORY;
    else
        j->root->kind = TAKT_JN_GROUP;
    if (j->status == TAKT_OK && takt_utf8_check(text.at, text.length) != text.length)
        takt_jinja_fail(j, TAKT_E_TEMPLATE, 1, "the template is not UTF-8");
    if (j->status == TAKT_OK)
        (void)takt_jinja_lex(j, text);
    if (j->status == TAKT_OK)
        parse_body(j, j->root, ends);
    const takt_status status = j->status;
    if (status != TAKT_OK)
        takt_jinja_deinit(j);
    return status;
}

void takt_jinja_deinit(takt_jinja *j)
{
    takt_arena_deinit(&j->arena);
    j->root = NULL;
}
