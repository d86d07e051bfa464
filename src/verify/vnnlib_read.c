/* vnnlib_read.c - VNN-LIB 1.0 and 2.0: declarations and assertions, as a formula.
 *
 * The whole file describes inputs and outputs that are unsafe. Everything is read in one pass; the
 * memory of the formula is proportional to the text. Depth and names are limited.
 */
#include <math.h>

#include "base/mem.h"
#include "base/number.h"
#include "verify/property.h"
#include "verify/vnnlib_names.h"

enum { DEPTH = 100 };
#define NOWHERE UINT32_MAX

typedef struct reader {
    takt_vnnlib_scan scan;
    takt_vnnlib_names names;
    takt_formula_tree tree;
    int depth;
} reader;

/* A sum: terms from `first` to the end of the table, and a number. */
typedef struct sum {
    size_t first;
    double constant;
} sum;

static bool is_word(const reader *r, const char *text)
{
    return r->scan.kind == TAKT_VNNLIB_WORD && takt_span_is(r->scan.word, text);
}

static takt_status expect(reader *r, takt_vnnlib_kind kind, const char *what)
{
    char text[64];
    if (r->scan.kind != kind)
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "%s is expected, not %s", what,
                                takt_vnnlib_word(&r->scan, text));
    return takt_vnnlib_next(&r->scan);
}

static takt_status enter(reader *r)
{
    if (++r->depth > DEPTH)
        return takt_vnnlib_fail(&r->scan, TAKT_E_PROPERTY_LIMIT, "nested deeper than %d", DEPTH);
    return TAKT_OK;
}

/* ---- sums ---- */

static takt_status read_sum(reader *r, sum *out);

static takt_status number(reader *r, double *value, bool *is_number)
{
    const takt_span word = r->scan.word;
    *is_number = takt_number_read(word.at, word.length, value);
    if (*is_number && !isfinite(*value))
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "a number is too large");
    return TAKT_OK;
}

static takt_status leaf(reader *r, sum *out)
{
    takt_ctx *ctx = r->scan.ctx;
    takt_formula_tree *t = &r->tree;
    bool is_number;
    TAKT_TRY(number(r, &out->constant, &is_number));
    if (is_number)
        return takt_vnnlib_next(&r->scan);
    out->constant = 0;
    TAKT_TRY(
        takt_mem_grow(ctx, (void **)&t->terms, &t->term_room, t->term_count + 1, sizeof *t->terms));
    TAKT_TRY(takt_vnnlib_find(&r->names, &r->scan, &t->terms[t->term_count]));
    t->term_count++;
    return takt_vnnlib_next(&r->scan);
}

static void scale(reader *r, size_t from, size_t to, double factor)
{
    for (size_t i = from; i < to; i++)
        r->tree.terms[i].factor *= factor;
}

/* a * b, one of which has no variable. The terms of both are consecutive. */
static takt_status multiply(reader *r, sum *a, size_t middle, const sum *b)
{
    const size_t end = r->tree.term_count;
    if (middle > a->first && end > middle)
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "a product of variables is not linear");
    scale(r, a->first, middle, b->constant);
    scale(r, middle, end, a->constant);
    a->constant *= b->constant;
    return TAKT_OK;
}

/* After "(": an operator and its operands, up to ")". */
static takt_status operation(reader *r, sum *out)
{
    char text[64];
    const char op =
        r->scan.kind == TAKT_VNNLIB_WORD && r->scan.word.length == 1 ? r->scan.word.at[0] : '\0';
    if (op != '+' && op != '-' && op != '*')
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "+, - or * is expected, not %s",
                                takt_vnnlib_word(&r->scan, text));
    TAKT_TRY(takt_vnnlib_next(&r->scan));
    TAKT_TRY(read_sum(r, out));
    size_t count = 1;
    for (; r->scan.kind != TAKT_VNNLIB_CLOSE; count++) {
        sum more;
        const size_t middle = r->tree.term_count;
        TAKT_TRY(read_sum(r, &more));
        if (op == '*') {
            TAKT_TRY(multiply(r, out, middle, &more));
        } else {
            scale(r, middle, r->tree.term_count, op == '-' ? -1 : 1);
            out->constant += op == '-' ? -more.constant : more.constant;
        }
    }
    if (op == '-' && count == 1) {
        scale(r, out->first, r->tree.term_count, -1);
        out->constant = -out->constant;
    }
    return takt_vnnlib_next(&r->scan);
}

static takt_status read_sum(reader *r, sum *out)
{
    *out = (sum){.first = r->tree.term_count};
    if (r->scan.kind == TAKT_VNNLIB_WORD)
        return leaf(r, out);
    TAKT_TRY(expect(r, TAKT_VNNLIB_OPEN, "a number, a variable or '('"));
    TAKT_TRY(enter(r));
    TAKT_TRY(operation(r, out));
    r->depth--;
    return TAKT_OK;
}

/* ---- formulas ---- */

static takt_status add_node(reader *r, takt_formula_kind kind, uint32_t *id)
{
    takt_formula_tree *t = &r->tree;
    if (t->node_count >= NOWHERE - 1)
        return takt_vnnlib_fail(&r->scan, TAKT_E_PROPERTY_LIMIT, "too many conditions");
    TAKT_TRY(takt_mem_grow(r->scan.ctx, (void **)&t->nodes, &t->node_room, t->node_count + 1,
                           sizeof *t->nodes));
    t->nodes[t->node_count] = (takt_formula_node){.kind = kind, .first = NOWHERE, .next = NOWHERE};
    *id = (uint32_t)t->node_count++;
    return TAKT_OK;
}

/* terms <= bound, of the terms from `first` on. */
static takt_status add_atom(reader *r, size_t first, double bound, bool is_strict, uint32_t *id)
{
    takt_formula_tree *t = &r->tree;
    for (size_t i = first; i < t->term_count; i++)
        if (!isfinite(t->terms[i].factor))
            bound = NAN;
    if (!isfinite(bound))
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "a number is too large");
    TAKT_TRY(add_node(r, TAKT_FORMULA_ATOM, id));
    TAKT_TRY(takt_mem_grow(r->scan.ctx, (void **)&t->atoms, &t->atom_room, t->atom_count + 1,
                           sizeof *t->atoms));
    t->nodes[*id].atom = (uint32_t)t->atom_count;
    t->atoms[t->atom_count++] = (takt_formula_atom){.first = first,
                                                    .count = (uint32_t)(t->term_count - first),
                                                    .is_strict = is_strict,
                                                    .bound = bound};
    return TAKT_OK;
}

/* The same terms with all signs changed: for ==. */
static takt_status mirror(reader *r, uint32_t atom, uint32_t *id)
{
    takt_formula_tree *t = &r->tree;
    const takt_formula_atom a = t->atoms[t->nodes[atom].atom];
    const size_t first = t->term_count;
    TAKT_TRY(takt_mem_grow(r->scan.ctx, (void **)&t->terms, &t->term_room, first + a.count,
                           sizeof *t->terms));
    for (size_t i = 0; i < a.count; i++) {
        t->terms[first + i] = t->terms[a.first + i];
        t->terms[first + i].factor *= -1;
    }
    t->term_count += a.count;
    return add_atom(r, first, -a.bound, false, id);
}

static takt_status comparison(reader *r, takt_span op, uint32_t *id)
{
    sum a, b;
    const bool is_equal = op.at[0] == '=';
    const bool is_strict = op.length == 1 && !is_equal;
    if (is_equal)
        TAKT_TRY(add_node(r, TAKT_FORMULA_AND, id));
    TAKT_TRY(read_sum(r, &a));
    const size_t middle = r->tree.term_count;
    TAKT_TRY(read_sum(r, &b));
    const double sign = op.at[0] == '>' ? -1 : 1;
    scale(r, a.first, middle, sign);
    scale(r, middle, r->tree.term_count, -sign);
    const double bound = sign * (b.constant - a.constant);
    if (!is_equal)
        return add_atom(r, a.first, bound, is_strict, id);
    uint32_t low, high;
    TAKT_TRY(add_atom(r, a.first, bound, false, &low));
    TAKT_TRY(mirror(r, low, &high));
    r->tree.nodes[*id].first = low;
    r->tree.nodes[low].next = high;
    return TAKT_OK;
}

static bool compares(takt_span op)
{
    static const char *const names[] = {"<=", ">=", "<", ">", "=", "=="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (takt_span_is(op, names[i]))
            return true;
    return false;
}

static takt_status formula(reader *r, uint32_t *id);

static takt_status joined(reader *r, takt_formula_kind kind, uint32_t *id)
{
    uint32_t last = NOWHERE, one;
    TAKT_TRY(add_node(r, kind, id));
    while (r->scan.kind != TAKT_VNNLIB_CLOSE) {
        TAKT_TRY(formula(r, &one));
        if (last == NOWHERE)
            r->tree.nodes[*id].first = one;
        else
            r->tree.nodes[last].next = one;
        last = one;
    }
    if (last == NOWHERE)
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "%s joins nothing",
                                kind == TAKT_FORMULA_AND ? "and" : "or");
    return TAKT_OK;
}

static takt_status formula(reader *r, uint32_t *id)
{
    char text[64];
    TAKT_TRY(expect(r, TAKT_VNNLIB_OPEN, "'('"));
    TAKT_TRY(enter(r));
    const takt_span op = r->scan.kind == TAKT_VNNLIB_WORD ? r->scan.word : (takt_span){"", 0};
    const bool is_and = takt_span_is(op, "and");
    if (!is_and && !takt_span_is(op, "or") && !compares(op))
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB,
                                "and, or, <=, >=, <, > or == is expected, not %s",
                                takt_vnnlib_word(&r->scan, text));
    TAKT_TRY(takt_vnnlib_next(&r->scan));
    if (compares(op))
        TAKT_TRY(comparison(r, op, id));
    else
        TAKT_TRY(joined(r, is_and ? TAKT_FORMULA_AND : TAKT_FORMULA_OR, id));
    r->depth--;
    return expect(r, TAKT_VNNLIB_CLOSE, "')'");
}

/* ---- commands ---- */

static takt_status assertion(reader *r, uint32_t *last)
{
    uint32_t one;
    TAKT_TRY(takt_vnnlib_next(&r->scan));
    TAKT_TRY(formula(r, &one));
    if (*last == NOWHERE)
        r->tree.nodes[0].first = one;
    else
        r->tree.nodes[*last].next = one;
    *last = one;
    return TAKT_OK;
}

/* (declare-const X_0 Real), or (declare-fun X_0 () Real). */
static takt_status declaration(reader *r, bool is_function)
{
    TAKT_TRY(takt_vnnlib_next(&r->scan));
    TAKT_TRY(takt_vnnlib_declare(&r->names, &r->scan));
    TAKT_TRY(takt_vnnlib_next(&r->scan));
    if (is_function) {
        TAKT_TRY(expect(r, TAKT_VNNLIB_OPEN, "'('"));
        TAKT_TRY(expect(r, TAKT_VNNLIB_CLOSE, "')'"));
    }
    return expect(r, TAKT_VNNLIB_WORD, "Real");
}

static takt_status network(reader *r)
{
    char text[64];
    if (r->names.has_network || r->names.counts[0] + r->names.counts[1] > 0)
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "a second network is not understood");
    r->names.has_network = true;
    TAKT_TRY(takt_vnnlib_next(&r->scan));
    TAKT_TRY(expect(r, TAKT_VNNLIB_WORD, "the network's name"));
    while (r->scan.kind == TAKT_VNNLIB_OPEN) {
        TAKT_TRY(takt_vnnlib_next(&r->scan));
        const bool is_input = is_word(r, "declare-input");
        if (!is_input && !is_word(r, "declare-output"))
            return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB,
                                    "declare-input or declare-output is expected, not %s",
                                    takt_vnnlib_word(&r->scan, text));
        TAKT_TRY(takt_vnnlib_next(&r->scan));
        TAKT_TRY(takt_vnnlib_declare_tensor(&r->names, &r->scan, is_input));
        if (r->scan.kind == TAKT_VNNLIB_WORD) /* the name in the ONNX file */
            TAKT_TRY(takt_vnnlib_next(&r->scan));
        TAKT_TRY(expect(r, TAKT_VNNLIB_CLOSE, "')'"));
    }
    return TAKT_OK;
}

static takt_status command(reader *r, uint32_t *last)
{
    char text[64];
    TAKT_TRY(expect(r, TAKT_VNNLIB_OPEN, "'('"));
    if (is_word(r, "assert"))
        TAKT_TRY(assertion(r, last));
    else if (is_word(r, "declare-const") || is_word(r, "declare-fun"))
        TAKT_TRY(declaration(r, is_word(r, "declare-fun")));
    else if (is_word(r, "declare-network"))
        TAKT_TRY(network(r));
    else if (is_word(r, "vnnlib-version")) {
        TAKT_TRY(takt_vnnlib_next(&r->scan));
        if (!is_word(r, "<2.0>") && !is_word(r, "<1.0>") && !is_word(r, "2.0"))
            return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "version %s is not known",
                                    takt_vnnlib_word(&r->scan, text));
        TAKT_TRY(takt_vnnlib_next(&r->scan));
    } else
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "%s is not a command of VNN-LIB",
                                takt_vnnlib_word(&r->scan, text));
    return expect(r, TAKT_VNNLIB_CLOSE, "')'");
}

static takt_status commands(reader *r)
{
    uint32_t root, last = NOWHERE;
    TAKT_TRY(add_node(r, TAKT_FORMULA_AND, &root));
    TAKT_TRY(takt_vnnlib_next(&r->scan));
    while (r->scan.kind != TAKT_VNNLIB_END)
        TAKT_TRY(command(r, &last));
    r->tree.output_count = r->names.counts[0];
    r->tree.input_count = r->names.counts[1];
    if (r->tree.input_count == 0 || r->tree.output_count == 0)
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB_NAME, "no %s is declared",
                                r->tree.input_count == 0 ? "input" : "output");
    if (last == NOWHERE)
        return takt_vnnlib_fail(&r->scan, TAKT_E_VNNLIB, "nothing is asserted");
    return TAKT_OK;
}

takt_status takt_property_read(takt_ctx *ctx, const char *name, takt_span text,
                               takt_property *property)
{
    void *block;
    *property = (takt_property){0};
    takt_arena_init(&property->arena, ctx);
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(reader), "property", &block));
    reader *r = block;
    r->scan = (takt_vnnlib_scan){.ctx = ctx, .name = name, .line = 1};
    r->scan.cursor = takt_cursor_of(text.at, text.length, 0);
    takt_status status = commands(r);
    takt_formula_tree *t = &r->tree;
    if (status == TAKT_OK)
        status = takt_property_cases(ctx, name, t, property);
    takt_mem_put(ctx, t->nodes, t->node_room * sizeof *t->nodes);
    takt_mem_put(ctx, t->atoms, t->atom_room * sizeof *t->atoms);
    takt_mem_put(ctx, t->terms, t->term_room * sizeof *t->terms);
    takt_mem_put(ctx, r, sizeof *r);
    if (status != TAKT_OK)
        takt_property_deinit(property);
    return status;
}
