/* reader.c - fields of a request's body. */
#include "serve/reader.h"

#include <stdio.h>
#include <string.h>

bool takt_reader_bad(takt_reader *r, const char *key, const char *what)
{
    if (!r->is_bad)
        (void)snprintf(r->message, sizeof r->message, "%.60s: %.300s", key, what);
    r->is_bad = true;
    r->status = r->status != 0 ? r->status : 400;
    r->id = r->id != 0 ? r->id : TAKT_E_SERVE_REQUEST;
    return false;
}

bool takt_reader_bad_item(takt_reader *r, const char *key, size_t index, const char *what)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%.50s[%zu]", key, index);
    return takt_reader_bad(r, name, what);
}

bool takt_reader_bad_id(takt_reader *r, const char *key, size_t index)
{
    char what[80];
    (void)snprintf(what, sizeof what, "a token id from 0 to %zu is expected",
                   takt_tokenizer_count(r->s->tokenizer) - 1);
    return takt_reader_bad_item(r, key, index, what);
}

bool takt_reader_is_text(const takt_json *v)
{
    return v->kind == TAKT_JSON_STRING && strlen(v->text) == v->text_length;
}

bool takt_reader_failed(takt_reader *r, const char *key, takt_status status)
{
    takt_error error;
    takt_error_copy(&r->s->shadow, &error);
    r->status = takt_serve_status(status);
    r->id = error.id;
    return takt_reader_bad(r, key, error.message);
}

const takt_json *takt_reader_field(const takt_reader *r, const char *key)
{
    const takt_json *v = takt_json_get(r->job->body, key);
    return v != NULL && v->kind != TAKT_JSON_NULL ? v : NULL;
}

double takt_reader_number(takt_reader *r, const char *key, double fallback, double least,
                          double most)
{
    const takt_json *v = takt_reader_field(r, key);
    if (v == NULL)
        return fallback;
    if (v->kind != TAKT_JSON_NUMBER || !(v->number >= least && v->number <= most)) {
        char what[80];
        (void)snprintf(what, sizeof what, "a number from %g to %g is expected", least, most);
        (void)takt_reader_bad(r, key, what);
        return fallback;
    }
    return v->is_integer ? (double)v->integer : v->number;
}

int64_t takt_reader_integer(takt_reader *r, const char *key, int64_t fallback, int64_t least,
                            int64_t most)
{
    const takt_json *v = takt_reader_field(r, key);
    if (v != NULL && (v->kind != TAKT_JSON_NUMBER || !v->is_integer || v->integer < least ||
                      v->integer > most)) {
        char what[80];
        (void)snprintf(what, sizeof what, "an integer from %lld to %lld is expected",
                       (long long)least, (long long)most);
        (void)takt_reader_bad(r, key, what);
        return fallback;
    }
    return v != NULL ? v->integer : fallback;
}

bool takt_reader_truth(takt_reader *r, const char *key)
{
    const takt_json *v = takt_reader_field(r, key);
    if (v != NULL && v->kind != TAKT_JSON_BOOL)
        (void)takt_reader_bad(r, key, "true or false is expected");
    return v != NULL && v->kind == TAKT_JSON_BOOL && v->boolean;
}
