/* sampler.h - chooses the next token by a chain of samplers over the candidates.
 *
 * Each sampler is a file of sampler/ and does one thing: it changes scores or removes candidates.
 * The token is drawn from the rest by a number that depends only on (seed, sequence, position).
 */
#ifndef TAKT_TEXT_SAMPLER_H
#define TAKT_TEXT_SAMPLER_H

#include <takt/text.h>

#include "base/error.h"

typedef struct takt_candidate {
    int32_t id;
    float score;  /* logit */
    double share; /* probability, where `has_shares` */
} takt_candidate;

/* Tokens that end a repetition in DRY: a head, and the tokens that follow it. Sorted by head. */
typedef struct takt_breaker {
    int32_t head;
    uint32_t tail, tail_count; /* of `tails` */
} takt_breaker;

typedef struct takt_breakers {
    takt_breaker *at;
    size_t count, room;
    int32_t *tails;
    size_t tail_count, tail_room;
} takt_breakers;

typedef struct takt_candidates {
    takt_candidate *at; /* the list, unless there are `scores`; room for all tokens */
    size_t count;
    float *scores; /* of all tokens, by id: those that reach `least` are the candidates; or NULL */
    size_t tokens;
    float least;
    bool is_sorted; /* by score, best first; on ties the lower id */
    bool has_shares;
    bool has_numbers;       /* no score is NaN; false: not known */
    const int32_t *history; /* tokens so far, the last at the end */
    size_t history_count;
    uint16_t *times;               /* by id: scratch of penalties, all 0 between uses */
    double *surprise;              /* target of mirostat, kept between tokens */
    double uniform;                /* 0 <= u < 1: the random number of this position */
    double chance;                 /* another one, for random samplers */
    uint32_t *runs;                /* scratch of DRY, as long as the history; NULL: DRY is off */
    const takt_breakers *breakers; /* of DRY; may be NULL */
} takt_candidates;

typedef struct takt_sampler {
    const char *name; /* llama.cpp's name */
    const char *summary;
    char letter; /* as in llama.cpp's --sampling-seq */
    bool always; /* lowers scores: also at temperature 0 and with Mirostat */
    void (*apply)(takt_candidates *c, const takt_sampling *s);
} takt_sampler;

/* The samplers by index; NULL past the last. */
const takt_sampler *takt_sampler_at(size_t index);
const takt_sampler *takt_sampler_named(const char *name, size_t length); /* or letter */
#define TAKT_SAMPLER_ORDER "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"

/* One candidate for each score; the scores are copied. */
void takt_candidates_fill(takt_candidates *c, const float *scores, size_t count);
/* From here on `at` has the candidates. */
void takt_candidates_list(takt_candidates *c);
/* 0 <= u < 1 for a position: 53 bits of the sequence's stream. `which` selects one of several
 * independent numbers. */
double takt_sampling_uniform(const takt_sampling *s, uint64_t position, uint32_t which);
void takt_candidates_sort(takt_candidates *c);
/* The score of a token, to be changed, if it is where takt_candidates_fill put it; else NULL. */
float *takt_candidates_score(takt_candidates *c, int32_t id);
/* The best score, and the first token that has it; there must be a candidate. */
float takt_candidates_best(const takt_candidates *c);
int32_t takt_candidates_first(const takt_candidates *c);
/* Keeps those that have at least this score, in their order. */
void takt_candidates_reach(takt_candidates *c, double score);
/* Keeps the `count` best, sorted, without sorting the others. */
void takt_candidates_keep(takt_candidates *c, size_t count);
/* Probabilities of the scores, in their order. Sorts first. */
void takt_candidates_shares(takt_candidates *c);
/* Draws by `uniform`; returns an index. */
size_t takt_candidates_draw(takt_candidates *c);

/* Replaces zeros by the defaults, and checks everything. */
TAKT_MUST_USE takt_status takt_sampling_settle(takt_ctx *ctx, const takt_sampling *given,
                                               takt_sampling *settled);
/* Refuses a bias for a token that the vocabulary does not have. */
TAKT_MUST_USE takt_status takt_sampling_check_biases(takt_ctx *ctx, const takt_sampling *s,
                                                     const takt_tokenizer *tokenizer);
/* Applies the samplers in order; nothing is drawn. */
void takt_sample_apply(takt_candidates *c, const takt_sampling *s);
/* The next token; `c->at` has one candidate for each token. TAKT_ERR_RANGE: all scores are NaN. */
TAKT_MUST_USE takt_status takt_sample_chain(takt_ctx *ctx, takt_candidates *c,
                                            const takt_sampling *s, int32_t *id);

/* Whether DRY is active: then candidates need `runs`. */
bool takt_sampling_has_dry(const takt_sampling *s);
/* The tokens of the sampling's breakers; needs takt_breakers_free in any case. */
TAKT_MUST_USE takt_status takt_breakers_make(takt_ctx *ctx, const takt_tokenizer *t,
                                             const takt_sampling *s, takt_breakers *b);
void takt_breakers_free(takt_ctx *ctx, takt_breakers *b);

#endif
