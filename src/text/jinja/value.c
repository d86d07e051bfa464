/* value.c - values of a template: creating, finding, comparing. */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "text/jinja/jinja.h"

takt_jv takt_jv_none(void)
{
    return (takt_jv){.kind = TAKT_JV_NONE};
}

takt_jv takt_jv_undefined(void)
{
    return (takt_jv){.kind = TAKT_JV_UNDEFINED};
}

takt_jv takt_jv_bool(bool b)
{
    return (takt_jv){.kind = TAKT_JV_BOOL, .boolean = b};
}

takt_jv takt_jv_int(int64_t i)
{
    return (takt_jv){.kind = TAKT_JV_INT, .integer = i};
}

takt_jv takt_jv_float(double f)
{
    return (takt_jv){.kind = TAKT_JV_FLOAT, .number = f};
}

takt_jv takt_jv_span(takt_span text)
{
    return (takt_jv){.kind = TAKT_JV_TEXT, .text = text};
}

takt_jv takt_jv_word(const char *text)
{
    return takt_jv_span(takt_span_of(text));
}

takt_jv takt_jv_copy(takt_jrun *r, const char *at, size_t length)
{
    char *to = takt_jinja_get(r, length, 1);
    if (to == NULL)
        return takt_jv_word("");
    if (length > 0)
        memcpy(to, at, length);
    return takt_jv_span((takt_span){to, length});
}

takt_jv takt_jv_gathered(takt_jrun *r, takt_text *text)
{
    if (text->status != TAKT_OK && r->status == TAKT_OK)
        r->status = text->status;
    const takt_jv v = takt_jv_copy(r, takt_text_get(text), text->length);
    takt_text_deinit(text);
    return v;
}

/* ---- lists and dictionaries ---- */

takt_jv takt_jv_list_new(takt_jrun *r, size_t room)
{
    takt_jv_list *list = takt_jinja_get(r, 1, sizeof *list);
    takt_jv *at = takt_jinja_get(r, room, sizeof *at);
    if (list == NULL || at == NULL)
        return takt_jv_undefined();
    *list = (takt_jv_list){.at = at, .capacity = room};
    return (takt_jv){.kind = TAKT_JV_LIST, .list = list};
}

void takt_jv_add(takt_jrun *r, takt_jv v, takt_jv item)
{
    takt_jv_list *list = v.list;
    if (r->status != TAKT_OK)
        return;
    if (list->count == list->capacity) {
        const size_t room = list->capacity > 0 ? 2 * list->capacity : 4;
        takt_jv *more = takt_jinja_get(r, room, sizeof *more);
        if (more == NULL)
            return;
        for (size_t i = 0; i < list->count; i++)
            more[i] = list->at[i];
        list->at = more;
        list->capacity = room;
    }
    list->at[list->count++] = item;
}

takt_jv takt_jv_dict_new(takt_jrun *r, size_t room)
{
    takt_jv_dict *dict = takt_jinja_get(r, 1, sizeof *dict);
    takt_jv *at = takt_jinja_get(r, room, 2 * sizeof *at);
    if (dict == NULL || at == NULL)
        return takt_jv_undefined();
    *dict = (takt_jv_dict){.at = at, .capacity = room};
    return (takt_jv){.kind = TAKT_JV_DICT, .dict = dict};
}

static takt_jv *find(takt_jrun *r, takt_jv v, takt_jv key)
{
    const takt_jv_dict *dict = v.dict;
    for (size_t i = 0; i < dict->count; i++) {
        const takt_jv *have = &dict->at[2 * i];
        const bool is_text = have->kind == TAKT_JV_TEXT && key.kind == TAKT_JV_TEXT;
        if (is_text && have->text.length != key.text.length)
            continue;
        if (takt_jv_same(r, *have, key)) {
            (void)takt_jinja_step(r, i);
            return &dict->at[2 * i + 1];
        }
    }
    (void)takt_jinja_step(r, dict->count);
    return NULL;
}

const takt_jv *takt_jv_find(takt_jrun *r, takt_jv dict, takt_jv key)
{
    return find(r, dict, key);
}

const takt_jv *takt_jv_named(takt_jrun *r, takt_jv dict, const char *key)
{
    return find(r, dict, takt_jv_word(key));
}

/* Without checking whether the key exists. */
static void append(takt_jrun *r, takt_jv v, takt_jv key, takt_jv value)
{
    takt_jv_dict *dict = v.dict;
    if (dict->count == dict->capacity) {
        const size_t room = dict->capacity > 0 ? 2 * dict->capacity : 4;
        takt_jv *more = takt_jinja_get(r, room, 2 * sizeof *more);
        if (more == NULL)
            return;
        for (size_t i = 0; i < 2 * dict->count; i++)
            more[i] = dict->at[i];
        dict->at = more;
        dict->capacity = room;
    }
    dict->at[2 * dict->count] = key;
    dict->at[2 * dict->count++ + 1] = value;
}

void takt_jv_put(takt_jrun *r, takt_jv v, takt_jv key, takt_jv value)
{
    if (r->status != TAKT_OK)
        return;
    takt_jv *found = find(r, v, key);
    if (found != NULL)
        *found = value;
    else
        append(r, v, key, value);
}

takt_jv takt_jv_items(takt_jrun *r, takt_jv v)
{
    if (r->status != TAKT_OK || v.kind == TAKT_JV_LIST)
        return v;
    const takt_jv list = takt_jv_list_new(r, 8);
    if (v.kind == TAKT_JV_DICT) {
        for (size_t i = 0; i < v.dict->count; i++)
            takt_jv_add(r, list, v.dict->at[2 * i]);
    } else if (v.kind == TAKT_JV_TEXT) {
        for (size_t i = 0, n; i < v.text.length && takt_jinja_step(r, 0); i += n) {
            n = takt_utf8_length(v.text.at + i, v.text.length - i);
            n = n > 0 ? n : 1;
            takt_jv_add(r, list, takt_jv_span((takt_span){v.text.at + i, n}));
        }
    } else if (v.kind != TAKT_JV_UNDEFINED) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%s has no items", takt_jv_kind_name(v));
    }
    return list;
}

/* ---- questions ---- */

bool takt_jv_truth(takt_jv v)
{
    switch (v.kind) {
    case TAKT_JV_UNDEFINED:
    case TAKT_JV_NONE: return false;
    case TAKT_JV_BOOL: return v.boolean;
    case TAKT_JV_INT: return v.integer != 0;
    case TAKT_JV_FLOAT: return v.number != 0;
    case TAKT_JV_TEXT: return v.text.length > 0;
    case TAKT_JV_LIST: return v.list->count > 0;
    case TAKT_JV_DICT: return v.dict->count > 0 || v.dict->is_namespace;
    default: return true;
    }
}

bool takt_jv_is_number(takt_jv v)
{
    return v.kind == TAKT_JV_INT || v.kind == TAKT_JV_FLOAT || v.kind == TAKT_JV_BOOL;
}

double takt_jv_double(takt_jv v)
{
    return v.kind == TAKT_JV_FLOAT ? v.number
           : v.kind == TAKT_JV_INT ? (double)v.integer
                                   : (double)(v.kind == TAKT_JV_BOOL && v.boolean);
}

int64_t takt_jv_integer(takt_jrun *r, takt_jv v)
{
    if (v.kind == TAKT_JV_INT)
        return v.integer;
    if (v.kind == TAKT_JV_BOOL)
        return v.boolean;
    takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%s is not an integer", takt_jv_kind_name(v));
    return 0;
}

const char *takt_jv_kind_name(takt_jv v)
{
    static const char *const names[] = {"something undefined",
                                        "none",
                                        "a bool",
                                        "an integer",
                                        "a float",
                                        "a string",
                                        "a list",
                                        "a dictionary",
                                        "a macro",
                                        "a function"};
    return names[v.kind];
}

static bool same_items(takt_jrun *r, const takt_jv_list *a, const takt_jv_list *b)
{
    if (a->count != b->count || a->is_tuple != b->is_tuple)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!takt_jv_same(r, a->at[i], b->at[i]))
            return false;
    return true;
}

static bool same_pairs(takt_jrun *r, takt_jv a, takt_jv b)
{
    if (a.dict->count != b.dict->count)
        return false;
    for (size_t i = 0; i < a.dict->count; i++) {
        const takt_jv *other = find(r, b, a.dict->at[2 * i]);
        if (other == NULL || !takt_jv_same(r, a.dict->at[2 * i + 1], *other))
            return false;
    }
    return true;
}

/* Values may contain each other: the depth is limited, like that of calls. */
bool takt_jv_same(takt_jrun *r, takt_jv a, takt_jv b)
{
    bool same = false;
    if (takt_jv_is_number(a) && takt_jv_is_number(b)) {
        const bool is_float = a.kind == TAKT_JV_FLOAT || b.kind == TAKT_JV_FLOAT;
        return is_float ? takt_jv_double(a) == takt_jv_double(b)
                        : takt_jv_integer(r, a) == takt_jv_integer(r, b);
    }
    if (a.kind != b.kind)
        return false;
    if (a.kind == TAKT_JV_TEXT)
        return a.text.length == b.text.length &&
               (a.text.length == 0 || memcmp(a.text.at, b.text.at, a.text.length) == 0);
    if (a.kind != TAKT_JV_LIST && a.kind != TAKT_JV_DICT)
        return a.kind == TAKT_JV_MACRO      ? a.macro == b.macro
               : a.kind == TAKT_JV_FUNCTION ? a.function == b.function
                                            : true;
    if (++r->nested > TAKT_JINJA_NESTED)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "values nest too deeply");
    if (takt_jinja_step(r, 0))
        same = a.kind == TAKT_JV_LIST ? same_items(r, a.list, b.list) : same_pairs(r, a, b);
    r->nested--;
    return same;
}

static int order_of_texts(takt_span a, takt_span b)
{
    const size_t both = a.length < b.length ? a.length : b.length;
    const int order = both > 0 ? memcmp(a.at, b.at, both) : 0;
    return order != 0 ? order : a.length < b.length ? -1 : a.length > b.length;
}

int takt_jv_order(takt_jrun *r, takt_jv a, takt_jv b)
{
    if (a.kind == TAKT_JV_TEXT && b.kind == TAKT_JV_TEXT)
        return order_of_texts(a.text, b.text);
    if (takt_jv_is_number(a) && takt_jv_is_number(b)) {
        const double x = takt_jv_double(a), y = takt_jv_double(b);
        if (a.kind != TAKT_JV_FLOAT && b.kind != TAKT_JV_FLOAT) {
            const int64_t i = takt_jv_integer(r, a), k = takt_jv_integer(r, b);
            return i < k ? -1 : i > k;
        }
        return x < y ? -1 : x > y;
    }
    const bool are_lists = a.kind == TAKT_JV_LIST && b.kind == TAKT_JV_LIST;
    if (++r->nested > TAKT_JINJA_NESTED)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "values nest too deeply");
    int order = 0;
    for (size_t i = 0; are_lists && order == 0 && takt_jinja_step(r, 0); i++) {
        if (i >= a.list->count || i >= b.list->count) {
            order = (i < a.list->count) - (i < b.list->count);
            break;
        }
        if (!takt_jv_same(r, a.list->at[i], b.list->at[i]))
            order = takt_jv_order(r, a.list->at[i], b.list->at[i]);
    }
    r->nested--;
    if (!are_lists)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%s and %s have no order", takt_jv_kind_name(a),
                        takt_jv_kind_name(b));
    return order;
}

size_t takt_jv_search(takt_jrun *r, takt_span in, takt_span what, size_t from)
{
    if (what.length > in.length || from > in.length - what.length)
        return SIZE_MAX;
    if (!takt_jinja_step(r, (in.length - from) / 4 * (1 + what.length / 64)))
        return SIZE_MAX;
    if (what.length == 0)
        return from;
    const size_t last = in.length - what.length;
    for (size_t i = from; i <= last; i++) {
        const char *at = memchr(in.at + i, what.at[0], last + 1 - i);
        if (at == NULL)
            return SIZE_MAX;
        i = (size_t)(at - in.at);
        if (memcmp(at, what.at, what.length) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* ---- from JSON ---- */

takt_jv takt_jv_from_json(takt_jrun *r, const takt_json *from)
{
    if (!takt_jinja_step(r, 0))
        return takt_jv_undefined();
    switch (from->kind) {
    case TAKT_JSON_NULL: return takt_jv_none();
    case TAKT_JSON_BOOL: return takt_jv_bool(from->boolean);
    case TAKT_JSON_NUMBER:
        return from->is_integer ? takt_jv_int(from->integer) : takt_jv_float(from->number);
    case TAKT_JSON_STRING: return takt_jv_span((takt_span){from->text, from->text_length});
    default: break;
    }
    const bool is_list = from->kind == TAKT_JSON_ARRAY;
    const takt_jv v = is_list ? takt_jv_list_new(r, from->count) : takt_jv_dict_new(r, from->count);
    const takt_json *child = takt_json_first(from);
    for (; child != NULL && r->status == TAKT_OK; child = takt_json_next(child)) {
        const takt_jv item = takt_jv_from_json(r, child);
        if (r->status != TAKT_OK)
            break;
        if (is_list)
            takt_jv_add(r, v, item);
        else /* the JSON reader has refused duplicate keys */
            append(r, v, takt_jv_word(child->key), item);
    }
    return v;
}
