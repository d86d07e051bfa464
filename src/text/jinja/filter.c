/* filter.c - filters of one value: its text, its number, its JSON. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "text/jinja/filter.h"

static bool is_texts(takt_jv v, size_t count)
{
    bool good = v.kind == TAKT_JV_LIST && v.list->count == count;
    for (size_t i = 0; good && i < count; i++)
        good = v.list->at[i].kind == TAKT_JV_TEXT;
    return good;
}

static takt_jv to_json(takt_jrun *r, const takt_jargs *args)
{
    takt_text text;
    const takt_jv indent = takt_jarg(args, 1, "indent", takt_jv_none());
    const takt_jv marks = takt_jarg(args, SIZE_MAX, "separators", takt_jv_none());
    takt_jv_json style = {
        .indent = indent.kind == TAKT_JV_NONE ? -1 : takt_jv_integer(r, indent),
        .sorts = takt_jv_truth(takt_jarg(args, SIZE_MAX, "sort_keys", takt_jv_none())),
        .is_ascii = takt_jv_truth(takt_jarg(args, SIZE_MAX, "ensure_ascii", takt_jv_none())),
        .colon = {": ", 2}};
    style.comma = (takt_span){", ", style.indent < 0 ? 2 : 1};
    if (is_texts(marks, 2)) {
        style.comma = marks.list->at[0].text;
        style.colon = marks.list->at[1].text;
    } else if (marks.kind != TAKT_JV_NONE) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "separators of tojson are two strings");
    }
    takt_text_init(&text, r->ctx);
    takt_jv_write_json(r, &text, args->at[0], style);
    return takt_jv_gathered(r, &text);
}

static takt_jv to_string(takt_jrun *r, const takt_jargs *args)
{
    return takt_jv_to_text(r, args->at[0]);
}

static takt_jv same(takt_jrun *r, const takt_jargs *args)
{
    (void)r;
    return args->at[0];
}

static takt_jv fallback(takt_jrun *r, const takt_jargs *args)
{
    const bool empty_too = takt_jv_truth(takt_jarg(args, 2, "boolean", takt_jv_bool(false)));
    const takt_jv v = args->at[0];
    (void)r;
    return v.kind == TAKT_JV_UNDEFINED || (empty_too && !takt_jv_truth(v))
               ? takt_jarg(args, 1, "default_value", takt_jv_word(""))
               : v;
}

static takt_jv length(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv v = args->at[0];
    if (v.kind == TAKT_JV_DICT)
        return takt_jv_int((int64_t)v.dict->count);
    const takt_jv items = takt_jv_items(r, v);
    return takt_jv_int(r->status == TAKT_OK ? (int64_t)items.list->count : 0);
}

/* ---- numbers ---- */

static takt_jv to_int(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv v = args->at[0], other = takt_jarg(args, 1, "default", takt_jv_int(0));
    double number = takt_jv_is_number(v) ? takt_jv_double(v) : NAN;
    (void)r;
    if (v.kind == TAKT_JV_INT)
        return v;
    if (v.kind == TAKT_JV_TEXT && !takt_number_read(v.text.at, v.text.length, &number))
        number = NAN;
    return fabs(number) < 0x1p62 ? takt_jv_int((int64_t)number) : other;
}

static takt_jv to_float(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv v = args->at[0];
    double number = takt_jv_double(v);
    (void)r;
    if (v.kind == TAKT_JV_TEXT && !takt_number_read(v.text.at, v.text.length, &number))
        return takt_jarg(args, 1, "default", takt_jv_float(0));
    return takt_jv_float(number);
}

static takt_jv absolute(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv v = args->at[0];
    if (v.kind == TAKT_JV_FLOAT)
        return takt_jv_float(fabs(v.number));
    const int64_t i = takt_jv_integer(r, v);
    return takt_jv_int(i < 0 && i > INT64_MIN ? -i : i);
}

static takt_jv rounded(takt_jrun *r, const takt_jargs *args)
{
    const int64_t digits = takt_jv_integer(r, takt_jarg(args, 1, "precision", takt_jv_int(0)));
    const takt_jv method = takt_jarg(args, 2, "method", takt_jv_word("common"));
    const double scale = pow(10, (double)(digits > 300 ? 300 : digits < -300 ? -300 : digits));
    const double x = takt_jv_double(args->at[0]) * scale;
    const bool is_text = method.kind == TAKT_JV_TEXT;
    const double y = is_text && takt_span_is(method.text, "ceil")    ? ceil(x)
                     : is_text && takt_span_is(method.text, "floor") ? floor(x)
                                                                     : rint(x);
    return takt_jv_float(y / scale);
}

/* ---- texts ---- */

static takt_jv indented(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv v = takt_jv_to_text(r, args->at[0]);
    const takt_jv width = takt_jarg(args, 1, "width", takt_jv_int(4));
    const bool first = takt_jv_truth(takt_jarg(args, 2, "first", takt_jv_bool(false)));
    const bool blank = takt_jv_truth(takt_jarg(args, 3, "blank", takt_jv_bool(false)));
    takt_text text;
    if (r->status != TAKT_OK)
        return v;
    const int64_t given = width.kind == TAKT_JV_TEXT ? 0 : takt_jv_integer(r, width);
    const int64_t spaces = given < 0 ? 0 : given > 256 ? 256 : given;
    takt_text_init(&text, r->ctx);
    for (size_t i = 0; i < v.text.length && takt_jinja_step(r, 0);) {
        const char *end = memchr(v.text.at + i, '\n', v.text.length - i);
        const size_t line = (end != NULL ? (size_t)(end - v.text.at) : v.text.length) - i;
        const bool shifts = (i > 0 || first) && (line > 0 || blank);
        if (shifts && width.kind == TAKT_JV_TEXT)
            takt_text_put(&text, width.text.at, width.text.length);
        for (int64_t k = 0; shifts && k < spaces; k++)
            takt_text_put(&text, " ", 1);
        takt_text_put(&text, v.text.at + i, line + (end != NULL));
        i += line + 1;
        if (text.length > TAKT_JINJA_OUTPUT)
            takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "a text is too long");
    }
    return takt_jv_gathered(r, &text);
}

static takt_jv escaped(takt_jrun *r, const takt_jargs *args)
{
    static const char signs[] = "&<>'\"";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const takt_jv v = takt_jv_to_text(r, args->at[0]);
    takt_text text;
    if (r->status != TAKT_OK)
        return v;
    takt_text_init(&text, r->ctx);
    (void)takt_jinja_step(r, v.text.length);
    for (size_t i = 0; i < v.text.length; i++) {
        const char *known = v.text.at[i] != '\0' ? strchr(signs, v.text.at[i]) : NULL;
        if (known != NULL)
            takt_text_add(&text, "%s", names[known - signs]);
        else
            takt_text_put(&text, &v.text.at[i], 1);
    }
    return takt_jv_gathered(r, &text);
}

/* Methods of strings that are also filters; other values are converted to text. */
static takt_jv by_method(takt_jrun *r, const takt_jargs *args, const char *name)
{
    takt_jargs given = *args;
    given.at[0] = takt_jv_to_text(r, args->at[0]);
    if (r->status != TAKT_OK)
        return given.at[0];
    return takt_jinja_method(TAKT_JV_TEXT, takt_span_of(name))->run(r, &given);
}

#define METHOD(function, name)                                                                     \
    static takt_jv function(takt_jrun *r, const takt_jargs *args)                                  \
    {                                                                                              \
        return by_method(r, args, name);                                                           \
    }

METHOD(trim, "strip")
METHOD(upper, "upper")
METHOD(lower, "lower")
METHOD(title, "title")
METHOD(capitalize, "capitalize")
METHOD(replace, "replace")

static takt_jv items(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv v = args->at[0];
    if (v.kind == TAKT_JV_UNDEFINED)
        return takt_jv_list_new(r, 0);
    if (v.kind != TAKT_JV_DICT) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "items of %s", takt_jv_kind_name(v));
        return v;
    }
    return takt_jinja_method(TAKT_JV_DICT, takt_span_of("items"))->run(r, args);
}

const takt_jfunction *takt_jinja_filter(takt_span name)
{
    static const takt_jfunction filters[] = {
        {"tojson", to_json},        {"string", to_string}, {"safe", same},
        {"default", fallback},      {"d", fallback},       {"length", length},
        {"count", length},          {"int", to_int},       {"float", to_float},
        {"abs", absolute},          {"round", rounded},    {"indent", indented},
        {"escape", escaped},        {"e", escaped},        {"trim", trim},
        {"upper", upper},           {"lower", lower},      {"title", title},
        {"capitalize", capitalize}, {"replace", replace},  {"items", items},
    };
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (takt_span_is(name, filters[i].name))
            return &filters[i];
    for (size_t i = 0; i < takt_jinja_list_filter_count; i++)
        if (takt_span_is(name, takt_jinja_list_filters[i].name))
            return &takt_jinja_list_filters[i];
    return NULL;
}
