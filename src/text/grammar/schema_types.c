/* schema_types.c - strings, numbers and arrays of a schema. */
#include <string.h>

#include "text/grammar/schema.h"

/* A size, which must be a small integer; `fallback` if missing. */
static int64_t size_of(takt_schema *s, const takt_json *v, const char *key, int64_t fallback)
{
    const takt_json *n = takt_json_get(v, key);
    if (n == NULL)
        return fallback;
    if (n->kind != TAKT_JSON_NUMBER || !n->is_integer || n->integer < 0)
        takt_schema_wrong(s, n, "a size is not a whole number");
    else if (n->integer > TAKT_GRAMMAR_SIZE && s->status == TAKT_OK)
        s->status = takt_fail(s->ctx, TAKT_E_GRAMMAR_LIMIT, "schema: %s is %lld, which is too many",
                              key, (long long)n->integer);
    return n->integer;
}

void takt_schema_string(takt_schema *s, takt_text *to, const takt_json *v)
{
    static const char *const formats[] = {"date", "time", "uuid"};
    const takt_json *pattern = takt_json_get(v, "pattern"), *format = takt_json_get(v, "format");
    const int64_t least = size_of(s, v, "minLength", 0), most = size_of(s, v, "maxLength", -1);
    if (pattern != NULL) {
        if (pattern->kind != TAKT_JSON_STRING)
            takt_schema_wrong(s, pattern, "a pattern is a string");
        if (takt_json_get(v, "minLength") != NULL || takt_json_get(v, "maxLength") != NULL)
            takt_schema_refuse(s, v, "a length together with a pattern");
        takt_text_add(to, "\"\\\"\" (");
        if (s->status == TAKT_OK)
            takt_schema_pattern(s, pattern, to);
        takt_text_add(to, ") \"\\\"\"");
        return;
    }
    if (format != NULL && format->kind == TAKT_JSON_STRING) {
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
            if (strcmp(format->text, formats[i]) == 0) {
                takt_text_add(to, "\"\\\"\" %s \"\\\"\"", formats[i]);
                return;
            }
        if (strcmp(format->text, "date-time") == 0) {
            takt_text_add(to, "\"\\\"\" date \"T\" time \"\\\"\"");
            return;
        }
    }
    if (least == 0 && most < 0)
        takt_text_add(to, "string");
    else if (most < 0)
        takt_text_add(to, "\"\\\"\" char{%lld,} \"\\\"\"", (long long)least);
    else
        takt_text_add(to, "\"\\\"\" char{%lld,%lld} \"\\\"\"", (long long)least, (long long)most);
}

/* Few values are listed; ranges from 0 or 1 on have a special form. */
void takt_schema_integer(takt_schema *s, takt_text *to, const takt_json *v)
{
    const takt_json *low = takt_json_get(v, "minimum"), *high = takt_json_get(v, "maximum");
    if (low == NULL && high == NULL) {
        takt_text_add(to, "integer");
    } else if (low != NULL && low->is_integer && high != NULL && high->is_integer &&
               high->integer >= low->integer && high->integer / 2 - low->integer / 2 < 500) {
        for (int64_t i = low->integer;; i++) { /* the last may be the largest integer */
            takt_text_add(to, "%s\"%lld\"", i > low->integer ? " | " : "(", (long long)i);
            if (i == high->integer)
                break;
        }
        takt_text_add(to, ")");
    } else if (high == NULL && low->is_integer && (low->integer == 0 || low->integer == 1)) {
        takt_text_add(to, low->integer == 0 ? "(\"0\" | [1-9] [0-9]{0,15})" : "[1-9] [0-9]{0,15}");
    } else {
        takt_schema_refuse(s, v, "minimum and maximum of a wide range");
    }
}

void takt_schema_number(takt_schema *s, takt_text *to, const takt_json *v)
{
    if (takt_json_get(v, "minimum") != NULL || takt_json_get(v, "maximum") != NULL)
        takt_schema_refuse(s, v, "minimum or maximum of a number");
    takt_text_add(to, "number");
}

/* ( item (, item)* )? with minimum and maximum counts. */
static void put_items(takt_text *to, const char *item, int64_t least, int64_t most)
{
    if (most == 0)
        return;
    takt_text_add(to, "(%s (\",\" ws %s){%lld,", item, item,
                  (long long)(least > 0 ? least - 1 : 0));
    if (most > 0)
        takt_text_add(to, "%lld", (long long)(most - 1));
    takt_text_add(to, "})%s ", least == 0 ? "?" : "");
}

void takt_schema_array(takt_schema *s, takt_text *to, const takt_json *v)
{
    const takt_json *items = takt_json_get(v, "items"), *prefix = takt_json_get(v, "prefixItems");
    const int64_t least = size_of(s, v, "minItems", 0), most = size_of(s, v, "maxItems", -1);
    takt_text item, body;
    takt_text_init(&item, s->ctx);
    takt_text_init(&body, s->ctx);
    takt_text_add(&body, "\"[\" ws ");
    if (most >= 0 && most < least)
        takt_schema_wrong(s, v, "maxItems is less than minItems");
    if (prefix != NULL) {
        for (const takt_json *i = takt_json_first(prefix); i != NULL; i = takt_json_next(i)) {
            takt_text_add(&body, "%s", i == takt_json_first(prefix) ? "" : " \",\" ws ");
            takt_schema_put(s, &body, i);
        }
        if (least > prefix->count || (most >= 0 && most < prefix->count))
            takt_schema_refuse(s, v, "minItems or maxItems together with prefixItems");
        takt_text_add(&body, " ");
    } else {
        if (items != NULL)
            takt_schema_put(s, &item, items);
        else
            takt_text_add(&item, "value");
        if (s->status == TAKT_OK)
            put_items(&body, takt_text_get(&item), least, most);
    }
    takt_text_add(&body, "ws \"]\"");
    if (item.status != TAKT_OK && s->status == TAKT_OK)
        s->status = item.status;
    takt_text_deinit(&item);
    takt_schema_rule(s, to, &body);
}
