/**
 * chat.h - conversations as the text that a language model was trained on.
 *
 *     takt_chat *chat;
 *     takt_chat_of(tokens, &chat);
 *     takt_chat_render(chat, tokens, "{\"messages\": []}", NULL, sink, user);
 *     takt_chat_destroy(chat);
 *
 * A chat template is a text in Jinja that comes with a model. Takt's own interpreter runs it: it
 * sees only the variables it is given, and stops after a million steps or 1 MiB of text. A template
 * is immutable, and any number of threads may use it.
 */
#ifndef TAKT_CHAT_H
#define TAKT_CHAT_H

#include <takt/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_chat takt_chat;

/** The template that a tokenizer came with, or NULL. */
TAKT_API const char *takt_tokenizer_chat_template(const takt_tokenizer *tokenizer);
/** Names of the built-in templates: "chatml", "gemma", ...; NULL past the last. */
TAKT_API const char *takt_chat_name(size_t index);

/** Reads a template; `name` is for messages. `length` may be 0 for a terminated text.
 *
 *  @return TAKT_ERR_FORMAT (3761) with the line, TAKT_ERR_UNSUPPORTED (3762) with what is missing,
 *  TAKT_ERR_LIMIT (3764) if it nests too deeply */
TAKT_API TAKT_MUST_USE takt_status takt_chat_parse(takt_ctx *ctx, const char *name,
                                                   const char *text, size_t length,
                                                   takt_chat **chat);
/** A built-in template.
 *
 *  @return TAKT_ERR_NOT_FOUND (1002) */
TAKT_API TAKT_MUST_USE takt_status takt_chat_named(takt_ctx *ctx, const char *name,
                                                   takt_chat **chat);
/** The template that a tokenizer came with.
 *
 *  @return TAKT_ERR_NOT_FOUND (3713) if it came without one */
TAKT_API TAKT_MUST_USE takt_status takt_chat_of(const takt_tokenizer *tokenizer, takt_chat **chat);
/** Accepts NULL. */
TAKT_API void takt_chat_destroy(takt_chat *chat);

/** Zero in any field means the default. */
typedef struct takt_chat_options {
    size_t size;
    bool is_complete; /**< do not add the generation prompt */
    int64_t seconds;  /**< since 1970, for templates that use the date; 0: unknown */
} takt_chat_options;

/** Writes a conversation. `variables` is a JSON object with `messages` and whatever else the
 *  template needs (`tools`, ...). The tokenizer gives the template `bos_token` and `eos_token`, and
 *  may be NULL. The begin-of-text token that TAKT_TOKENIZE_ADD adds is not written. The whole text
 *  reaches `sink` at once.
 *
 *  @return TAKT_ERR_RANGE (3763) if the template refuses the conversation, TAKT_ERR_LIMIT (3764),
 *  TAKT_ERR_FORMAT (3101) if the variables are not JSON, TAKT_ERR_ARGUMENT */
TAKT_API TAKT_MUST_USE takt_status takt_chat_render(const takt_chat *chat,
                                                    const takt_tokenizer *tokenizer,
                                                    const char *variables,
                                                    const takt_chat_options *options,
                                                    takt_sink_fn *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
