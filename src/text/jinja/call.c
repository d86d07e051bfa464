/* call.c - calls of macros, and the functions that every template has. */
#include <stdio.h>
#include <string.h>

#include "text/jinja/jinja.h"

takt_jv takt_jarg(const takt_jargs *args, size_t index, const char *name, takt_jv fallback)
{
    if (index < args->plain)
        return args->at[index];
    for (size_t i = args->plain; name != NULL && i < args->count; i++)
        if (takt_span_is(args->names[i], name))
            return args->at[i];
    return fallback;
}

bool takt_jarg_has(const takt_jargs *args, size_t index, const char *name)
{
    if (index < args->plain)
        return true;
    for (size_t i = args->plain; name != NULL && i < args->count; i++)
        if (takt_span_is(args->names[i], name))
            return true;
    return false;
}

/* ---- macros ---- */

static bool named_argument(const takt_jargs *args, takt_span name, takt_jv *value)
{
    for (size_t i = 0; i < args->count; i++)
        if (args->names[i].length == name.length && name.length > 0 &&
            memcmp(args->names[i].at, name.at, name.length) == 0) {
            *value = args->at[i];
            return true;
        }
    return false;
}

static takt_jv call_macro(takt_jrun *r, const takt_jv_macro *m, const takt_jargs *args)
{
    takt_jframe inner = {.parent = m->frame};
    takt_text text, *out = r->out;
    size_t i = 0;
    for (const takt_jnode *p = m->node->a->first; p != NULL && r->status == TAKT_OK;
         p = p->next, i++) {
        takt_jv value = takt_jv_undefined();
        if (i < args->plain)
            value = args->at[i];
        else if (!named_argument(args, p->text, &value) && p->a != NULL)
            value = takt_jinja_eval(r, &inner, p->a);
        takt_jframe_set(r, &inner, p->text, value);
    }
    if (args->plain > i)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "macro %.*s takes %zu arguments, not %zu",
                        (int)(m->node->text.length < 60 ? m->node->text.length : 60),
                        m->node->text.at, i, args->plain);
    takt_text_init(&text, r->ctx);
    r->out = &text;
    const int leaves = r->leaves;
    r->leaves = 0;
    takt_jinja_body(r, &inner, m->node->first);
    r->leaves = leaves;
    r->out = out;
    return takt_jv_gathered(r, &text);
}

takt_jv takt_jinja_call(takt_jrun *r, takt_jv callee, const takt_jargs *args)
{
    if (callee.kind == TAKT_JV_MACRO)
        return call_macro(r, callee.macro, args);
    if (callee.kind == TAKT_JV_FUNCTION)
        return callee.function->run(r, args);
    takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%s cannot be called", takt_jv_kind_name(callee));
    return takt_jv_undefined();
}

/* ---- functions ---- */

static takt_jv raise_exception(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv text = takt_jv_to_text(r, takt_jarg(args, 0, "message", takt_jv_word("")));
    if (r->status == TAKT_OK)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "the template says: %.*s",
                        (int)(text.text.length < 300 ? text.text.length : 300), text.text.at);
    return takt_jv_undefined();
}

static takt_jv name_space(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv space = takt_jv_dict_new(r, 8);
    if (r->status != TAKT_OK)
        return space;
    space.dict->is_namespace = true;
    const takt_jv from = args->plain > 0 ? args->at[0] : takt_jv_none();
    for (size_t i = 0; from.kind == TAKT_JV_DICT && i < from.dict->count; i++)
        takt_jv_put(r, space, from.dict->at[2 * i], from.dict->at[2 * i + 1]);
    for (size_t i = args->plain; i < args->count; i++)
        takt_jv_put(r, space, takt_jv_span(args->names[i]), args->at[i]);
    return space;
}

static takt_jv dict(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv d = name_space(r, args);
    if (r->status == TAKT_OK)
        d.dict->is_namespace = false;
    return d;
}

static takt_jv range(takt_jrun *r, const takt_jargs *args)
{
    const int64_t first = args->plain > 0 ? takt_jv_integer(r, args->at[0]) : 0;
    const int64_t from = args->plain > 1 ? first : 0;
    const int64_t to = args->plain > 1 ? takt_jv_integer(r, args->at[1]) : first;
    const int64_t step = args->plain > 2 ? takt_jv_integer(r, args->at[2]) : 1;
    const takt_jv list = takt_jv_list_new(r, 8);
    if (step == 0 || args->plain == 0)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "range needs an end, and a step that is not 0");
    for (int64_t i = from; (step > 0 ? i < to : i > to) && takt_jinja_step(r, 0);) {
        takt_jv_add(r, list, takt_jv_int(i));
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    return list;
}

/* ---- the date ---- */

typedef struct moment {
    int64_t year, day, hour, minute, second;
    int month, weekday; /* from 0 */
} moment;

/* Days since 1970 as a date of the Gregorian calendar, by eras of 400 years from March 1. */
static moment moment_of(int64_t seconds)
{
    const int64_t days = seconds / 86400, rest = seconds % 86400;
    const int64_t z = days + 719468, era = z / 146097, in_era = z % 146097;
    const int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    const int64_t in_year = in_era - (365 * y + y / 4 - y / 100);
    const int64_t mp = (5 * in_year + 2) / 153;
    const int month = (int)(mp < 10 ? mp + 2 : mp - 10);
    return (moment){.year = y + era * 400 + (month <= 1),
                    .month = month,
                    .day = in_year - (153 * mp + 2) / 5 + 1,
                    .hour = rest / 3600,
                    .minute = rest / 60 % 60,
                    .second = rest % 60,
                    .weekday = (int)((days + 4) % 7)};
}

static bool put_field(takt_text *to, char field, const moment *m)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    switch (field) {
    case 'Y': takt_text_add(to, "%lld", (long long)m->year); return true;
    case 'y': takt_text_add(to, "%02d", (int)(m->year % 100)); return true;
    case 'm': takt_text_add(to, "%02d", m->month + 1); return true;
    case 'd': takt_text_add(to, "%02d", (int)m->day); return true;
    case 'H': takt_text_add(to, "%02d", (int)m->hour); return true;
    case 'M': takt_text_add(to, "%02d", (int)m->minute); return true;
    case 'S': takt_text_add(to, "%02d", (int)m->second); return true;
    case 'B': takt_text_add(to, "%s", months[m->month]); return true;
    case 'b': takt_text_add(to, "%.3s", months[m->month]); return true;
    case 'A': takt_text_add(to, "%s", days[m->weekday]); return true;
    case 'a': takt_text_add(to, "%.3s", days[m->weekday]); return true;
    case '%': takt_text_add(to, "%%"); return true;
    default: return false;
    }
}

static takt_jv strftime_now(takt_jrun *r, const takt_jargs *args)
{
    const takt_jv format = takt_jv_to_text(r, takt_jarg(args, 0, "format", takt_jv_word("")));
    takt_text text;
    if (r->seconds < 0)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED,
                        "the template asks for the date, which was not "
                        "given");
    if (r->status != TAKT_OK)
        return format;
    const moment m = moment_of(r->seconds);
    takt_text_init(&text, r->ctx);
    for (size_t i = 0; i < format.text.length && takt_jinja_step(r, 0); i++) {
        const char c = format.text.at[i];
        const bool is_field = c == '%' && i + 1 < format.text.length;
        if (!is_field)
            takt_text_put(&text, &c, 1);
        else if (!put_field(&text, format.text.at[++i], &m))
            takt_jinja_stop(r, TAKT_E_TEMPLATE_UNSUPPORTED, "a date has no %%%c here",
                            format.text.at[i] >= 0x20 ? format.text.at[i] : '?');
    }
    return takt_jv_gathered(r, &text);
}

const takt_jfunction *takt_jinja_function(takt_span name)
{
    static const takt_jfunction functions[] = {{"raise_exception", raise_exception},
                                               {"namespace", name_space},
                                               {"dict", dict},
                                               {"range", range},
                                               {"strftime_now", strftime_now}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (takt_span_is(name, functions[i].name))
            return &functions[i];
    return NULL;
}
