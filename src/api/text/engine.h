/* engine.h - a model in GGUF, its tokenizer and a session, for texts. */
#ifndef TAKT_API_TEXT_ENGINE_H
#define TAKT_API_TEXT_ENGINE_H

#include <takt/text.h>

#include "base/text.h"
#include "text/grammar/grammar.h"
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
    bool is_shared; /* all but the sessions belongs to another one, which must outlive it */
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
/* Sessions of their own for plans of another. */
TAKT_MUST_USE takt_status takt_engine_share(takt_engine *e, const takt_engine *of);
void takt_engine_close(takt_engine *e);

struct takt_generator {
    takt_engine engine;
    int64_t context, position, vocabulary;
    int64_t *tokens;  /* of one run */
    int64_t *wanted;  /* rows whose scores are wanted */
    int32_t *history; /* everything that was read */
    takt_candidate *candidates;
    uint16_t *times;
    const float *scores;    /* of the last row; NULL: nothing was read */
    bool is_rating;         /* the plan is that of takt_generator_rate */
    takt_token_table table; /* of grammars; made by the first */
};

/* A generator with a cache of its own that shares everything else. `of` must outlive it. */
TAKT_MUST_USE takt_status takt_generator_clone(const takt_generator *of, takt_generator **clone);

/* ---- a text that is being written, step by step ---- */

enum { TAKT_WRITING_TOP = 20 };

typedef struct takt_token_log {
    int32_t id;
    double log; /* of its probability, before samplers */
} takt_token_log;

typedef struct takt_writing takt_writing;
struct takt_writing {
    takt_generator *g;
    takt_generate_options options;
    takt_sampling sampling;
    double surprise;
    takt_text pending; /* not yet given to the sink */
    takt_sink_fn *sink;
    void *user;
    takt_generated result;
    bool is_over, is_refused; /* is_refused: the sink wants no more */
    takt_matcher *matcher;    /* of the grammar, or NULL */
    uint64_t *mask;
    int32_t *prompt; /* what is still to be read, owned */
    size_t prompt_count, prompt_read;
    /* Of each token, before its text: `chosen` and the `top_count` best ones. May be NULL. */
    void (*on_token)(void *user, const takt_writing *w);
    size_t top_count;
    takt_token_log chosen, top[TAKT_WRITING_TOP];
};

/* The options are checked and copied; strings and grammar are borrowed. End it in any case. */
TAKT_MUST_USE takt_status takt_writing_begin(takt_writing *w, takt_generator *g,
                                             const takt_generate_options *options,
                                             takt_sink_fn *sink, void *user);
/* The tokens of the prompt, which is then read by steps. */
TAKT_MUST_USE takt_status takt_writing_prompt(takt_writing *w, const char *text);
/* The same from tokens, which are copied. */
TAKT_MUST_USE takt_status takt_writing_tokens(takt_writing *w, const int32_t *ids, size_t count);
/* Reads one part of the prompt, or writes one token; `is_over` says that it was the last. */
TAKT_MUST_USE takt_status takt_writing_step(takt_writing *w);
/* Gives what is left to the sink. */
void takt_writing_finish(takt_writing *w);
void takt_writing_end(takt_writing *w);

#endif
