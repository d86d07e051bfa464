/* filter_list.c - filters of lists: choosing, joining, ordering. */
#include "text/jinja/filter.h"

static takt_jv to_list(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv from = takt_jv_items(r, args->at[0]);
    const takt_jv list = takt_jv_list_new(r, 8);
    for (size_t i = 0; r->status == TAKT_OK && i < from.list->count; i++)
        takt_jv_add(r, list, from.list->at[i]);
    return list;
}

/* a.b.c or a number: the attribute of a filter. */
static takt_jv attribute(takt_jrun *r, takt_jv v, takt_jv name)
{
    if (name.kind != TAKT_JV_TEXT)
        return takt_jinja_index(r, v, name);
    for (size_t i = 0; i <= name.text.length && r->status == TAKT_OK;) {
        size_t end = i;
        while (end < name.text.length && name.text.at[end] != '.')
            end++;
        const takt_span part = {name.text.at + i, end - i};
        v = v.kind == TAKT_JV_DICT ? takt_jinja_index(r, v, takt_jv_span(part))
                                   : takt_jv_undefined();
        i = end + 1;
    }
    return v;
}

static takt_jv join(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv from = takt_jv_items(r, args->at[0]);
    const takt_jv between = takt_jv_to_text(r, takt_jarg(args, 1, "d", takt_jv_word("")));
    const bool by_attribute = takt_jarg_has(args, 2, "attribute");
    const takt_jv name = takt_jarg(args, 2, "attribute", takt_jv_none());
    takt_text text;
    takt_text_init(&text, r->ctx);
    for (size_t i = 0; r->status == TAKT_OK && i < from.list->count; i++) {
        const takt_jv item = from.list->at[i];
        if (i > 0)
            takt_text_put(&text, between.text.at, between.text.length);
        takt_jv_write(r, &text, by_attribute ? attribute(r, item, name) : item, false);
    }
    return takt_jv_gathered(r, &text);
}

static takt_jv end_of(takt_jrun *r, const takt_jargs *args, bool is_last)
{
    const takt_jv from = takt_jv_items(r, args->at[0]);
    if (r->status != TAKT_OK || from.list->count == 0)
        return takt_jv_undefined();
    return from.list->at[is_last ? from.list->count - 1 : 0];
}

static takt_jv first(takt_jrun *r, const takt_jargs *args)
{
    return end_of(r, args, false);
}

static takt_jv last(takt_jrun *r, const takt_jargs *args)
{
    return end_of(r, args, true);
}

static takt_jv reversed(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv none = takt_jv_none();
    const takt_jv bounds[3] = {none, none, takt_jv_int(-1)};
    const takt_jv v = args->at[0];
    return takt_jinja_slice(r, v.kind == TAKT_JV_DICT ? takt_jv_items(r, v) : v, bounds);
}

/* ---- choosing ---- */

/* Applies the test named by the arguments from `at` on; the value's truth if they name none. */
static bool passes(takt_jrun *r, const takt_jargs *args, size_t at, takt_jv v)
{
    if (at >= args->plain)
        return takt_jv_truth(v);
    const takt_jv name = args->at[at];
    const takt_jfunction *test = name.kind == TAKT_JV_TEXT ? takt_jinja_test(name.text) : NULL;
    if (name.kind == TAKT_JV_TEXT && takt_span_is(name.text, "=="))
        test = takt_jinja_test(takt_span_of("eq"));
    if (test == NULL) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_UNSUPPORTED,
                        "a filter asks for a test that is not "
                        "there");
        return false;
    }
    takt_jargs given = {.at = {v}, .count = 1, .plain = 1};
    for (size_t i = at + 1; i < args->plain; i++)
        given.at[given.count++] = args->at[i];
    given.plain = given.count;
    return takt_jv_truth(test->run(r, &given));
}

/* Empty for empty input: `none` has no items, but may be selected from. */
static takt_jv items_of(takt_jrun *r, takt_jv v)
{
    return takt_jv_items(r, takt_jv_truth(v) ? v : takt_jv_undefined());
}

static takt_jv choose(takt_jrun *r, const takt_jargs *args, bool by_attribute, bool wanted)
{
    const takt_jv from = items_of(r, args->at[0]);
    const takt_jv list = takt_jv_list_new(r, 8);
    for (size_t i = 0; r->status == TAKT_OK && i < from.list->count; i++) {
        const takt_jv item = from.list->at[i];
        const takt_jv looked =
            by_attribute ? attribute(r, item, takt_jarg(args, 1, NULL, takt_jv_none())) : item;
        if (takt_jinja_step(r, 0) && passes(r, args, by_attribute ? 2 : 1, looked) == wanted)
            takt_jv_add(r, list, item);
    }
    return list;
}

static takt_jv select_items(takt_jrun *r, const takt_jargs *args)
{
    return choose(r, args, false, true);
}

static takt_jv reject(takt_jrun *r, const takt_jargs *args)
{
    return choose(r, args, false, false);
}

static takt_jv select_attribute(takt_jrun *r, const takt_jargs *args)
{
    return choose(r, args, true, true);
}

static takt_jv reject_attribute(takt_jrun *r, const takt_jargs *args)
{
    return choose(r, args, true, false);
}

/* map(attribute="name"), or map("filter", more). */
static takt_jv map(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv from = items_of(r, args->at[0]);
    const takt_jv list = takt_jv_list_new(r, 8);
    const takt_jv name = takt_jarg(args, SIZE_MAX, "attribute", takt_jv_undefined());
    const takt_jv other = takt_jarg(args, SIZE_MAX, "default", takt_jv_undefined());
    const takt_jv filter = takt_jarg(args, 1, NULL, takt_jv_undefined());
    const takt_jfunction *function =
        filter.kind == TAKT_JV_TEXT ? takt_jinja_filter(filter.text) : NULL;
    if (name.kind == TAKT_JV_UNDEFINED && function == NULL)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_UNSUPPORTED, "map by a filter that is not there");
    for (size_t i = 0; r->status == TAKT_OK && i < from.list->count; i++) {
        takt_jargs given = {.at = {from.list->at[i]}, .count = 1, .plain = 1};
        for (size_t k = 2; k < args->count; k++) {
            given.names[given.count] = args->names[k];
            given.at[given.count++] = args->at[k];
            given.plain += k < args->plain;
        }
        takt_jv v = name.kind != TAKT_JV_UNDEFINED ? attribute(r, from.list->at[i], name)
                                                   : function->run(r, &given);
        if (v.kind == TAKT_JV_UNDEFINED && name.kind != TAKT_JV_UNDEFINED)
            v = other;
        if (takt_jinja_step(r, 0))
            takt_jv_add(r, list, v);
    }
    return list;
}

/* ---- ordering ---- */

static takt_jv folded(takt_jrun *r, takt_jv v, bool has_case)
{
    if (has_case || v.kind != TAKT_JV_TEXT || r->status != TAKT_OK)
        return v;
    const takt_jargs args = {.at = {v}, .count = 1, .plain = 1};
    return takt_jinja_method(TAKT_JV_TEXT, takt_span_of("lower"))->run(r, &args);
}

/* Insertion sort, which is stable; each comparison counts a step. */
static void sort(takt_jrun *r, takt_jv items, takt_jv keys, bool is_back)
{
    for (size_t i = 1; r->status == TAKT_OK && i < items.list->count; i++) {
        const takt_jv item = items.list->at[i], key = keys.list->at[i];
        size_t at = i;
        while (at > 0 && takt_jinja_step(r, 0)) {
            const int order = takt_jv_order(r, keys.list->at[at - 1], key);
            if (is_back ? order >= 0 : order <= 0)
                break;
            items.list->at[at] = items.list->at[at - 1];
            keys.list->at[at] = keys.list->at[at - 1];
            at--;
        }
        items.list->at[at] = item;
        keys.list->at[at] = key;
    }
}

static takt_jv sorted(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv list = to_list(r, args), keys = takt_jv_list_new(r, 8);
    const bool is_back = takt_jv_truth(takt_jarg(args, 1, "reverse", takt_jv_none()));
    const bool has_case = takt_jv_truth(takt_jarg(args, 2, "case_sensitive", takt_jv_none()));
    const takt_jv name = takt_jarg(args, 3, "attribute", takt_jv_undefined());
    for (size_t i = 0; r->status == TAKT_OK && i < list.list->count; i++) {
        const takt_jv item = list.list->at[i];
        const takt_jv key = name.kind == TAKT_JV_UNDEFINED ? item : attribute(r, item, name);
        takt_jv_add(r, keys, folded(r, key, has_case));
    }
    if (r->status == TAKT_OK)
        sort(r, list, keys, is_back);
    return list;
}

static takt_jv dict_sorted(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv v = args->at[0];
    const bool has_case = takt_jv_truth(takt_jarg(args, 1, "case_sensitive", takt_jv_none()));
    const takt_jv by = takt_jarg(args, 2, "by", takt_jv_word("key"));
    const bool is_back = takt_jv_truth(takt_jarg(args, 3, "reverse", takt_jv_none()));
    const bool by_value = by.kind == TAKT_JV_TEXT && takt_span_is(by.text, "value");
    const takt_jv keys = takt_jv_list_new(r, 8);
    if (v.kind != TAKT_JV_DICT)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "dictsort of %s", takt_jv_kind_name(v));
    if (r->status != TAKT_OK)
        return v;
    const takt_jv items = takt_jinja_method(TAKT_JV_DICT, takt_span_of("items"))->run(r, args);
    for (size_t i = 0; r->status == TAKT_OK && i < v.dict->count; i++)
        takt_jv_add(r, keys, folded(r, v.dict->at[2 * i + by_value], has_case));
    if (r->status == TAKT_OK)
        sort(r, items, keys, is_back);
    return items;
}

static takt_jv unique(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv from = takt_jv_items(r, args->at[0]);
    const takt_jv list = takt_jv_list_new(r, 8);
    for (size_t i = 0; r->status == TAKT_OK && i < from.list->count; i++)
        if (!takt_jinja_compare(r, takt_span_of("in"), from.list->at[i], list) &&
            takt_jinja_step(r, list.list->count))
            takt_jv_add(r, list, from.list->at[i]);
    return list;
}

static takt_jv extreme(takt_jrun *r, const takt_jargs *args, int wanted)
{
    const takt_jv from = takt_jv_items(r, args->at[0]);
    if (r->status != TAKT_OK || from.list->count == 0)
        return takt_jv_undefined();
    takt_jv best = from.list->at[0];
    for (size_t i = 1; takt_jinja_step(r, 0) && i < from.list->count; i++) {
        const int order = takt_jv_order(r, from.list->at[i], best);
        if (wanted < 0 ? order < 0 : order > 0)
            best = from.list->at[i];
    }
    return best;
}

static takt_jv least(takt_jrun *r, const takt_jargs *args)
{
    return extreme(r, args, -1);
}

static takt_jv most(takt_jrun *r, const takt_jargs *args)
{
    return extreme(r, args, 1);
}

static takt_jv sum(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv from = takt_jv_items(r, args->at[0]);
    const takt_jv name = takt_jarg(args, 1, "attribute", takt_jv_none());
    takt_jv total = takt_jarg(args, 2, "start", takt_jv_int(0));
    for (size_t i = 0; r->status == TAKT_OK && i < from.list->count; i++) {
        const takt_jv item = from.list->at[i];
        total = takt_jinja_binary(r, takt_span_of("+"), total,
                                  name.kind == TAKT_JV_NONE ? item : attribute(r, item, name));
    }
    return total;
}

const takt_jfunction takt_jinja_list_filters[] = {
    {"list", to_list},
    {"join", join},
    {"first", first},
    {"last", last},
    {"reverse", reversed},
    {"select", select_items},
    {"reject", reject},
    {"selectattr", select_attribute},
    {"rejectattr", reject_attribute},
    {"map", map},
    {"sort", sorted},
    {"dictsort", dict_sorted},
    {"unique", unique},
    {"min", least},
    {"max", most},
    {"sum", sum},
};
const size_t takt_jinja_list_filter_count =
    sizeof takt_jinja_list_filters / sizeof *takt_jinja_list_filters;
