/* dim_text.c - a dimension written as an expression, "2*seq + 1", as exporters name derived sizes.
 *
 * Supports sums of products of names and numbers, floordiv(a, b) and similar functions, a // b, and
 * brackets. Inside an expression a name may be in backquotes, as Takt writes it. Anything else is a
 * name, whatever it looks like.
 */
#include <string.h>

#include "base/written.h"
#include "io/onnx/import.h"

enum { DEEPEST = 16, LONGEST = 512 };

typedef struct parser {
    takt_dims *dims;
    const char *at, *end;
    bool is_wrong;
    int depth;
} parser;

static takt_dim sum(parser *p);

static void skip(parser *p)
{
    while (p->at < p->end && *p->at == ' ')
        p->at++;
}

static bool take(parser *p, const char *word)
{
    const size_t length = strlen(word);
    skip(p);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

static takt_dim wrong(parser *p)
{
    p->is_wrong = true;
    return 0;
}

static takt_dim make(parser *p, takt_dim_op op, takt_dim a, takt_dim b)
{
    takt_dim out = 0;
    if (p->is_wrong || takt_dim_make(p->dims, op, a, b, &out) != TAKT_OK)
        return wrong(p);
    return out;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static takt_dim number(parser *p)
{
    int64_t value = 0;
    for (; p->at < p->end && is_digit(*p->at); p->at++) {
        if (value > INT64_MAX / 16)
            return wrong(p);
        value = value * 10 + (*p->at - '0');
    }
    return value;
}

static takt_dim call(parser *p, takt_dim_op op)
{
    const takt_dim a = sum(p);
    if (!take(p, ","))
        return wrong(p);
    const takt_dim b = sum(p);
    return take(p, ")") ? make(p, op, a, b) : wrong(p);
}

static takt_dim word(parser *p)
{
    static const struct {
        const char *name;
        takt_dim_op op;
    } calls[] = {{"floordiv", TAKT_DIM_FLOORDIV},
                 {"ceildiv", TAKT_DIM_CEILDIV},
                 {"mod", TAKT_DIM_MOD},
                 {"min", TAKT_DIM_MIN},
                 {"max", TAKT_DIM_MAX}};
    const char *from = p->at;
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at) || *p->at == '.'))
        p->at++;
    const takt_span name = {from, (size_t)(p->at - from)};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (takt_span_is(name, calls[i].name) && take(p, "("))
            return call(p, calls[i].op);
    takt_dim out = 0;
    return takt_dim_name(p->dims, name, &out) == TAKT_OK ? out : wrong(p);
}

/* `batch size` */
static takt_dim quoted(parser *p)
{
    char name[LONGEST];
    size_t length = 0;
    takt_dim out = 0;
    const char *from = p->at++;
    while (p->at < p->end && *p->at != '`')
        p->at += *p->at == '\\' ? 2 : 1;
    if (p->at >= p->end || !takt_quoted_read(from + 1, (size_t)(p->at - from - 1), name, &length))
        return wrong(p);
    p->at++;
    return takt_dim_name(p->dims, (takt_span){name, length}, &out) == TAKT_OK ? out : wrong(p);
}

static takt_dim atom(parser *p)
{
    skip(p);
    if (p->at == p->end || p->is_wrong)
        return wrong(p);
    if (is_digit(*p->at))
        return number(p);
    if (is_letter(*p->at))
        return word(p);
    if (*p->at == '`')
        return quoted(p);
    if (!take(p, "("))
        return wrong(p);
    const takt_dim inner = sum(p);
    return take(p, ")") ? inner : wrong(p);
}

static takt_dim product(parser *p)
{
    takt_dim out = atom(p);
    for (;;) {
        if (take(p, "//"))
            out = make(p, TAKT_DIM_FLOORDIV, out, atom(p));
        else if (take(p, "*"))
            out = make(p, TAKT_DIM_MUL, out, atom(p));
        else
            return out;
        if (p->is_wrong)
            return out;
    }
}

/* Nested at most DEEPEST times. */
static takt_dim sum(parser *p)
{
    if (++p->depth > DEEPEST)
        return wrong(p);
    takt_dim out = product(p);
    while (!p->is_wrong) {
        if (take(p, "+"))
            out = make(p, TAKT_DIM_ADD, out, product(p));
        else if (take(p, "-"))
            out = make(p, TAKT_DIM_SUB, out, product(p));
        else
            break;
    }
    p->depth--;
    return out;
}

bool takt_onnx_is_named(takt_span text)
{
    return text.length > 0 && !takt_span_is(text, "?");
}

/* "batch-size" is a name; only text with an operator is parsed. */
bool takt_onnx_dim_is_expression(takt_span text)
{
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.at[i];
        if (c == '+' || c == '*' || c == '(' || c == '/')
            return true;
        if (c == '-' && i > 0 && i + 1 < text.length && text.at[i - 1] == ' ' &&
            text.at[i + 1] == ' ')
            return true;
    }
    return false;
}

takt_status takt_onnx_dim(takt_ctx *ctx, takt_dims *dims, takt_span text, takt_dim *out)
{
    if (takt_onnx_dim_is_expression(text) && text.length < LONGEST) {
        const takt_error before = ctx->error;
        parser p = {.dims = dims, .at = text.at, .end = text.at + text.length};
        *out = sum(&p);
        skip(&p);
        if (!p.is_wrong && p.at == p.end)
            return TAKT_OK;
        if (ctx->error.status == TAKT_ERR_MEMORY)
            return TAKT_ERR_MEMORY;
        ctx->error = before;
    }
    return takt_dim_name(dims, text, out);
}
