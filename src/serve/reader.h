/* reader.h - fields of a request's body, each checked; the response names the first invalid one. */
#ifndef TAKT_SERVE_READER_H
#define TAKT_SERVE_READER_H

#include "serve/serve.h"

/* Whether parts of a message are joined to the string that the template expects. */
typedef enum takt_joins { TAKT_JOINS_UNKNOWN, TAKT_JOINS, TAKT_JOINS_NOT } takt_joins;

typedef struct takt_reader {
    takt_server *s;
    takt_job *job;
    takt_span body; /* terminated */
    bool is_bad;
    int status, id;
    takt_joins joins;
    size_t at; /* the message that is read */
    char message[400];
} takt_reader;

/* Refuses the request because of this field; returns false. */
bool takt_reader_bad(takt_reader *r, const char *key, const char *what);
/* Same for one item of the field's list: "prompt[3]: ...". */
bool takt_reader_bad_item(takt_reader *r, const char *key, size_t index, const char *what);
/* Same for an item that is not an id of the vocabulary. */
bool takt_reader_bad_id(takt_reader *r, const char *key, size_t index);
/* Same, with the error of the connection thread. */
bool takt_reader_failed(takt_reader *r, const char *key, takt_status status);
/* NULL: absent, or null. */
const takt_json *takt_reader_field(const takt_reader *r, const char *key);
double takt_reader_number(takt_reader *r, const char *key, double fallback, double least,
                          double most);
int64_t takt_reader_integer(takt_reader *r, const char *key, int64_t fallback, int64_t least,
                            int64_t most);
bool takt_reader_truth(takt_reader *r, const char *key);

/* A string that C can hold: without NUL. */
bool takt_reader_is_text(const takt_json *v);

/* How tokens are chosen; the defaults are those of takt generate. */
void takt_serve_read_sampling(takt_reader *r);
/* tools and tool_choice (request_tools.c), after the form of the answer. */
void takt_serve_read_tools(takt_reader *r);
/* Refuses a request that the pool of caches has no room for, and sets its worst case (pool.c). */
void takt_serve_limit(takt_reader *r);
/* The variables of the chat template: the body, with arguments of calls as objects. */
void takt_serve_put_variables(takt_reader *r, takt_text *text);
/* Refuses messages that are not objects with a role and a content (request_parts.c). */
bool takt_serve_check_messages(takt_reader *r);
/* A content that is a list of parts. */
void takt_serve_put_parts(takt_reader *r, takt_json_writer *w, const takt_json *parts);

#endif
