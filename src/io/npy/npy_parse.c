/* npy_parse.c - the dictionary at the head of an .npy file.
 *
 * It is a Python literal. Only NumPy's form is accepted: three keys, a string, a bool, a tuple of
 * numbers; nothing is evaluated.
 */
#include <string.h>

#include "io/npy/npy.h"

static const struct {
    const char *descr;
    takt_dtype dtype;
} types[] = {
    {"<f8", TAKT_F64}, {"<f4", TAKT_F32},  {"<f2", TAKT_F16}, {"<i8", TAKT_I64}, {"<i4", TAKT_I32},
    {"<i2", TAKT_I16}, {"|i1", TAKT_I8},   {"<u8", TAKT_U64}, {"<u4", TAKT_U32}, {"<u2", TAKT_U16},
    {"|u1", TAKT_U8},  {"|b1", TAKT_BOOL}, {"<i1", TAKT_I8},  {"<u1", TAKT_U8},
};

const char *takt_npy_descr(takt_dtype dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype)
            return types[i].descr;
    return NULL;
}

typedef struct scanner {
    takt_ctx *ctx;
    const char *name;
    takt_span text;
    size_t pos, at;
} scanner;

static takt_status fail(scanner *s, const char *what)
{
    takt_fail(s->ctx, TAKT_E_NPY, "%s: %s", s->name, what);
    return takt_fail_offset(s->ctx, s->at + s->pos);
}

static void blanks(scanner *s)
{
    while (s->pos < s->text.length && (s->text.at[s->pos] == ' ' || s->text.at[s->pos] == '\n'))
        s->pos++;
}

/* If the next character is `c`, skips it and returns true. */
static bool take(scanner *s, char c)
{
    blanks(s);
    if (s->pos >= s->text.length || s->text.at[s->pos] != c)
        return false;
    s->pos++;
    return true;
}

static bool word(scanner *s, const char *text)
{
    const size_t length = strlen(text);
    blanks(s);
    if (s->text.length - s->pos < length || memcmp(s->text.at + s->pos, text, length) != 0)
        return false;
    s->pos += length;
    return true;
}

static bool string(scanner *s, takt_span *out)
{
    blanks(s);
    const char quote = s->pos < s->text.length ? s->text.at[s->pos] : '\0';
    if (quote != '\'' && quote != '"')
        return false;
    const char *from = s->text.at + s->pos + 1;
    const char *end = memchr(from, quote, s->text.length - s->pos - 1);
    if (end == NULL || memchr(from, '\\', (size_t)(end - from)) != NULL)
        return false;
    *out = (takt_span){from, (size_t)(end - from)};
    s->pos += out->length + 2;
    return true;
}

/* `d` begins after its quote, so errors in the type point there. */
static takt_status refuse_type(scanner *s, takt_span d)
{
    const char *hint = "save it as a plain number type, e.g. with .astype('<f4')";
    const char *why = "is not supported";
    if (d.length > 1 && d.at[1] == 'O') {
        why = "means Python objects, which are never read";
    } else if (d.length > 0 && d.at[0] == '>') {
        why = "is big-endian";
        hint = "save it with x.astype(x.dtype.newbyteorder('<'))";
    }
    const int length = d.length < 64 ? (int)d.length : 64;
    takt_fail(s->ctx, TAKT_E_NPY, "%s: element type '%.*s' %s", s->name, length, d.at, why);
    takt_fail_offset(s->ctx, s->at + (size_t)(d.at - s->text.at) - 1);
    return takt_fail_hint(s->ctx, "%s", hint);
}

static takt_status read_type(scanner *s, takt_npy_header *h)
{
    takt_span d;
    blanks(s);
    h->is_other = s->pos < s->text.length && s->text.at[s->pos] == '[';
    if (h->is_other)
        return fail(s, "arrays of structures are not read");
    if (!string(s, &d))
        return fail(s, "descr is not a string");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!takt_span_is(d, types[i].descr))
            continue;
        h->dtype = types[i].dtype;
        h->has_dtype = true;
        return TAKT_OK;
    }
    h->is_other = d.length > 1 && memchr("USOVMm", d.at[1], 6) != NULL;
    return refuse_type(s, d);
}

static takt_status read_order(scanner *s, takt_npy_header *h)
{
    h->is_fortran = word(s, "True");
    if (!h->is_fortran && !word(s, "False"))
        return fail(s, "fortran_order is neither True nor False");
    h->has_order = true;
    return TAKT_OK;
}

static takt_status read_size(scanner *s, int64_t *size)
{
    blanks(s);
    const size_t start = s->pos;
    int64_t value = 0;
    for (; s->pos < s->text.length && s->text.at[s->pos] >= '0' && s->text.at[s->pos] <= '9';
         s->pos++) {
        const int digit = s->text.at[s->pos] - '0';
        if (value > (INT64_MAX - digit) / 10) {
            s->pos = start;
            return fail(s, "a size in the shape is too large");
        }
        value = 10 * value + digit;
    }
    if (s->pos == start)
        return fail(s, "a size in the shape is not a non-negative number");
    *size = value;
    return TAKT_OK;
}

static takt_status read_shape(scanner *s, takt_npy_header *h)
{
    blanks(s);
    h->shape_at = s->at + s->pos;
    if (!take(s, '('))
        return fail(s, "shape is not a tuple");
    while (!take(s, ')')) {
        if (h->rank == TAKT_MAX_RANK)
            return fail(s, "the array has more than 16 dimensions");
        TAKT_TRY(read_size(s, &h->dims[h->rank++]));
        if (take(s, ','))
            continue;
        if (h->rank == 1)
            return fail(s, "shape is not a tuple: a single size needs a comma after it");
        if (!take(s, ')'))
            return fail(s, "shape is not a tuple of numbers");
        break;
    }
    h->has_shape = true;
    return TAKT_OK;
}

static takt_status read_pair(scanner *s, takt_npy_header *h)
{
    takt_span key;
    if (!string(s, &key) || !take(s, ':'))
        return fail(s, "the header is not a dictionary");
    if (takt_span_is(key, "descr") && !h->has_dtype)
        return read_type(s, h);
    if (takt_span_is(key, "fortran_order") && !h->has_order)
        return read_order(s, h);
    if (takt_span_is(key, "shape") && !h->has_shape)
        return read_shape(s, h);
    return fail(s, "the header has a key twice, or one other than descr, fortran_order and shape");
}

takt_status takt_npy_parse(takt_ctx *ctx, const char *name, takt_span text, size_t at,
                           takt_npy_header *h)
{
    scanner s = {.ctx = ctx, .name = name, .text = text, .at = at};
    memset(h, 0, sizeof *h);
    if (text.length == 0 || text.at[text.length - 1] != '\n') {
        s.pos = text.length;
        return fail(&s, "the header does not end with a newline");
    }
    if (!take(&s, '{'))
        return fail(&s, "the header is not a dictionary");
    while (!take(&s, '}')) {
        TAKT_TRY(read_pair(&s, h));
        if (!take(&s, ',') && (s.pos >= text.length || text.at[s.pos] != '}'))
            return fail(&s, "the header is not a dictionary");
    }
    blanks(&s);
    if (s.pos != text.length)
        return fail(&s, "something follows the header's dictionary");
    if (!h->has_dtype || !h->has_order || !h->has_shape)
        return fail(&s, "the header lacks descr, fortran_order or shape");
    return TAKT_OK;
}
