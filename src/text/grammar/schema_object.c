/* schema_object.c - objects of a schema: their properties in order, each present or not. */
#include <string.h>

#include "base/mem.h"
#include "text/grammar/schema.h"

typedef struct property {
    const char *name;
    const takt_json *schema; /* NULL: any value */
    bool is_needed;
} property;

typedef struct properties {
    property at[SCHEMA_PROPERTIES];
    size_t count;
} properties;

static property *find(properties *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->at[i].name, name) == 0)
            return &p->at[i];
    return NULL;
}

static property *find_or_add(takt_schema *s, properties *p, const takt_json *where,
                             const char *name)
{
    property *found = find(p, name);
    if (found != NULL)
        return found;
    if (p->count == SCHEMA_PROPERTIES) {
        takt_schema_refuse(s, where, "an object with that many properties");
        return NULL;
    }
    p->at[p->count] = (property){.name = name};
    return &p->at[p->count++];
}

/* Gathers the properties of a schema, and of everything that allOf adds. */
static void gather(takt_schema *s, properties *p, const takt_json *v, int depth)
{
    const takt_json *own = takt_json_get(v, "properties"), *all = takt_json_get(v, "allOf");
    const takt_json *needed = takt_json_get(v, "required");
    if (depth > 8 || takt_json_get(v, "$ref") != NULL || takt_json_get(v, "anyOf") != NULL ||
        takt_json_get(v, "oneOf") != NULL || takt_json_get(v, "enum") != NULL)
        takt_schema_refuse(s, v, "allOf of something else than plain objects");
    for (const takt_json *i = own != NULL && own->kind == TAKT_JSON_OBJECT ? takt_json_first(own)
                                                                           : NULL;
         i != NULL; i = takt_json_next(i)) {
        property *one = find_or_add(s, p, i, i->key);
        if (one != NULL)
            one->schema = i;
    }
    for (const takt_json *i = needed != NULL ? takt_json_first(needed) : NULL; i != NULL;
         i = takt_json_next(i)) {
        property *one = i->kind == TAKT_JSON_STRING ? find_or_add(s, p, i, i->text) : NULL;
        if (one != NULL)
            one->is_needed = true;
    }
    for (const takt_json *i = all != NULL ? takt_json_first(all) : NULL;
         i != NULL && s->status == TAKT_OK; i = takt_json_next(i)) {
        if (i->kind == TAKT_JSON_OBJECT)
            gather(s, p, i, depth + 1);
        else
            takt_schema_refuse(s, i, "allOf of something else than plain objects");
    }
}

/* The name as JSON, a colon, and the value. */
static void put_pair(takt_schema *s, takt_text *to, const property *p)
{
    takt_text key;
    takt_json_writer w;
    takt_text_init(&key, s->ctx);
    takt_json_begin(&w, &key, false);
    takt_json_string(&w, p->name);
    takt_text_put(&key, ":", 1);
    takt_schema_literal(to, takt_text_get(&key), key.length);
    if (key.status != TAKT_OK && s->status == TAKT_OK)
        s->status = key.status;
    takt_text_deinit(&key);
    takt_text_add(to, " ws ");
    if (p->schema != NULL)
        takt_schema_put(s, to, p->schema);
    else
        takt_text_add(to, "value");
}

/* A map: any names, with values of one schema. */
static void put_map(takt_schema *s, takt_text *to, const takt_json *values)
{
    takt_text value;
    takt_text_init(&value, s->ctx);
    if (values != NULL && values->kind == TAKT_JSON_OBJECT)
        takt_schema_put(s, &value, values);
    else
        takt_text_add(&value, "value");
    const bool is_empty = values != NULL && values->kind == TAKT_JSON_BOOL && !values->boolean;
    const char *v = takt_text_get(&value);
    if (is_empty)
        takt_text_add(to, "\"{\" ws \"}\"");
    else
        takt_text_add(to, "\"{\" ws (string \":\" ws %s (\",\" ws string \":\" ws %s)*)? ws \"}\"",
                      v, v);
    if (value.status != TAKT_OK && s->status == TAKT_OK)
        s->status = value.status;
    takt_text_deinit(&value);
}

/* Rules oN-i and oN-i-first: the properties from i on, after others or as the first. */
static void put_rest(takt_schema *s, takt_text *rules, const properties *p, uint32_t n)
{
    for (size_t i = 0; i < p->count && s->status == TAKT_OK; i++) {
        const bool is_last = i + 1 == p->count;
        takt_text pair;
        takt_text_init(&pair, s->ctx);
        put_pair(s, &pair, &p->at[i]);
        const char *text = takt_text_get(&pair);
        takt_text_add(rules, "o%u-%zu ::= (\",\" ws %s)%s", n, i, text,
                      p->at[i].is_needed ? "" : "?");
        if (!is_last)
            takt_text_add(rules, " o%u-%zu", n, i + 1);
        takt_text_add(rules, "\no%u-%zu-first ::= %s", n, i, text);
        if (!is_last)
            takt_text_add(rules, " o%u-%zu", n, i + 1);
        if (!p->at[i].is_needed && is_last)
            takt_text_add(rules, " | \"\"");
        else if (!p->at[i].is_needed)
            takt_text_add(rules, " | o%u-%zu-first", n, i + 1);
        takt_text_add(rules, "\n");
        if (pair.status != TAKT_OK && s->status == TAKT_OK)
            s->status = pair.status;
        takt_text_deinit(&pair);
    }
}

void takt_schema_object(takt_schema *s, takt_text *to, const takt_json *v)
{
    void *block;
    if (takt_json_get(v, "properties") == NULL && takt_json_get(v, "required") == NULL &&
        takt_json_get(v, "allOf") == NULL) {
        takt_text body; /* a rule, because its text is used twice in the enclosing map */
        takt_text_init(&body, s->ctx);
        put_map(s, &body, takt_json_get(v, "additionalProperties"));
        takt_schema_rule(s, to, &body);
        return;
    }
    if (s->status == TAKT_OK)
        s->status = takt_mem_zero(s->ctx, 1, sizeof(properties), "properties", &block);
    if (s->status != TAKT_OK)
        return;
    properties *p = block;
    gather(s, p, v, 0);
    const uint32_t n = s->count++;
    takt_text rules;
    takt_text_init(&rules, s->ctx);
    put_rest(s, &rules, p, n);
    takt_text_put(&s->rules, takt_text_get(&rules), rules.length);
    if (p->count > 0)
        takt_text_add(to, "(\"{\" ws o%u-0-first ws \"}\")", n);
    else
        takt_text_add(to, "(\"{\" ws \"}\")");
    if (rules.status != TAKT_OK && s->status == TAKT_OK)
        s->status = rules.status;
    takt_text_deinit(&rules);
    takt_mem_put(s->ctx, p, sizeof *p);
}
