/* test.c - what can follow "is". */
#include <string.h>

#include "text/jinja/jinja.h"

#define TEST(name, condition)                                                                      \
    static takt_jv name(takt_jrun *r, const takt_jargs *args)                                      \
    {                                                                                              \
        const takt_jv v = args->at[0];                                                             \
        (void)r;                                                                                   \
        return takt_jv_bool(condition);                                                            \
    }

static bool has_case(takt_span text, bool wants_upper)
{
    bool has = false;
    for (size_t i = 0; i < text.length; i++) {
        const bool is_upper = text.at[i] >= 'A' && text.at[i] <= 'Z';
        const bool is_lower = text.at[i] >= 'a' && text.at[i] <= 'z';
        if (wants_upper ? is_lower : is_upper)
            return false;
        has = has || is_upper || is_lower;
    }
    return has;
}

static bool compares(takt_jrun *r, const takt_jargs *args, const char *sign)
{
    return takt_jinja_compare(r, takt_span_of(sign), args->at[0],
                              takt_jarg(args, 1, NULL, takt_jv_undefined()));
}

static int64_t remainder_of(takt_jrun *r, takt_jv v, takt_jv by)
{
    const int64_t a = takt_jv_integer(r, v), b = takt_jv_integer(r, by);
    if (b == 0)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "division by zero");
    return b == 0 || b == -1 ? 0 : a % b;
}

TEST(is_defined, v.kind != TAKT_JV_UNDEFINED)
TEST(is_undefined, v.kind == TAKT_JV_UNDEFINED)
TEST(is_none, v.kind == TAKT_JV_NONE)
TEST(is_string, v.kind == TAKT_JV_TEXT)
TEST(is_number, takt_jv_is_number(v))
TEST(is_integer, v.kind == TAKT_JV_INT)
TEST(is_float, v.kind == TAKT_JV_FLOAT)
TEST(is_boolean, v.kind == TAKT_JV_BOOL)
TEST(is_true, v.kind == TAKT_JV_BOOL && v.boolean)
TEST(is_false, v.kind == TAKT_JV_BOOL && !v.boolean)
TEST(is_mapping, v.kind == TAKT_JV_DICT)
TEST(is_iterable, v.kind == TAKT_JV_LIST || v.kind == TAKT_JV_DICT || v.kind == TAKT_JV_TEXT ||
                      v.kind == TAKT_JV_UNDEFINED)
TEST(is_sequence, v.kind == TAKT_JV_LIST || v.kind == TAKT_JV_DICT || v.kind == TAKT_JV_TEXT ||
                      v.kind == TAKT_JV_UNDEFINED)
TEST(is_callable, v.kind == TAKT_JV_MACRO || v.kind == TAKT_JV_FUNCTION)
TEST(is_lower, v.kind == TAKT_JV_TEXT && has_case(v.text, false))
TEST(is_upper, v.kind == TAKT_JV_TEXT && has_case(v.text, true))
TEST(is_even, remainder_of(r, v, takt_jv_int(2)) == 0)
TEST(is_odd, remainder_of(r, v, takt_jv_int(2)) != 0)
TEST(is_divisible, remainder_of(r, v, takt_jarg(args, 1, "num", takt_jv_int(0))) == 0)
TEST(is_equal, v.kind <= TAKT_JV_FUNCTION && compares(r, args, "=="))
TEST(is_unequal, v.kind <= TAKT_JV_FUNCTION && compares(r, args, "!="))
TEST(is_less, v.kind <= TAKT_JV_FUNCTION && compares(r, args, "<"))
TEST(is_at_most, v.kind <= TAKT_JV_FUNCTION && compares(r, args, "<="))
TEST(is_more, v.kind <= TAKT_JV_FUNCTION && compares(r, args, ">"))
TEST(is_at_least, v.kind <= TAKT_JV_FUNCTION && compares(r, args, ">="))
TEST(is_in, v.kind <= TAKT_JV_FUNCTION && compares(r, args, "in"))
TEST(is_same,
     v.kind == takt_jarg(args, 1, "other", takt_jv_undefined()).kind && compares(r, args, "=="))

const takt_jfunction *takt_jinja_test(takt_span name)
{
    static const takt_jfunction tests[] = {
        {"defined", is_defined},
        {"undefined", is_undefined},
        {"none", is_none},
        {"string", is_string},
        {"number", is_number},
        {"integer", is_integer},
        {"float", is_float},
        {"boolean", is_boolean},
        {"true", is_true},
        {"false", is_false},
        {"mapping", is_mapping},
        {"iterable", is_iterable},
        {"sequence", is_sequence},
        {"callable", is_callable},
        {"lower", is_lower},
        {"upper", is_upper},
        {"even", is_even},
        {"odd", is_odd},
        {"divisibleby", is_divisible},
        {"equalto", is_equal},
        {"eq", is_equal},
        {"ne", is_unequal},
        {"lt", is_less},
        {"lessthan", is_less},
        {"le", is_at_most},
        {"gt", is_more},
        {"greaterthan", is_more},
        {"ge", is_at_least},
        {"in", is_in},
        {"sameas", is_same},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (takt_span_is(name, tests[i].name))
            return &tests[i];
    return NULL;
}
