/* schema.h - shared by the parts of a schema's translation. */
#ifndef TAKT_TEXT_SCHEMA_H
#define TAKT_TEXT_SCHEMA_H

#include "base/json.h"
#include "text/grammar/grammar.h"

enum { SCHEMA_REFS = 256, SCHEMA_PROPERTIES = 512 };

typedef struct takt_schema {
    takt_ctx *ctx;
    const takt_json *root;
    takt_text rules; /* the finished ones */
    uint32_t count;
    const takt_json *refs[SCHEMA_REFS]; /* targets of $ref: rules ref0, ref1, ... */
    size_t ref_count;
    takt_status status; /* sticky */
} takt_schema;

/* Adds the expression of a schema. */
void takt_schema_put(takt_schema *s, takt_text *to, const takt_json *v);
/* Error 3772: "WHAT cannot be kept to". */
void takt_schema_refuse(takt_schema *s, const takt_json *v, const char *what);
/* Error 3771: "WHAT". */
void takt_schema_wrong(takt_schema *s, const takt_json *v, const char *what);
/* Adds the name of a new rule with this body, which is freed. */
void takt_schema_rule(takt_schema *s, takt_text *to, takt_text *body);
void takt_schema_string(takt_schema *s, takt_text *to, const takt_json *v);
void takt_schema_integer(takt_schema *s, takt_text *to, const takt_json *v);
void takt_schema_number(takt_schema *s, takt_text *to, const takt_json *v);
void takt_schema_array(takt_schema *s, takt_text *to, const takt_json *v);
/* The bytes of a text as a literal of GBNF. */
void takt_schema_literal(takt_text *to, const char *text, size_t length);
/* An object with its properties. */
void takt_schema_object(takt_schema *s, takt_text *to, const takt_json *v);
/* A regular expression, anchored at both ends, for the text between the quotes of a string. */
void takt_schema_pattern(takt_schema *s, const takt_json *v, takt_text *to);

#endif
