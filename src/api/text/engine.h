/* engine.h - a model in GGUF, its tokenizer and a session, for texts. */
#ifndef TAKT_API_TEXT_ENGINE_H
#define TAKT_API_TEXT_ENGINE_H

#include <stdatomic.h>
#include <takt/text.h>

#include "api/text/kv.h"
#include "base/inner.h"
#include "base/text.h"
#include "text/grammar/grammar.h"
#include "text/sampler.h"

enum {
    TAKT_PARALLEL = 256,   /* texts that one call writes together, at most */
    TAKT_ENGINE_ARENAS = 8 /* of growing size */
};

typedef struct takt_engine {
    takt_ctx *ctx;
    takt_tokenizer *tokenizer;
    takt_model *model;
    takt_pool *pool;       /* of all sessions; NULL: not yet */
    takt_pool *batch_pool; /* of sessions that read prompts, if they have other threads */
    takt_plan *plan;       /* of several tokens */
    takt_session *session;
    takt_plan *token_plan; /* of one token; NULL: the model does not generate text */
    takt_session *token;   /* has the state, which `session` shares */
    takt_generator_options options;
    int threads;    /* of `pool` */
    bool is_shared; /* everything but the sessions belongs to another engine, which must outlive
                     * it */
    size_t rows;    /* texts that one run can continue (together.h); 0: the model is for one */
    takt_plan *wide_plan; /* of one token of each; the last two while sessions are made */
    takt_session *store;  /* has the memory of all texts' state, and never runs */
    takt_kv *kv;          /* where its caches come from; NULL: each row has its own memory */
    /* Only one session runs at a time: each uses the last arena that is large enough for it. */
    struct takt_storage *arenas[TAKT_ENGINE_ARENAS];
    size_t arena_count, arena_bytes, arena_total; /* arena_bytes: of the last */
    bool is_dry;                                  /* plans are only made for their sizes */
    bool has_encoder;                             /* which reads prompts (encode.c) */
    int64_t start;                                /* token that its decoder begins with */
    takt_plan *prompt_plan; /* of a prompt and that token; NULL: there is no encoder */
    takt_session *prompt;
} takt_engine;

/* `output`: what the model must compute, "logits" or "embedding". */
TAKT_MUST_USE takt_status takt_engine_open(takt_engine *e, takt_ctx *ctx, const char *path,
                                           const takt_generator_options *options,
                                           const char *output);
/* Whether activations are quantised before products with weights in blocks. */
bool takt_engine_rounds(const takt_engine *e);
/* Plans for tokens "seq" up to the batch, and `count` rows of scores: 1, or as many as tokens. The
 * state of `token`, if there is one, is unchanged. */
TAKT_MUST_USE takt_status takt_engine_plan(takt_engine *e, const char *sizes);
/* Plans for one token, before any other. */
TAKT_MUST_USE takt_status takt_engine_plan_token(takt_engine *e);
/* Before any plan: the model becomes one of `rows` texts, the engine's being the first; it is
 * unchanged (`rows` 0) if it cannot compute them together. `pool`: bytes of one pool for all
 * caches; 0: each text has memory of its own. */
TAKT_MUST_USE takt_status takt_engine_widen(takt_engine *e, size_t rows, uint64_t pool);
/* A separate plan for other sizes, and a session that shares the state of `token`. */
TAKT_MUST_USE takt_status takt_engine_open_plan(takt_engine *e, const char *sizes, takt_plan **plan,
                                                takt_session **session);
/* New sessions for the plans of another engine; `row`: which of several texts. */
TAKT_MUST_USE takt_status takt_engine_share(takt_engine *e, const takt_engine *of, size_t row);
/* A plan of an engine's model for a number of texts, and a session of the first of them. `tokens`:
 * that each reads at most. */
TAKT_MUST_USE takt_status takt_engine_open_rows(takt_engine *e, size_t rows, size_t tokens,
                                                takt_plan **plan, takt_session **session);
/* Tokens of each prompt that one run reads for `rows` texts, at most; 0: prompts are read one by
 * one. */
size_t takt_engine_part(const takt_engine *e, size_t rows);
/* Sizes of a plan for parts of prompts of up to that many tokens. */
enum { TAKT_PART_SIZES = 64 };
const char *takt_engine_part_sizes(size_t tokens, char text[TAKT_PART_SIZES]);
/* Tokens that the caches hold. */
int64_t takt_engine_context(const takt_engine *e);
/* The parts of takt_engine_widen and takt_generator_open that compute sizes (engine_size.c): makes
 * the model one of several texts if possible; plans it, `sizes` NULL for one token; sizes its
 * arena. */
TAKT_MUST_USE takt_status takt_engine_make_wide(takt_engine *e);
TAKT_MUST_USE takt_status takt_engine_make_plan(const takt_engine *e, size_t rows,
                                                const char *sizes, takt_plan **plan);
/* Fails if weights and caches of `rows` texts exceed the context's limit, before any is read or
 * made. */
TAKT_MUST_USE takt_status takt_engine_check_memory(const takt_engine *e, size_t rows,
                                                   uint64_t pool);
/* Whether the sessions need a larger arena than they have; counts it. */
bool takt_engine_grows(takt_engine *e, const takt_plan *plan);
/* Whether the model has an encoder, and what its decoder starts with. */
TAKT_MUST_USE takt_status takt_engine_find_encoder(takt_engine *e);
/* A session whose plan has no prompt, if the model has an encoder. */
TAKT_MUST_USE takt_status takt_engine_bind_nothing(const takt_engine *e, takt_session *s,
                                                   size_t rows);
void takt_engine_close(takt_engine *e);

typedef struct takt_many takt_many; /* many.c */

struct takt_generator {
    takt_engine engine;
    int64_t context, position, vocabulary;
    size_t row;       /* of several texts; else 0 */
    int64_t *tokens;  /* of one run */
    int64_t *wanted;  /* rows whose scores are wanted */
    int64_t *prompt;  /* input of the encoder; NULL: there is none */
    int32_t *history; /* everything that was read */
    takt_candidate *candidates;
    uint16_t *times;
    const float *scores; /* of the last row; NULL: nothing was read */
    bool has_unread;     /* a text ended by its length with `unread`, which follows the history */
    int32_t unread;
    bool is_rating;         /* the plan is that of takt_generator_rate */
    takt_token_table table; /* of grammars; made by the first */
    /* Speculation: tokens that are read before they are known to be right. */
    takt_plan *ahead_plan; /* of up to `ahead_rows` tokens, with the scores of all; or NULL */
    takt_session *ahead_session;
    size_t ahead_rows;
    float *kept_scores;      /* of a run whose output is used again; allocated when needed */
    takt_many *many;         /* texts of takt_generate_many; NULL: only this one */
    size_t ahead;            /* tokens after `position` that are in the state and in `history` */
    _Atomic uint64_t calls;  /* twice the number of calls that ended, plus 1 inside one */
    _Atomic uint64_t cancel; /* the value of `calls` in the call that is to end; 0: none */
};

/* takt_generator_open for the first of `rows` texts: one run can continue several. `pool`: as for
 * takt_engine_widen. */
TAKT_MUST_USE takt_status takt_generator_open_first(takt_ctx *ctx, const char *path,
                                                    const takt_generator_options *options,
                                                    size_t rows, uint64_t pool,
                                                    takt_generator **generator);
/* A clone with its own cache. `of` must outlive it. */
TAKT_MUST_USE takt_status takt_generator_clone(const takt_generator *of, size_t row,
                                               takt_generator **clone);
/* Whether `count` tokens can be read: they are in the vocabulary, and there is room. */
TAKT_MUST_USE takt_status takt_generator_check(const takt_generator *g, const int32_t *ids,
                                               size_t count);

/* ---- several texts of one caller (many.c) ---- */

/* The other texts of takt_generate_many, and the plans that write several together. */
TAKT_MUST_USE takt_status takt_many_open(takt_generator *g, size_t count);
void takt_many_close(takt_generator *g);

/* ---- models with an encoder (encode.c) ---- */

/* The plan and the memory for a prompt, if the model has an encoder. */
TAKT_MUST_USE takt_status takt_generator_open_encoder(takt_generator *g);
/* Reads a prompt into an empty generator, and the token that the decoder begins with. */
TAKT_MUST_USE takt_status takt_generator_encode(takt_generator *g, const int32_t *ids,
                                                size_t count);

/* ---- a text's part of the state (state.c) ---- */

/* Whether it can forget the last tokens: a cache can, a recurrent state cannot. */
bool takt_generator_rewinds(const takt_generator *g);
/* The same by the model, before there is a plan. */
bool takt_engine_rewinds(const takt_engine *e);
/* Length of the common prefix of the tokens and those that were read. */
size_t takt_generator_common(const takt_generator *g, const int32_t *ids, size_t count);
/* Keeps the longest common prefix of what was read and `ids`, at most all but the last token, whose
 * scores are needed; forgets the rest. */
TAKT_MUST_USE takt_status takt_generator_reuse(takt_generator *g, const int32_t *ids, size_t count,
                                               size_t *kept);
/* Replaces what was read by the first `count` tokens of another clone; false: they cannot be
 * copied, and nothing has changed. */
bool takt_generator_adopt(takt_generator *to, const takt_generator *from, size_t count);
/* The state has the caches of the first `count` of these tokens: they count as read. */
TAKT_MUST_USE takt_status takt_generator_place(takt_generator *g, const int32_t *ids, size_t count);
/* State `i` as bytes; for a cache those of the first `tokens`. */
TAKT_INNER size_t takt_generator_state_bytes(const takt_generator *g, size_t i, int64_t tokens);
TAKT_MUST_USE takt_status takt_generator_state_read(const takt_generator *g, size_t i, void *to,
                                                    size_t bytes);
/* From the bytes of state_read; what a cache has before token `first` stays. */
TAKT_MUST_USE takt_status takt_generator_state_write(takt_generator *g, size_t i, int64_t first,
                                                     const uint8_t *from, size_t bytes);
/* Whether the state can have this value after this many tokens. */
bool takt_generator_state_fits(const takt_generator *g, size_t i, const void *value,
                               int64_t tokens);
/* A text that the pool of caches of `g` keeps, as takt_generator_save writes it. */
TAKT_MUST_USE takt_status takt_generator_save_kept(const takt_generator *g,
                                                   const takt_kv_kept *kept, const char *path);
/* Whether the file begins as takt_generator_save writes it: only such files may be removed. */
bool takt_is_prompt_cache(takt_ctx *ctx, const char *path);
/* takt_generator_load from bytes; `path` is for messages. With a pool, the row of `g` must be
 * empty, and stays so if the pool has no room. */
TAKT_MUST_USE takt_status takt_generator_load_bytes(takt_generator *g, const char *path,
                                                    const uint8_t *bytes, size_t length);

/* ---- reading ahead (ahead.c) ---- */

/* Allocates room for `rows` tokens that are read at once. */
TAKT_MUST_USE takt_status takt_generator_open_ahead(takt_generator *g, size_t rows);
/* Reads ids[0], and the other ids speculatively. */
TAKT_MUST_USE takt_status takt_generator_read_ahead(takt_generator *g, const int32_t *ids,
                                                    size_t count);
/* Whether the next token has been read speculatively; if so, it counts as read. */
bool takt_generator_accept(takt_generator *g, int32_t id);
/* Forgets the remaining speculative tokens. */
TAKT_MUST_USE takt_status takt_generator_settle(takt_generator *g);
/* Begins a call that takt_generator_cancel can end; false: it is nested in another one. And its
 * end. */
bool takt_generator_begin(takt_generator *g);
takt_status takt_generator_end(takt_generator *g, bool begun, takt_status status);
/* One run of a session over `count` tokens; scores of the last one, or of all, in order. */
TAKT_MUST_USE takt_status takt_generator_run(takt_generator *g, takt_session *s, const int32_t *ids,
                                             size_t count, bool wants_all);

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
    takt_breakers breakers; /* of DRY */
    uint32_t *runs;         /* of DRY; NULL: it is off */
    takt_text pending;      /* not yet passed to the sink */
    takt_sink_fn *sink;
    void *user;
    takt_generated result;
    bool is_over, is_refused; /* is_refused: the sink ended the text */
    takt_matcher *matcher;    /* of the grammar, or NULL */
    uint64_t *mask;
    int32_t *ends; /* tokens that the text must not end with; NULL: it may end */
    size_t end_count;
    int32_t *prompt; /* what is still to be read, owned */
    size_t prompt_count, prompt_read;
    /* Called for each token, before its text: `chosen` and the `top_count` best ones. May be
     * NULL. */
    void (*on_token)(void *user, const takt_writing *w);
    size_t top_count;
    takt_token_log chosen, top[TAKT_WRITING_TOP];
    int32_t *guesses; /* room for a token and what may follow it; NULL: nothing is guessed */
    size_t guess_room;
};

/* The options are checked and copied; strings and grammar are borrowed. Must be ended, even on
 * failure. */
TAKT_MUST_USE takt_status takt_writing_begin(takt_writing *w, takt_generator *g,
                                             const takt_generate_options *options,
                                             takt_sink_fn *sink, void *user);
/* The tokens of the prompt, which is then read by steps. */
TAKT_MUST_USE takt_status takt_writing_prompt(takt_writing *w, const char *text);
/* The same from tokens, which are copied. */
TAKT_MUST_USE takt_status takt_writing_tokens(takt_writing *w, const int32_t *ids, size_t count);
/* The prompt is the whole text: the part already read by the generator is skipped. */
TAKT_MUST_USE takt_status takt_writing_reuse(takt_writing *w);
/* The part of the prompt that the next step would read, at most a batch; false: it does something
 * else, or reads the prompt differently. */
bool takt_writing_part(const takt_writing *w, const int32_t **ids, size_t *count);
/* The next `count` tokens of the prompt were read. */
void takt_writing_took(takt_writing *w, size_t count, double ns);
/* Reads one part of the prompt, or writes one token; `is_over` says that it was the last. */
TAKT_MUST_USE takt_status takt_writing_step(takt_writing *w);
/* The same, but the token is not read: `*id` must be read before the next step, unless -1. */
TAKT_MUST_USE takt_status takt_writing_half(takt_writing *w, int32_t *id);
/* Reads a token that was written, and maybe guesses that follow it. */
TAKT_MUST_USE takt_status takt_writing_read(takt_writing *w, int32_t id);
/* The next token by these scores, after `position` tokens; it is not output. */
TAKT_MUST_USE takt_status takt_writing_draw(takt_writing *w, const float *scores, size_t count,
                                            size_t position, double *surprise, int32_t *id);
/* Whether ids of both tokenizers have the same meaning. Models of one family differ in unused ids
 * at the end. */
TAKT_MUST_USE takt_status takt_draft_check(takt_ctx *ctx, const takt_tokenizer *model,
                                           const takt_tokenizer *draft);
/* Before weights are read: a model that is to speculate, or to be a draft, must rewind. */
TAKT_MUST_USE takt_status takt_speculate_check(const takt_engine *e);
/* Whether the draft can guess for the generator, and memory for guesses (speculate.c). */
TAKT_MUST_USE takt_status takt_speculate_open(takt_writing *w);
void takt_speculate_close(takt_writing *w);
/* Tokens of one run at most: guesses, and the token before them. */
size_t takt_speculate_room(const takt_generator *g, size_t draft_max);
/* Passes the rest to the sink. */
void takt_writing_finish(takt_writing *w);
void takt_writing_end(takt_writing *w);

#endif
