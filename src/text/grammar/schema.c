/* schema.c - JSON schemas as grammars in GBNF.
 *
 * Every schema becomes an expression; objects, references and longer parts become separate rules,
 * so that schemas may be recursive. Whatever the grammar allows, the schema allows. Keywords that
 * cannot be enforced are refused by name.
 */
#include <stdio.h>
#include <string.h>

#include "text/grammar/schema.h"

static const char basics[] =
    "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n"
    "char ::= [^\"\\\\\\x00-\\x1F\\x7F] | \"\\\\\" ([\"\\\\bfnrt/] | \"u\" [0-9a-fA-F]{4})\n"
    "string ::= \"\\\"\" char* \"\\\"\"\n"
    "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15})\n"
    "number ::= integer (\".\" [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?\n"
    "boolean ::= \"true\" | \"false\"\n"
    "null ::= \"null\"\n"
    "value ::= object | array | string | number | boolean | null\n"
    "object ::= \"{\" ws (string \":\" ws value (\",\" ws string \":\" ws value)*)? ws \"}\"\n"
    "array ::= \"[\" ws (value (\",\" ws value)*)? ws \"]\"\n"
    "date ::= [0-9]{4} \"-\" (\"0\" [1-9] | \"1\" [0-2]) \"-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" "
    "[0-8])\n"
    "time ::= ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{3})? "
    "(\"Z\" | [+-] ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9])\n"
    "uuid ::= [0-9a-f]{8} (\"-\" [0-9a-f]{4}){3} \"-\" [0-9a-f]{12}\n";

/* ---- supported parts of a schema ---- */

static bool is_known(const char *key)
{
    static const char *const keys[] = {"type",        "enum",
                                       "const",       "oneOf",
                                       "anyOf",       "allOf",
                                       "$ref",        "properties",
                                       "required",    "items",
                                       "prefixItems", "minItems",
                                       "maxItems",    "minLength",
                                       "maxLength",   "pattern",
                                       "format",      "minimum",
                                       "maximum",     "title",
                                       "$schema",     "$id",
                                       "$comment",    "default",
                                       "description", "definitions",
                                       "examples",    "$defs",
                                       "deprecated",  "readOnly",
                                       "nullable",    "writeOnly",
                                       "$anchor",     "additionalProperties"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

void takt_schema_refuse(takt_schema *s, const takt_json *v, const char *what)
{
    if (s->status == TAKT_OK) {
        s->status = takt_fail(s->ctx, TAKT_E_GRAMMAR_UNSUPPORTED,
                              "schema, at byte %u: %.100s cannot be kept to", v->offset, what);
        (void)takt_fail_offset(s->ctx, v->offset);
    }
}

void takt_schema_wrong(takt_schema *s, const takt_json *v, const char *what)
{
    if (s->status == TAKT_OK) {
        s->status =
            takt_fail(s->ctx, TAKT_E_GRAMMAR, "schema, at byte %u: %.100s", v->offset, what);
        (void)takt_fail_offset(s->ctx, v->offset);
    }
}

/* ---- rules ---- */

/* Adds a new rule with this body; returns its name, r0, r1, ... */
void takt_schema_rule(takt_schema *s, takt_text *to, takt_text *body)
{
    takt_text_add(to, "r%u", s->count);
    takt_text_add(&s->rules, "r%u ::= %s\n", s->count++, takt_text_get(body));
    if (body->status != TAKT_OK && s->status == TAKT_OK)
        s->status = body->status;
    takt_text_deinit(body);
}

/* The bytes of a text as a literal of GBNF. */
void takt_schema_literal(takt_text *to, const char *text, size_t length)
{
    takt_text_put(to, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            takt_text_add(to, "\\%c", c);
        else if (c < 0x20 || c == 0x7F)
            takt_text_add(to, "\\x%02X", c);
        else
            takt_text_put(to, &text[i], 1);
    }
    takt_text_put(to, "\"", 1);
}

static void put_constant(takt_schema *s, takt_text *to, const takt_json *v)
{
    takt_text text;
    takt_json_writer w;
    takt_text_init(&text, s->ctx);
    takt_json_begin(&w, &text, false);
    takt_json_value(&w, v);
    takt_schema_literal(to, takt_text_get(&text), text.length);
    if (text.status != TAKT_OK && s->status == TAKT_OK)
        s->status = text.status;
    takt_text_deinit(&text);
}

/* ---- references ---- */

/* One step of a JSON pointer, ~1 and ~0 resolved. */
static const takt_json *child(const takt_json *v, const char *at, size_t length)
{
    char key[256];
    size_t n = 0;
    if (length >= sizeof key)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        const bool is_escape = at[i] == '~' && i + 1 < length;
        key[n++] = !is_escape ? at[i] : at[i + 1] == '1' ? '/' : '~';
        i += is_escape;
    }
    key[n] = '\0';
    return v->kind == TAKT_JSON_OBJECT ? takt_json_get(v, key) : NULL;
}

static const takt_json *resolve(takt_schema *s, const takt_json *ref)
{
    const takt_json *v = s->root;
    if (ref->kind != TAKT_JSON_STRING || ref->text[0] != '#') {
        takt_schema_refuse(s, ref, "$ref to another document");
        return NULL;
    }
    for (const char *at = ref->text + 1; *at != '\0' && v != NULL;) {
        if (*at != '/')
            break;
        const size_t length = strcspn(at + 1, "/");
        v = child(v, at + 1, length);
        at += length + 1;
    }
    if (v == NULL)
        takt_schema_wrong(s, ref, "$ref leads nowhere");
    return v;
}

static void put_reference(takt_schema *s, takt_text *to, const takt_json *ref)
{
    const takt_json *v = resolve(s, ref);
    size_t i = 0;
    if (v == NULL)
        return;
    while (i < s->ref_count && s->refs[i] != v)
        i++;
    if (i == SCHEMA_REFS) {
        s->status =
            takt_fail(s->ctx, TAKT_E_GRAMMAR_LIMIT, "schema: more than %d references", SCHEMA_REFS);
        return;
    }
    if (i == s->ref_count)
        s->refs[s->ref_count++] = v;
    takt_text_add(to, "ref%zu", i);
}

/* ---- choices ---- */

static void put_list(takt_schema *s, takt_text *to, const takt_json *list, bool are_values)
{
    if (list->kind != TAKT_JSON_ARRAY || list->count == 0)
        takt_schema_wrong(s, list, "a list with something in it was expected");
    takt_text_add(to, "(");
    for (const takt_json *i = takt_json_first(list); i != NULL && s->status == TAKT_OK;
         i = takt_json_next(i)) {
        takt_text_add(to, "%s", i == takt_json_first(list) ? "" : " | ");
        if (are_values)
            put_constant(s, to, i);
        else
            takt_schema_put(s, to, i);
    }
    takt_text_add(to, ")");
}

static void put_type(takt_schema *s, takt_text *to, const takt_json *v, const char *type)
{
    static const struct {
        const char *name;
        void (*put)(takt_schema *s, takt_text *to, const takt_json *v);
    } types[] = {{"string", takt_schema_string},
                 {"integer", takt_schema_integer},
                 {"number", takt_schema_number},
                 {"array", takt_schema_array},
                 {"object", takt_schema_object}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0) {
            types[i].put(s, to, v);
            return;
        }
    if (strcmp(type, "boolean") == 0 || strcmp(type, "null") == 0) {
        takt_text_add(to, "%s", type);
        return;
    }
    char what[80];
    (void)snprintf(what, sizeof what, "there is no type \"%.50s\"", type);
    takt_schema_wrong(s, v, what);
}

/* The type implied by other keywords. */
static const char *guessed_type(const takt_json *v)
{
    static const char *const rows[][2] = {
        {"properties", "object"}, {"required", "object"}, {"additionalProperties", "object"},
        {"allOf", "object"},      {"items", "array"},     {"prefixItems", "array"},
        {"minItems", "array"},    {"maxItems", "array"},  {"pattern", "string"},
        {"minLength", "string"},  {"maxLength", "string"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (takt_json_get(v, rows[i][0]) != NULL)
            return rows[i][1];
    return NULL;
}

static void put_any_type(takt_schema *s, takt_text *to, const takt_json *v)
{
    const takt_json *type = takt_json_get(v, "type");
    const char *guessed = guessed_type(v);
    if (type != NULL && type->kind == TAKT_JSON_ARRAY && type->count > 0) {
        takt_text_add(to, "(");
        for (const takt_json *i = takt_json_first(type); i != NULL && s->status == TAKT_OK;
             i = takt_json_next(i)) {
            takt_text_add(to, "%s", i == takt_json_first(type) ? "" : " | ");
            if (i->kind == TAKT_JSON_STRING)
                put_type(s, to, v, i->text);
            else
                takt_schema_wrong(s, i, "a type is a string");
        }
        takt_text_add(to, ")");
    } else if (type != NULL) {
        if (type->kind == TAKT_JSON_STRING)
            put_type(s, to, v, type->text);
        else
            takt_schema_wrong(s, type, "a type is a string");
    } else if (guessed != NULL) {
        put_type(s, to, v, guessed);
    } else {
        if (takt_json_get(v, "minimum") != NULL || takt_json_get(v, "maximum") != NULL)
            takt_schema_refuse(s, v, "minimum or maximum of a number");
        takt_text_add(to, "value");
    }
}

void takt_schema_put(takt_schema *s, takt_text *to, const takt_json *v)
{
    const takt_json *found;
    if (s->status == TAKT_OK && s->count > TAKT_GRAMMAR_RULES)
        s->status = takt_fail(s->ctx, TAKT_E_GRAMMAR_LIMIT, "schema: more than %d rules",
                              TAKT_GRAMMAR_RULES);
    if (s->status != TAKT_OK)
        return;
    if (v->kind == TAKT_JSON_BOOL && v->boolean) {
        takt_text_add(to, "value");
        return;
    }
    if (v->kind != TAKT_JSON_OBJECT) {
        if (v->kind == TAKT_JSON_BOOL)
            takt_schema_refuse(s, v, "false, which allows nothing,");
        takt_schema_wrong(s, v, "a schema is an object");
        return;
    }
    for (const takt_json *i = takt_json_first(v); i != NULL; i = takt_json_next(i))
        if (!is_known(i->key))
            takt_schema_refuse(s, i, i->key);
    if ((found = takt_json_get(v, "$ref")) != NULL)
        put_reference(s, to, found);
    else if ((found = takt_json_get(v, "const")) != NULL)
        put_constant(s, to, found);
    else if ((found = takt_json_get(v, "enum")) != NULL)
        put_list(s, to, found, true);
    else if ((found = takt_json_get(v, "anyOf")) != NULL ||
             (found = takt_json_get(v, "oneOf")) != NULL) {
        if (takt_json_get(v, "properties") != NULL || takt_json_get(v, "allOf") != NULL)
            takt_schema_refuse(s, found, "properties together with anyOf or oneOf");
        put_list(s, to, found, false);
    } else
        put_any_type(s, to, v);
}

takt_status takt_schema_write(takt_ctx *ctx, const char *json, size_t length, takt_text *to)
{
    takt_arena arena;
    takt_schema s = {.ctx = ctx};
    takt_text root;
    takt_arena_init(&arena, ctx);
    takt_text_init(&s.rules, ctx);
    takt_text_init(&root, ctx);
    s.status = takt_json_parse(ctx, &arena, json, length, &s.root);
    if (s.status == TAKT_OK)
        takt_schema_put(&s, &root, s.root);
    takt_text_add(to, "root ::= %s\n", takt_text_get(&root));
    for (size_t i = 0; i < s.ref_count && s.status == TAKT_OK; i++) { /* more come on the way */
        root.length = 0;
        takt_schema_put(&s, &root, s.refs[i]);
        takt_text_add(to, "ref%zu ::= %s\n", i, takt_text_get(&root));
    }
    takt_text_put(to, takt_text_get(&s.rules), s.rules.length);
    takt_text_put(to, basics, sizeof basics - 1);
    const takt_status sticky[] = {s.status, root.status, s.rules.status, to->status};
    takt_text_deinit(&root);
    takt_text_deinit(&s.rules);
    takt_arena_deinit(&arena);
    for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++)
        TAKT_TRY(sticky[i]);
    return TAKT_OK;
}

takt_status takt_grammar_of_schema(takt_ctx *ctx, const char *json, size_t length,
                                   takt_grammar **grammar)
{
    takt_text text;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, grammar);
    *grammar = NULL;
    TAKT_NEED(ctx, json);
    takt_text_init(&text, ctx);
    takt_status status = takt_schema_write(ctx, json, length > 0 ? length : strlen(json), &text);
    if (status == TAKT_OK)
        status = takt_grammar_parse(ctx, takt_text_get(&text), text.length, grammar);
    takt_text_deinit(&text);
    return status;
}
