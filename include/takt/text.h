/**
 * text.h - language models: generating, scoring and embedding text.
 *
 *     takt_generator *writer;
 *     takt_generate_options how = {.max_tokens = 64};
 *     how.sampling.temperature = 0.8;
 *     takt_generator_open(ctx, "model.gguf", NULL, &writer);
 *     takt_generate(writer, "Once upon a time", &how, sink, user, NULL);
 *     takt_generator_destroy(writer);
 *
 * A generator is a model, its tokenizer and a session. The keys and values of all tokens read are
 * kept in the session's state, whose size is known before the first weight is read. The text
 * depends on the model, the prompt, the settings and the seed, not on threads, instruction sets or
 * how a prompt is split.
 *
 * Threads: one at a time for each generator or embedder, different ones at once (takt.h).
 */
#ifndef TAKT_TEXT_H
#define TAKT_TEXT_H

#include <takt/grammar.h>
#include <takt/session.h>
#include <takt/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_generator takt_generator;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_generator_options {
    size_t size;
    const char *tokenizer; /**< file or folder; default: the model's own */
    int64_t context;       /**< size of the context in tokens; default: as trained, at most 4096 */
    int64_t batch;         /**< tokens of a prompt that one run reads; default 128 */
    int threads;           /**< default: as for plans */
    const char *isa;       /**< "scalar", "avx2", …: upper limit; default: none */
    /** "f32" (default), or "int8": activations are quantised to 8 bits in blocks of the weights'
     *  block size before products with block-quantised weights, as in llama.cpp. Faster, but not
     *  exact. */
    const char *activations;
    /** "f32" (default), "f16", "bf16" or "q8_0": how keys and values are kept in the context. */
    const char *cache_type_k, *cache_type_v;
    int threads_batch; /**< for prompts, which are read in parts; default: `threads` */
    int parallel;      /**< texts that takt_generate_many writes together; default 1 */
    /** Bytes of one pool for the caches of `parallel` texts, 2 or more; default: each has a cache
     * of its own. Then only takt_generate_many can write texts: one begins when its prompt and
     * `max_tokens` fit, and keys and values of common prefixes are stored once. */
    uint64_t pool_bytes;
    /** Called before any weight is read, with the tokenizer and the capacity of the context in
     *  tokens: anything but TAKT_OK ends opening with that status. Default NULL: not called. */
    takt_status (*check)(void *user, const takt_tokenizer *tokenizer, int64_t context);
    void *check_user;
    /** This will be the draft of a model with that tokenizer: another vocabulary is refused before
     *  any weight is read (3765). Borrowed for the call; default NULL. */
    const takt_tokenizer *draft_for;
    /** Texts will be generated with `draft` or `lookup`: a model that cannot speculate is refused
     *  before any weight is packed (3765). Those of a .taktp file have been read for their
     * checksums by then. */
    bool speculates;
} takt_generator_options;

/** Opens a GGUF or .taktp file, or a Hugging Face folder. Files stay open: weights are read when
 *  they are needed, normally once, and the originals of packed weights are not kept.
 *
 *  @return TAKT_ERR_UNSUPPORTED (3702) if the model does not generate text; what takt_model_load,
 *  takt_tokenizer_load and takt_plan_create return */
TAKT_API TAKT_MUST_USE takt_status takt_generator_open(takt_ctx *ctx, const char *path,
                                                       const takt_generator_options *options,
                                                       takt_generator **generator);
/** Accepts NULL. */
TAKT_API void takt_generator_destroy(takt_generator *generator);

/** Its tokenizer and its plan, valid as long as the generator. */
TAKT_API const takt_tokenizer *takt_generator_tokenizer(const takt_generator *generator);
TAKT_API const takt_plan *takt_generator_plan(const takt_generator *generator);
/** Whether activations are quantised: `activations` is "int8" and some weights are blocks. */
TAKT_API bool takt_generator_rounds(const takt_generator *generator);
/** Whether an encoder reads the prompt, as in T5. Then the first tokens that are read after the
 *  start or a reset are the prompt, all of it, and the scores are those of the answer's first
 *  token; tokens that are read later are the answer. Every takt_generate starts a new prompt. */
TAKT_API bool takt_generator_has_encoder(const takt_generator *generator);
/** Capacity in tokens, and tokens read so far. */
TAKT_API int64_t takt_generator_context(const takt_generator *generator);
TAKT_API int64_t takt_generator_position(const takt_generator *generator);
/** Discards all tokens that were read. */
TAKT_API void takt_generator_reset(takt_generator *generator);
/** Discards all tokens after the first `position`. There are no scores until more tokens are
 *  read.
 *
 *  @return TAKT_ERR_UNSUPPORTED (3765) if every token changes the whole state, as in Mamba */
TAKT_API TAKT_MUST_USE takt_status takt_generator_rewind(takt_generator *generator,
                                                         int64_t position);
/** From any thread, and from a signal handler: takt_generate, takt_generate_many, or a call that
 * reads tokens, ends with TAKT_ERR_CANCELLED where a run can be cancelled (takt_session_cancel),
 * also within a prompt; the run of a draft, or of one text among many, ends first. What was read
 * stays, but takt_generate_many resets the generator. No other call is affected: without one in
 * progress this does nothing. Accepts NULL. */
TAKT_API void takt_generator_cancel(takt_generator *generator);
/** Saves the tokens read and the model's state to a file, replacing it; and loads them. A text that
 *  ended because of its length continues from the file as it would have. The file has a checksum
 *  and is bound to the model, its context, its activations and the types of its cache.
 *
 *  @return TAKT_ERR_FORMAT (3766) if the file is damaged, TAKT_ERR_ARGUMENT (3767) if it is of
 *  another model: the generator is then unchanged; TAKT_ERR_UNSUPPORTED (3702) if the model has an
 *  encoder; TAKT_ERR_IO */
TAKT_API TAKT_MUST_USE takt_status takt_generator_save(takt_generator *generator, const char *path);
TAKT_API TAKT_MUST_USE takt_status takt_generator_load(takt_generator *generator, const char *path);

/** Reads tokens. Afterwards takt_generator_scores returns the scores of the next token.
 *
 *  @return TAKT_ERR_RANGE (3714) for an id that is not in the vocabulary, TAKT_ERR_ARGUMENT (1001)
 *  if the context has no room for them: then nothing was read; what takt_session_run returns */
TAKT_API TAKT_MUST_USE takt_status takt_generator_read(takt_generator *generator,
                                                       const int32_t *ids, size_t count);
/** How many scores a token has: one for each token of the vocabulary, and of unused ids. */
TAKT_API size_t takt_generator_vocabulary(const takt_generator *generator);
/** One score (logit) for each token; NULL before the first tokens were read. Valid until the next
 *  call. */
TAKT_API const float *takt_generator_scores(const takt_generator *generator, size_t *count);
/** Reads tokens, and returns the log-probability of each one given those before it: `logs[i]` is
 *  that of ids[i + 1], so it has count - 1 elements. Tokens read before are discarded.
 *
 *  @return TAKT_ERR_UNSUPPORTED (3702) if the model has an encoder */
TAKT_API TAKT_MUST_USE takt_status takt_generator_rate(takt_generator *generator,
                                                       const int32_t *ids, size_t count,
                                                       double *logs);

/** Receives the scores after token `index`, one for each token of the vocabulary; valid during the
 *  call. A result other than 0 ends reading. */
typedef int takt_scores_fn(void *user, size_t index, const float *scores, size_t count);
/** Reads tokens as takt_generator_rate does, and passes the scores after each but the last to
 *  `each`, in order.
 *
 *  @return what takt_generator_rate returns; TAKT_OK if `each` ended it */
TAKT_API TAKT_MUST_USE takt_status takt_generator_rate_each(takt_generator *generator,
                                                            const int32_t *ids, size_t count,
                                                            takt_scores_fn *each, void *user);

typedef struct takt_token_bias {
    int32_t id;
    float bias; /**< added to the score; -INFINITY: never */
} takt_token_bias;

/** How the next token is chosen. Zero in any field means that it has no effect; all zeros choose
 *  the best token each time. */
typedef struct takt_sampling {
    size_t size;
    double temperature; /**< 0: the best token, whatever the other fields say */
    int64_t top_k;
    double top_p, min_p, typical_p;
    double repeat_penalty, presence_penalty, frequency_penalty;
    int64_t repeat_last_n; /**< tokens that penalties consider; 0: 64, -1: all */
    int mirostat;          /**< Mirostat 1 or 2; replaces all but penalties and temperature */
    double mirostat_tau, mirostat_eta; /**< 0: 5 and 0.1 */
    const takt_token_bias *bias;
    size_t bias_count;
    /** Their order, by names or by llama.cpp's letters; default
     *  "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature", "e;d;s;k;y;p;m;x;t". */
    const char *samplers;
    uint64_t seed;
    uint32_t sequence; /**< for several texts with one seed */
    /** Dynamic temperature: from temperature - range to temperature + range, by the entropy of the
     *  candidates to the power of `dynatemp_exponent` (0: 1). */
    double dynatemp_range, dynatemp_exponent;
    double top_n_sigma; /**< candidates within this many standard deviations of the best score */
    /** XTC: with this probability all candidates at least as probable as the threshold (0: 0.1) are
     *  removed, except the least probable of them. Above 0.5 the threshold turns it off. */
    double xtc_probability, xtc_threshold;
    /** DRY: a token that would extend a repetition of `n` earlier tokens loses multiplier * base ^
     *  (n - allowed length). 0: off, 1.75, 2, and all earlier tokens. */
    double dry_multiplier, dry_base;
    int64_t dry_allowed_length, dry_penalty_last_n;
    /** Sequence breakers: no repetition extends across these texts. NULL: "\n", ":", "\"" and "*";
     *  a list of none: no text. takt_token_draw ignores them. */
    const char *const *dry_breakers;
    size_t dry_breaker_count;
} takt_sampling;

/** Samples a token from scores. `history` has the tokens so far, and may be NULL; its count is the
 *  position, and equal settings draw equal numbers at equal positions. Mirostat keeps no state
 *  between calls. */
TAKT_API TAKT_MUST_USE takt_status takt_token_draw(takt_ctx *ctx, const float *scores, size_t count,
                                                   const takt_sampling *sampling,
                                                   const takt_token_ids *history, int32_t *id);

/** Why a text ended. */
typedef enum takt_text_end {
    TAKT_TEXT_LENGTH, /**< max_tokens */
    TAKT_TEXT_EOS,    /**< end-of-text token of the model */
    TAKT_TEXT_CONTEXT,
    TAKT_TEXT_STOP, /**< a stop string, or the sink */
} takt_text_end;

typedef struct takt_generated {
    size_t prompt_tokens, tokens;
    double prompt_ns, ns; /**< time to read the prompt, and to generate the rest */
    takt_text_end end;
    size_t drafted, accepted; /**< tokens that were drafted, and drafts that were accepted */
    size_t cached_tokens;     /**< tokens of the prompt that had been read before */
} takt_generated;

typedef struct takt_generate_options {
    size_t size;
    size_t max_tokens; /**< 0: until the text or the context ends */
    bool ignore_eos;   /**< continue past the model's end-of-text token */
    bool show_control; /**< write the names of control tokens */
    const char *stop;  /**< ends the text, and is not part of it; may be NULL */
    takt_sampling sampling;
    const takt_grammar *grammar; /**< constrains the text; may be NULL */
    const char *const *stops;    /**< more stop strings */
    size_t stop_count;
    /** Speculative decoding: tokens are drafted and then verified in one run. The text is the same,
     *  and faster where drafts are right. `draft` is a smaller model with the same vocabulary; it
     *  must outlive the call, and may be NULL. */
    takt_generator *draft;
    bool lookup;        /**< draft the tokens that followed the same tokens before */
    size_t draft_max;   /**< tokens that are drafted at once; 0: 16 */
    double draft_p_min; /**< the draft stops below this probability; 0: 0.75, negative: never */
    /** The prompt is the whole text: the prefix that it shares with the tokens read before is kept,
     *  and the rest discarded. The result is the same as if all of it were read again. */
    bool reuse;
} takt_generate_options;

/** Continues `prompt` and passes the text to `sink` as it is generated, whole characters only. A
 *  sink that does not return 0 ends the text. Continues from what was read before;
 *  takt_generator_reset clears that. `result` may be NULL.
 *
 *  @return TAKT_ERR_UNSUPPORTED (3765) if the draft has another vocabulary, or a model cannot
 *  speculate; what takt_generator_read returns */
TAKT_API TAKT_MUST_USE takt_status takt_generate(takt_generator *generator, const char *prompt,
                                                 const takt_generate_options *options,
                                                 takt_sink_fn *sink, void *user,
                                                 takt_generated *result);

/** Texts, owned by the caller. */
typedef struct takt_prompts {
    const char *const *at;
    size_t count;
} takt_prompts;
/** Receives a piece of the text that continues prompt `index`. A positive result ends this text, a
 *  negative one all texts. */
typedef int takt_many_fn(void *user, size_t index, const char *text, size_t length);
/** Continues prompts as separate texts, up to `parallel` of the generator's options at a time: one
 *  run reads the next token of each. Every text is the one that takt_generate writes after
 *  takt_generator_reset. `results` has room for all, or is NULL; its times include the texts that
 *  share the runs. Speculation (`draft`, `lookup`) is only used for a single text. Afterwards the
 *  generator is reset.
 *
 *  @return what takt_generate returns, at the first failure */
TAKT_API TAKT_MUST_USE takt_status takt_generate_many(takt_generator *generator,
                                                      const takt_prompts *prompts,
                                                      const takt_generate_options *options,
                                                      takt_many_fn *sink, void *user,
                                                      takt_generated *results);

/** Writes a GGUF file as a Hugging Face folder: config.json, model.safetensors, tokenizer.json and
 *  tokenizer_config.json, into `folder`, which must exist. `type` is the type of matrices: "f32",
 *  "f16" or "bf16"; NULL or "auto": unchanged, blocks as f32. The output is read back and compared
 *  with the settings of the file. One tensor is in memory at a time.
 *
 *  @return TAKT_ERR_UNSUPPORTED (3702) if folders of the architecture are not supported, or cannot
 *  express the file's settings; TAKT_ERR_ARGUMENT (1003) for another type; TAKT_ERR_IO */
TAKT_API TAKT_MUST_USE takt_status takt_text_unpack(takt_ctx *ctx, const char *from,
                                                    const char *folder, const char *type);

/** Writes a language model, a GGUF file or a Hugging Face folder, to the GGUF file `to`, replacing
 *  it. `type` is the type of matrices: "f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1" or
 *  "q4_0"; NULL or "auto": unchanged. Vectors become f32, matrices whose rows are not whole blocks
 *  f16. One tensor is in memory at a time.
 *
 *  @return what takt_model_load and takt_tokenizer_load return; TAKT_ERR_ARGUMENT (1003) for
 *  another type; TAKT_ERR_IO */
TAKT_API TAKT_MUST_USE takt_status takt_text_convert(takt_ctx *ctx, const char *from,
                                                     const char *to, const char *type);

/** A sentence encoder (BERT, or T5's), as GGUF or folder: one vector for a text. */
typedef struct takt_embedder takt_embedder;
/** On failure `*embedder` is NULL: TAKT_ERR_UNSUPPORTED (3702) if the model is not an encoder; what
 *  takt_model_load, takt_tokenizer_load and takt_plan_create return. */
TAKT_API TAKT_MUST_USE takt_status takt_embedder_open(takt_ctx *ctx, const char *path,
                                                      const takt_generator_options *options,
                                                      takt_embedder **embedder);
/** Accepts NULL. */
TAKT_API void takt_embedder_destroy(takt_embedder *embedder);
/** Length of a vector. */
TAKT_API size_t takt_embedder_size(const takt_embedder *embedder);
/** `vector` has room for takt_embedder_size floats; it is normalised to length 1.
 *
 *  @return TAKT_ERR_ARGUMENT for a text without tokens or with more than the context, what
 *  takt_session_run returns */
TAKT_API TAKT_MUST_USE takt_status takt_embed(takt_embedder *embedder, const char *text,
                                              size_t length, float *vector);

#ifdef __cplusplus
}
#endif
#endif
