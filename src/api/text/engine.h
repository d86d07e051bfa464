/* engine.h - a model in GGUF, its tokenizer and a session, for texts. */
#ifndef TAKT_API_TEXT_ENGINE_H
#define TAKT_API_TEXT_ENGINE_H

#include <takt/text.h>

#include "text/sampler.h"

typedef struct takt_engine {
    takt_ctx *ctx;
    takt_tokenizer *tokenizer;
    takt_model *model;
    takt_pool *pool; /* of all sessions; NULL: not so far */
    takt_plan *plan; /* of several tokens */
    takt_session *session;
    takt_plan *token_plan; /* of one token; NULL: the model does not write */
    takt_session *token;   /* has the state, which `session` shares */
    takt_generator_options options;
} takt_engine;

/* `output`: what the model must give, "logits" or "embedding". */
TAKT_MUST_USE takt_status takt_engine_open(takt_engine *e, takt_ctx *ctx, const char *path,
                                           const takt_generator_options *options,
                                           const char *output);
/* Plans for tokens "seq" up to the batch, and `count` rows of scores: 1, or as many as tokens. The
 * state of `token`, if there is one, stays as it is. */
TAKT_MUST_USE takt_status takt_engine_plan(takt_engine *e, const char *sizes);
/* Plans for one token, before any other. */
TAKT_MUST_USE takt_status takt_engine_plan_token(takt_engine *e);
void takt_engine_close(takt_engine *e);

struct takt_generator {
    takt_engine engine;
    int64_t context, position, vocabulary;
    int64_t *tokens;  /* of one run */
    int64_t *wanted;  /* rows whose scores are wanted */
    int32_t *history; /* everything that was read */
    takt_candidate *candidates;
    uint16_t *times;
    const float *scores; /* of the last row; NULL: nothing was read */
    bool is_rating;      /* the plan is that of takt_generator_rate */
};

#endif
