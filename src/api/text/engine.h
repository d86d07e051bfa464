/* engine.h - a model in GGUF, its tokenizer and a session, for texts. */
#ifndef TAKT_API_TEXT_ENGINE_H
#define TAKT_API_TEXT_ENGINE_H

#include <takt/text.h>

#include "text/sampler.h"

typedef struct takt_engine {
    takt_ctx *ctx;
    takt_tokenizer *tokenizer;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    takt_generator_options options;
} takt_engine;

/* `output`: what the model must give, "logits" or "embedding". */
TAKT_MUST_USE takt_status takt_engine_open(takt_engine *e, takt_ctx *ctx, const char *path,
                                           const takt_generator_options *options,
                                           const char *output);
/* Plans for tokens "seq" up to the batch, and `count` rows of scores: 1, or as many as tokens. */
TAKT_MUST_USE takt_status takt_engine_plan(takt_engine *e, const char *sizes);
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
