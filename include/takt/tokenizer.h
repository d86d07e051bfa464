/**
 * tokenizer.h - text to token ids of language models, and back.
 *
 *     takt_tokenizer *tokens;
 *     int32_t room[64];
 *     char letters[256];
 *     takt_token_ids ids = {room, 64, 0};
 *     takt_token_text text = {letters, 256, 0};
 *     takt_tokenizer_load(ctx, "model.gguf", &tokens);
 *     takt_tokenize(tokens, "Hello world", 11, TAKT_TOKENIZE_ADD, &ids);
 *     takt_detokenize(tokens, ids.at, ids.count, 0, &text);
 *     takt_tokenizer_destroy(tokens);
 *
 * A tokenizer comes from a GGUF or .taktp file, from Hugging Face's tokenizer.json, SentencePiece's
 * tokenizer.model or tiktoken's ranks, or from a folder with one of these. It needs no model, is
 * immutable once loaded, and any number of threads may use it. Texts are bytes: invalid UTF-8 is
 * kept as bytes where the vocabulary can express it.
 */
#ifndef TAKT_TOKENIZER_H
#define TAKT_TOKENIZER_H

#include <stdbool.h>
#include <takt/ctx.h>
#include <takt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_tokenizer takt_tokenizer;

/** @return TAKT_ERR_NOT_FOUND (3713) if there is no tokenizer, TAKT_ERR_FORMAT (3711) if it is
 *  damaged, TAKT_ERR_UNSUPPORTED (3712) with what is missing, TAKT_ERR_IO, TAKT_ERR_MEMORY */
TAKT_API TAKT_MUST_USE takt_status takt_tokenizer_load(takt_ctx *ctx, const char *path,
                                                       takt_tokenizer **tokenizer);
/** The same from bytes, which are borrowed for the call. `name` is for messages.
 *
 *  @return what takt_tokenizer_load returns */
TAKT_API TAKT_MUST_USE takt_status takt_tokenizer_load_memory(takt_ctx *ctx, const char *name,
                                                              const void *bytes, size_t length,
                                                              takt_tokenizer **tokenizer);
/** Accepts NULL. */
TAKT_API void takt_tokenizer_destroy(takt_tokenizer *tokenizer);

/** "bpe" (byte-level), "spm" (SentencePiece), "bpe-characters" or "wordpiece". */
TAKT_API const char *takt_tokenizer_kind(const takt_tokenizer *tokenizer);
/** Size of the vocabulary: all ids are below it. */
TAKT_API size_t takt_tokenizer_count(const takt_tokenizer *tokenizer);

/** Special tokens. */
typedef enum takt_token_role {
    TAKT_TOKEN_BOS, /**< begins a text */
    TAKT_TOKEN_EOS, /**< ends a text */
    TAKT_TOKEN_EOT, /**< ends an answer in a conversation */
    TAKT_TOKEN_UNK, /**< stands for text that the vocabulary cannot express */
    TAKT_TOKEN_PAD,
    TAKT_TOKEN_CLS,
    TAKT_TOKEN_SEP,
    TAKT_TOKEN_MASK,
    TAKT_TOKEN_ROLES
} takt_token_role;

/** The id, or -1 if the vocabulary has none. */
TAKT_API int32_t takt_token_of_role(const takt_tokenizer *tokenizer, takt_token_role role);
/** The id of a token by its bytes, as takt_token_bytes has them; -1 if there is none. Bytes that an
 *  added token and one of the model have give that of the model; in a text the added one is found
 *  first. */
TAKT_API int32_t takt_token_find(const takt_tokenizer *tokenizer, const char *bytes, size_t length);
/** What the token stands for, not terminated; SentencePiece's and WordPiece's begin-of-word mark is
 *  "\xE2\x96\x81". NULL if there is no such id. */
TAKT_API const char *takt_token_bytes(const takt_tokenizer *tokenizer, int32_t id, size_t *length);
/** Whether the token is a control token rather than text. False if there is no such id. */
TAKT_API bool takt_token_is_control(const takt_tokenizer *tokenizer, int32_t id);
/** Whether a text ends with the token: end of text, of a turn, of a message. */
TAKT_API bool takt_token_is_end(const takt_tokenizer *tokenizer, int32_t id);

enum {
    TAKT_TOKENIZE_ADD = 1,   /**< add what the model expects around a text, e.g. begin-of-text */
    TAKT_TOKENIZE_PARSE = 2, /**< names of control tokens in the text become those tokens */
};

/** Space for ids, owned by the caller. */
typedef struct takt_token_ids {
    int32_t *at; /**< may be NULL if capacity is 0 */
    size_t capacity;
    size_t count; /**< receives the number of ids, even if above `capacity` */
} takt_token_ids;

/** If there are more ids than room, the first are written and the result is TAKT_OK: call again
 *  with more room.
 *
 *  @return TAKT_ERR_MEMORY, TAKT_ERR_ARGUMENT */
TAKT_API TAKT_MUST_USE takt_status takt_tokenize(const takt_tokenizer *tokenizer, const char *text,
                                                 size_t length, unsigned flags,
                                                 takt_token_ids *ids);

enum {
    TAKT_DETOKENIZE_CONTROL = 1,  /**< write the names of control tokens */
    TAKT_DETOKENIZE_CONTINUE = 2, /**< the ids continue a text: keep a space at the beginning */
};

/** Space for a text, owned by the caller. */
typedef struct takt_token_text {
    char *at; /**< may be NULL if capacity is 0 */
    size_t capacity;
    size_t length; /**< receives the number of bytes, even if above `capacity` */
} takt_token_text;

/** The text is not terminated, and may end within a character.
 *
 *  @return TAKT_ERR_RANGE (3714) for an id that is not in the vocabulary; TAKT_ERR_MEMORY;
 *          TAKT_ERR_UNSUPPORTED for a text that is too long for a pattern of the decoder */
TAKT_API TAKT_MUST_USE takt_status takt_detokenize(const takt_tokenizer *tokenizer,
                                                   const int32_t *ids, size_t count, unsigned flags,
                                                   takt_token_text *text);

/** Ids with their texts: `takt tokenize`. */
TAKT_API TAKT_MUST_USE takt_status takt_tokens_report(const takt_tokenizer *tokenizer,
                                                      const int32_t *ids, size_t count,
                                                      takt_format format, takt_sink_fn *sink,
                                                      void *user);

#ifdef __cplusplus
}
#endif
#endif
