/* operate.c - operators, comparisons, indices and slices of values. */
#include <math.h>
#include <string.h>

#include "text/jinja/jinja.h"

static takt_jv refuse(takt_jrun *r, takt_span sign, takt_jv a, takt_jv b)
{
    takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%s %.*s %s is not possible", takt_jv_kind_name(a),
                    (int)sign.length, sign.at, takt_jv_kind_name(b));
    return takt_jv_undefined();
}

static takt_jv joined(takt_jrun *r, takt_span a, takt_span b)
{
    char *to = takt_jinja_get(r, a.length + b.length, 1);
    if (to == NULL || !takt_jinja_step(r, (a.length + b.length) / 16))
        return takt_jv_undefined();
    if (a.length > 0)
        memcpy(to, a.at, a.length);
    if (b.length > 0)
        memcpy(to + a.length, b.at, b.length);
    return takt_jv_span((takt_span){to, a.length + b.length});
}

static takt_jv repeated(takt_jrun *r, takt_jv a, int64_t times)
{
    const bool is_text = a.kind == TAKT_JV_TEXT;
    const size_t length = is_text ? a.text.length : a.list->count;
    const size_t count = times > 0 && length > 0 ? (size_t)times : 0;
    if (length > 0 && count > TAKT_JINJA_OUTPUT / length) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "a value is repeated too often");
        return a;
    }
    if (!takt_jinja_step(r, length * count))
        return a;
    if (is_text) {
        char *to = takt_jinja_get(r, length * count, 1);
        for (size_t i = 0; to != NULL && i < count; i++)
            memcpy(to + i * length, a.text.at, length);
        return takt_jv_span((takt_span){to != NULL ? to : "", to != NULL ? length * count : 0});
    }
    const takt_jv list = takt_jv_list_new(r, length * count);
    for (size_t i = 0; i < length * count && r->status == TAKT_OK; i++)
        takt_jv_add(r, list, a.list->at[i % length]);
    return list;
}

/* As Python rounds: down, with the sign of the divisor. */
static takt_jv divided(takt_jrun *r, char sign, int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == INT64_MIN)) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "division of %lld by %lld", (long long)a,
                        (long long)b);
        return takt_jv_undefined();
    }
    const int64_t rest = a % b;
    const bool is_off = rest != 0 && (rest < 0) != (b < 0);
    return takt_jv_int(sign == '%' ? rest + (is_off ? b : 0) : a / b - (is_off ? 1 : 0));
}

static takt_jv power(takt_jrun *r, int64_t a, int64_t b)
{
    int64_t value = 1;
    for (int64_t i = 0; i < b; i++)
        if (__builtin_mul_overflow(value, a, &value) || i > 4096) {
            takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "a number is too large");
            return takt_jv_undefined();
        }
    return takt_jv_int(value);
}

static takt_jv of_integers(takt_jrun *r, takt_span sign, int64_t a, int64_t b)
{
    int64_t value = 0;
    bool wraps = false;
    if (takt_span_is(sign, "//") || takt_span_is(sign, "%"))
        return divided(r, sign.at[0], a, b);
    if (takt_span_is(sign, "**") && b >= 0)
        return power(r, a, b);
    if (takt_span_is(sign, "+"))
        wraps = __builtin_add_overflow(a, b, &value);
    else if (takt_span_is(sign, "-"))
        wraps = __builtin_sub_overflow(a, b, &value);
    else
        wraps = __builtin_mul_overflow(a, b, &value);
    if (wraps)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "a number is too large");
    return takt_jv_int(value);
}

static takt_jv of_numbers(takt_jrun *r, takt_span sign, double a, double b)
{
    const bool divides = sign.at[0] == '/' || sign.at[0] == '%';
    if (divides && b == 0) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "division by zero");
        return takt_jv_undefined();
    }
    switch (sign.at[0]) {
    case '+': return takt_jv_float(a + b);
    case '-': return takt_jv_float(a - b);
    case '/': return takt_jv_float(sign.length == 2 ? floor(a / b) : a / b);
    case '%': return takt_jv_float(a - b * floor(a / b));
    default: return takt_jv_float(sign.length == 2 ? pow(a, b) : a * b);
    }
}

takt_jv takt_jinja_binary(takt_jrun *r, takt_span sign, takt_jv a, takt_jv b)
{
    const bool is_float = a.kind == TAKT_JV_FLOAT || b.kind == TAKT_JV_FLOAT;
    const bool is_root = takt_span_is(sign, "**") && takt_jv_is_number(b) && takt_jv_double(b) < 0;
    if (takt_span_is(sign, "~")) {
        a = takt_jv_to_text(r, a);
        b = takt_jv_to_text(r, b);
        return r->status == TAKT_OK ? joined(r, a.text, b.text) : a;
    }
    if (takt_jv_is_number(a) && takt_jv_is_number(b)) {
        if (is_float || is_root || takt_span_is(sign, "/"))
            return of_numbers(r, sign, takt_jv_double(a), takt_jv_double(b));
        return of_integers(r, sign, takt_jv_integer(r, a), takt_jv_integer(r, b));
    }
    if (takt_span_is(sign, "+") && a.kind == TAKT_JV_TEXT && b.kind == TAKT_JV_TEXT)
        return joined(r, a.text, b.text);
    if (takt_span_is(sign, "+") && a.kind == TAKT_JV_LIST && b.kind == TAKT_JV_LIST) {
        const takt_jv list = takt_jv_list_new(r, a.list->count + b.list->count);
        for (size_t i = 0; i < a.list->count + b.list->count && r->status == TAKT_OK; i++)
            takt_jv_add(r, list, i < a.list->count ? a.list->at[i] : b.list->at[i - a.list->count]);
        return list;
    }
    const bool is_row = a.kind == TAKT_JV_TEXT || a.kind == TAKT_JV_LIST;
    if (takt_span_is(sign, "*") && is_row && (b.kind == TAKT_JV_INT || b.kind == TAKT_JV_BOOL))
        return repeated(r, a, takt_jv_integer(r, b));
    return refuse(r, sign, a, b);
}

/* ---- comparisons ---- */

static bool contains(takt_jrun *r, takt_jv in, takt_jv what)
{
    if (in.kind == TAKT_JV_TEXT && what.kind == TAKT_JV_TEXT) {
        (void)takt_jinja_step(r, in.text.length / 16);
        return what.text.length == 0 || takt_jv_search(r, in.text, what.text, 0) != SIZE_MAX;
    }
    if (in.kind == TAKT_JV_DICT)
        return takt_jv_find(r, in, what) != NULL;
    for (size_t i = 0; in.kind == TAKT_JV_LIST && i < in.list->count; i++)
        if (!takt_jinja_step(r, 1) || takt_jv_same(r, in.list->at[i], what))
            return true;
    if (in.kind != TAKT_JV_LIST && in.kind != TAKT_JV_UNDEFINED)
        (void)refuse(r, takt_span_of("in"), what, in);
    return false;
}

bool takt_jinja_compare(takt_jrun *r, takt_span sign, takt_jv a, takt_jv b)
{
    if (takt_span_is(sign, "=="))
        return takt_jv_same(r, a, b);
    if (takt_span_is(sign, "!="))
        return !takt_jv_same(r, a, b);
    if (takt_span_is(sign, "in"))
        return contains(r, b, a);
    if (takt_span_is(sign, "not in"))
        return !contains(r, b, a);
    if ((takt_jv_is_number(a) && isnan(takt_jv_double(a))) ||
        (takt_jv_is_number(b) && isnan(takt_jv_double(b))))
        return false;
    const int order = takt_jv_order(r, a, b);
    const bool is_less = sign.at[0] == '<';
    return (sign.length == 2 && order == 0) || (is_less ? order < 0 : order > 0);
}

/* ---- parts ---- */

takt_jv takt_jinja_index(takt_jrun *r, takt_jv a, takt_jv key)
{
    if (a.kind == TAKT_JV_DICT) {
        const takt_jv *found = takt_jv_find(r, a, key);
        return found != NULL ? *found : takt_jv_undefined();
    }
    if (a.kind == TAKT_JV_UNDEFINED) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "an index of something undefined");
        return a;
    }
    if ((a.kind != TAKT_JV_LIST && a.kind != TAKT_JV_TEXT) || key.kind != TAKT_JV_INT)
        return takt_jv_undefined();
    if (a.kind == TAKT_JV_TEXT)
        a = takt_jv_items(r, a);
    if (r->status != TAKT_OK)
        return a;
    const int64_t count = (int64_t)a.list->count;
    const int64_t at = key.integer < 0 ? key.integer + count : key.integer;
    return at >= 0 && at < count ? a.list->at[at] : takt_jv_undefined();
}

/* A bound as in Python slices: from the end if negative, clamped to the list. */
static int64_t bound(takt_jrun *r, takt_jv v, int64_t fallback, int64_t count, bool is_back)
{
    if (v.kind == TAKT_JV_NONE)
        return fallback;
    int64_t at = takt_jv_integer(r, v);
    at = at < 0 && at > INT64_MIN / 2 ? at + count : at;
    const int64_t least = is_back ? -1 : 0, most = is_back ? count - 1 : count;
    return at < least ? least : at > most ? most : at;
}

takt_jv takt_jinja_slice(takt_jrun *r, takt_jv a, const takt_jv bounds[3])
{
    const bool is_text = a.kind == TAKT_JV_TEXT;
    const int64_t step = bounds[2].kind == TAKT_JV_NONE ? 1 : takt_jv_integer(r, bounds[2]);
    if (a.kind != TAKT_JV_LIST && !is_text) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%s has no slices", takt_jv_kind_name(a));
        return a;
    }
    if (step == 0)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "the step of a slice is 0");
    const takt_jv all = takt_jv_items(r, a);
    if (r->status != TAKT_OK)
        return a;
    const int64_t count = (int64_t)all.list->count;
    const bool is_back = step < 0;
    const int64_t from = bound(r, bounds[0], is_back ? count - 1 : 0, count, is_back);
    const int64_t to = bound(r, bounds[1], is_back ? -1 : count, count, is_back);
    const takt_jv list = takt_jv_list_new(r, 4);
    for (int64_t i = from; (is_back ? i > to : i < to) && r->status == TAKT_OK;) {
        takt_jv_add(r, list, all.list->at[i]);
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    if (!is_text || r->status != TAKT_OK) {
        if (r->status == TAKT_OK)
            list.list->is_tuple = all.list->is_tuple;
        return list;
    }
    takt_text text;
    takt_text_init(&text, r->ctx);
    for (size_t i = 0; i < list.list->count; i++)
        takt_text_put(&text, list.list->at[i].text.at, list.list->at[i].text.length);
    return takt_jv_gathered(r, &text);
}
