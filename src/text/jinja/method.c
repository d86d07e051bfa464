/* method.c - methods of strings, dictionaries and lists. */
#include <string.h>

#include "text/jinja/jinja.h"

/* ---- strings ---- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_among(char c, takt_jv set)
{
    return set.kind == TAKT_JV_TEXT
               ? set.text.length > 0 && memchr(set.text.at, c, set.text.length) != NULL
               : is_space(c);
}

static takt_jv stripped(takt_jrun *r, const takt_jargs *args, bool left, bool right)
{
    const takt_jv set = takt_jarg(args, 1, "chars", takt_jv_none());
    takt_span t = args->at[0].text;
    (void)takt_jinja_step(r, t.length / 16);
    while (left && t.length > 0 && is_among(t.at[0], set))
        t = (takt_span){t.at + 1, t.length - 1};
    while (right && t.length > 0 && is_among(t.at[t.length - 1], set))
        t.length--;
    return takt_jv_span(t);
}

static takt_jv strip(takt_jrun *r, const takt_jargs *args)
{
    return stripped(r, args, true, true);
}

static takt_jv lstrip(takt_jrun *r, const takt_jargs *args)
{
    return stripped(r, args, true, false);
}

static takt_jv rstrip(takt_jrun *r, const takt_jargs *args)
{
    return stripped(r, args, false, true);
}

typedef enum casing { UPPER, LOWER, TITLE, CAPITALIZE } casing;

/* ASCII only: other alphabets are unchanged. */
static takt_jv cased(takt_jrun *r, takt_span t, casing how)
{
    char *to = takt_jinja_get(r, t.length, 1);
    bool begins = true;
    if (to == NULL || !takt_jinja_step(r, t.length / 16))
        return takt_jv_word("");
    for (size_t i = 0; i < t.length; i++) {
        const char c = t.at[i];
        const bool is_upper = c >= 'A' && c <= 'Z', is_lower = c >= 'a' && c <= 'z';
        const bool wants_upper = how == UPPER || (how >= TITLE && begins);
        to[i] = is_upper && !wants_upper  ? (char)(c - 'A' + 'a')
                : is_lower && wants_upper ? (char)(c - 'a' + 'A')
                                          : c;
        begins = how == TITLE && !is_upper && !is_lower;
    }
    return takt_jv_span((takt_span){to, t.length});
}

static takt_jv upper(takt_jrun *r, const takt_jargs *args)
{
    return cased(r, args->at[0].text, UPPER);
}

static takt_jv lower(takt_jrun *r, const takt_jargs *args)
{
    return cased(r, args->at[0].text, LOWER);
}

static takt_jv title(takt_jrun *r, const takt_jargs *args)
{
    return cased(r, args->at[0].text, TITLE);
}

static takt_jv capitalize(takt_jrun *r, const takt_jargs *args)
{
    return cased(r, args->at[0].text, CAPITALIZE);
}

static bool has_end(takt_jrun *r, const takt_jargs *args, takt_jv what, bool at_end)
{
    const takt_span t = args->at[0].text;
    if (what.kind == TAKT_JV_LIST) {
        for (size_t i = 0; i < what.list->count; i++)
            if (what.list->at[i].kind == TAKT_JV_TEXT && has_end(r, args, what.list->at[i], at_end))
                return true;
        return false;
    }
    if (what.kind != TAKT_JV_TEXT) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "a string begins and ends with strings");
        return false;
    }
    const size_t n = what.text.length;
    return n <= t.length &&
           (n == 0 || memcmp(at_end ? t.at + t.length - n : t.at, what.text.at, n) == 0);
}

static takt_jv startswith(takt_jrun *r, const takt_jargs *args)
{
    return takt_jv_bool(has_end(r, args, takt_jarg(args, 1, NULL, takt_jv_none()), false));
}

static takt_jv endswith(takt_jrun *r, const takt_jargs *args)
{
    return takt_jv_bool(has_end(r, args, takt_jarg(args, 1, NULL, takt_jv_none()), true));
}

/* A string argument, "" if missing. */
static takt_span text_arg(takt_jrun *r, const takt_jargs *args, size_t index, const char *name)
{
    const takt_jv v = takt_jarg(args, index, name, takt_jv_none());
    if (v.kind == TAKT_JV_TEXT)
        return v.text;
    takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "a string is expected, not %s",
                    takt_jv_kind_name(v));
    return (takt_span){"", 0};
}

static takt_jv find(takt_jrun *r, const takt_jargs *args)
{
    const takt_span t = args->at[0].text;
    const size_t at = takt_jv_search(r, t, text_arg(r, args, 1, NULL), 0);
    int64_t characters = 0;
    for (size_t i = 0; at != SIZE_MAX && i < at; i++)
        characters += ((unsigned char)t.at[i] & 0xC0) != 0x80;
    return takt_jv_int(at == SIZE_MAX ? -1 : characters);
}

static takt_jv count(takt_jrun *r, const takt_jargs *args)
{
    const takt_span t = args->at[0].text, what = text_arg(r, args, 1, NULL);
    int64_t found = 0;
    for (size_t at = 0; what.length > 0; at += what.length, found++) {
        at = takt_jv_search(r, t, what, at);
        if (at == SIZE_MAX)
            break;
    }
    return takt_jv_int(found);
}

static takt_jv replace(takt_jrun *r, const takt_jargs *args)
{
    const takt_span t = args->at[0].text, from = text_arg(r, args, 1, "old");
    const takt_span to = text_arg(r, args, 2, "new");
    const takt_jv most = takt_jarg(args, 3, "count", takt_jv_none());
    int64_t left = most.kind == TAKT_JV_NONE ? INT64_MAX : takt_jv_integer(r, most);
    takt_text text;
    size_t at = 0;
    if (r->status != TAKT_OK || from.length == 0)
        return args->at[0];
    takt_text_init(&text, r->ctx);
    while (left-- != 0 && r->status == TAKT_OK) {
        const size_t next = takt_jv_search(r, t, from, at);
        if (next == SIZE_MAX)
            break;
        takt_text_put(&text, t.at + at, next - at);
        takt_text_put(&text, to.at, to.length);
        at = next + from.length;
        if (text.length > TAKT_JINJA_OUTPUT)
            takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "a text is too long");
    }
    takt_text_put(&text, t.at + at, t.length - at);
    return takt_jv_gathered(r, &text);
}

/* Splits at white space. */
static takt_jv words(takt_jrun *r, takt_span t, int64_t left)
{
    const takt_jv list = takt_jv_list_new(r, 8);
    for (size_t i = 0; r->status == TAKT_OK;) {
        while (i < t.length && is_space(t.at[i]))
            i++;
        if (i >= t.length)
            break;
        size_t end = i;
        while (end < t.length && (left == 0 || !is_space(t.at[end])))
            end++;
        takt_jv_add(r, list, takt_jv_span((takt_span){t.at + i, end - i}));
        left--;
        i = end;
        (void)takt_jinja_step(r, 0);
    }
    return list;
}

static takt_jv split(takt_jrun *r, const takt_jargs *args)
{
    const takt_span t = args->at[0].text;
    const takt_jv by = takt_jarg(args, 1, "sep", takt_jv_none());
    int64_t left = takt_jv_integer(r, takt_jarg(args, 2, "maxsplit", takt_jv_int(-1)));
    if (by.kind == TAKT_JV_NONE)
        return words(r, t, left);
    const takt_span what = text_arg(r, args, 1, "sep");
    const takt_jv list = takt_jv_list_new(r, 8);
    if (what.length == 0)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "split by an empty string");
    for (size_t at = 0; r->status == TAKT_OK;) {
        const size_t next = left-- != 0 ? takt_jv_search(r, t, what, at) : SIZE_MAX;
        const size_t end = next == SIZE_MAX ? t.length : next;
        takt_jv_add(r, list, takt_jv_span((takt_span){t.at + at, end - at}));
        if (next == SIZE_MAX)
            break;
        at = next + what.length;
    }
    return list;
}

static takt_jv splitlines(takt_jrun *r, const takt_jargs *args)
{
    const takt_span t = args->at[0].text;
    const takt_jv list = takt_jv_list_new(r, 8);
    for (size_t at = 0; at < t.length && takt_jinja_step(r, 0);) {
        size_t end = at;
        while (end < t.length && t.at[end] != '\n' && t.at[end] != '\r')
            end++;
        takt_jv_add(r, list, takt_jv_span((takt_span){t.at + at, end - at}));
        at = end + 1 + (end + 1 < t.length && t.at[end] == '\r' && t.at[end + 1] == '\n');
    }
    return list;
}

static takt_jv isdigit_(takt_jrun *r, const takt_jargs *args)
{
    const takt_span t = args->at[0].text;
    (void)takt_jinja_step(r, t.length / 16);
    for (size_t i = 0; i < t.length; i++)
        if (t.at[i] < '0' || t.at[i] > '9')
            return takt_jv_bool(false);
    return takt_jv_bool(t.length > 0);
}

static takt_jv join(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv given[2] = {takt_jarg(args, 1, NULL, takt_jv_none()), args->at[0]};
    const takt_jargs swapped = {.at = {given[0], given[1]}, .count = 2, .plain = 2};
    return takt_jinja_filter(takt_span_of("join"))->run(r, &swapped);
}

/* {} and {0} and {name}, {{ and }}; nothing else is supported between the braces. */
static takt_jv format(takt_jrun *r, const takt_jargs *args)
{
    const takt_span t = args->at[0].text;
    takt_text text;
    size_t next = 1;
    takt_text_init(&text, r->ctx);
    for (size_t i = 0; i < t.length && takt_jinja_step(r, 0); i++) {
        const char c = t.at[i];
        const bool is_twice = i + 1 < t.length && t.at[i + 1] == c;
        if ((c != '{' && c != '}') || is_twice) {
            takt_text_put(&text, &c, 1);
            i += c == '{' || c == '}';
            continue;
        }
        const char *end = c == '{' ? memchr(t.at + i, '}', t.length - i) : NULL;
        const takt_span name = {t.at + i + 1, end != NULL ? (size_t)(end - t.at) - i - 1 : 0};
        const bool is_place = name.length == 1 && name.at[0] >= '0' && name.at[0] <= '9';
        takt_jv v = takt_jv_undefined();
        if (name.length == 0 || is_place)
            v = takt_jarg(args, is_place ? (size_t)(name.at[0] - '0') + 1 : next++, NULL, v);
        for (size_t k = args->plain; k < args->count && name.length > 0; k++)
            if (args->names[k].length == name.length &&
                memcmp(args->names[k].at, name.at, name.length) == 0)
                v = args->at[k];
        if (end == NULL || v.kind == TAKT_JV_UNDEFINED)
            takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "format has a field without a value");
        else
            takt_jv_write(r, &text, v, false);
        i += name.length + 1;
    }
    return takt_jv_gathered(r, &text);
}

/* ---- dictionaries ---- */

static takt_jv get(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv key = takt_jarg(args, 1, "key", takt_jv_undefined());
    const takt_jv *found = takt_jv_find(r, args->at[0], key);
    return found != NULL ? *found : takt_jarg(args, 2, "default", takt_jv_none());
}

static takt_jv keys(takt_jrun *r, const takt_jargs *args)
{
    return takt_jv_items(r, args->at[0]);
}

static takt_jv values(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv_dict *d = args->at[0].dict;
    const takt_jv list = takt_jv_list_new(r, d->count);
    for (size_t i = 0; i < d->count && r->status == TAKT_OK; i++)
        takt_jv_add(r, list, d->at[2 * i + 1]);
    return list;
}

static takt_jv items(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv_dict *d = args->at[0].dict;
    const takt_jv list = takt_jv_list_new(r, d->count);
    for (size_t i = 0; i < d->count && takt_jinja_step(r, 0); i++) {
        const takt_jv pair = takt_jv_list_new(r, 2);
        if (r->status != TAKT_OK)
            break;
        takt_jv_add(r, pair, d->at[2 * i]);
        takt_jv_add(r, pair, d->at[2 * i + 1]);
        pair.list->is_tuple = true;
        takt_jv_add(r, list, pair);
    }
    return list;
}

const takt_jfunction *takt_jinja_method(takt_jv_kind kind, takt_span name)
{
    static const takt_jfunction texts[] = {{"strip", strip},           {"lstrip", lstrip},
                                           {"rstrip", rstrip},         {"upper", upper},
                                           {"lower", lower},           {"title", title},
                                           {"capitalize", capitalize}, {"startswith", startswith},
                                           {"endswith", endswith},     {"find", find},
                                           {"count", count},           {"replace", replace},
                                           {"split", split},           {"splitlines", splitlines},
                                           {"isdigit", isdigit_},      {"join", join},
                                           {"format", format},         {NULL, NULL}};
    static const takt_jfunction dicts[] = {
        {"get", get}, {"keys", keys}, {"values", values}, {"items", items}, {NULL, NULL}};
    const takt_jfunction *of = kind == TAKT_JV_TEXT ? texts : kind == TAKT_JV_DICT ? dicts : NULL;
    for (; of != NULL && of->name != NULL; of++)
        if (takt_span_is(name, of->name))
            return of;
    return NULL;
}
