/* write_json.h - shared by the writers of tokenizer.json. */
#ifndef TAKT_TEXT_WRITE_JSON_H
#define TAKT_TEXT_WRITE_JSON_H

#include "base/json.h"
#include "text/tokenizer.h"

/* Tokens found in texts before anything else, whose names are their texts. */
bool takt_token_is_added(const takt_tokenizer *t, size_t id);
/* The name of a token in the vocabulary; `to` holds it until the next call. */
const char *takt_token_name(const takt_tokenizer *t, size_t id, takt_text *to);
/* "merges" of a model. */
TAKT_MUST_USE takt_status takt_json_merges(const takt_tokenizer *t, takt_json_writer *w);

#endif
