/**
 * grammar.h - constrained text generation: grammars in GBNF, and JSON schemas.
 *
 *     takt_grammar *grammar;
 *     takt_grammar_parse(ctx, "root ::= \"yes\" | \"no\"", 0, &grammar);
 *     takt_generate_options how = {.max_tokens = 64, .grammar = grammar};
 *     takt_grammar_destroy(grammar);
 *
 * GBNF is llama.cpp's notation. A grammar is compiled to a small machine over bytes, so tokens may
 * end within a character or a word of it. A matcher follows one text; all its memory is allocated
 * on creation, nothing per token. A grammar is immutable, and any number of threads may use it; a
 * matcher has one caller at a time.
 */
#ifndef TAKT_GRAMMAR_H
#define TAKT_GRAMMAR_H

#include <takt/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_grammar takt_grammar;
typedef struct takt_matcher takt_matcher;

/** Reads GBNF, whose rule `root` is the whole text. `length` may be 0 for a terminated text.
 *
 *  @return TAKT_ERR_FORMAT (3771) with the line, TAKT_ERR_LIMIT (3773) if it is left-recursive,
 *  nests too deeply or is too large */
TAKT_API TAKT_MUST_USE takt_status takt_grammar_parse(takt_ctx *ctx, const char *text,
                                                      size_t length, takt_grammar **grammar);
/** The JSON texts that a schema allows, with little white space. Objects have their properties in
 *  the schema's order.
 *
 *  @return TAKT_ERR_UNSUPPORTED (3772) with the unknown keyword, TAKT_ERR_FORMAT (3771 or 3101),
 *  TAKT_ERR_LIMIT (3773) */
TAKT_API TAKT_MUST_USE takt_status takt_grammar_of_schema(takt_ctx *ctx, const char *json,
                                                          size_t length, takt_grammar **grammar);
/** Accepts NULL. */
TAKT_API void takt_grammar_destroy(takt_grammar *grammar);
/** The grammar in GBNF; for a schema, its translation. */
TAKT_API const char *takt_grammar_text(const takt_grammar *grammar);

/** A matcher at the beginning of a text. `grammar` and `tokenizer` must outlive it; the tokenizer
 *  may be NULL where only bytes are matched. */
TAKT_API TAKT_MUST_USE takt_status takt_matcher_create(const takt_grammar *grammar,
                                                       const takt_tokenizer *tokenizer,
                                                       takt_matcher **matcher);
/** Accepts NULL. */
TAKT_API void takt_matcher_destroy(takt_matcher *matcher);
/** Back to the beginning. */
TAKT_API void takt_matcher_reset(takt_matcher *matcher);
/** Which tokens may come next: bit `id % 64` of `bits[id / 64]`, for all ids of the tokenizer.
 *  Tokens that end a text may come where the text may end. `count` receives how many there are.
 *
 *  @return TAKT_ERR_LIMIT (3773) if the grammar is too ambiguous here, TAKT_ERR_ARGUMENT */
TAKT_API TAKT_MUST_USE takt_status takt_matcher_mask(takt_matcher *matcher, uint64_t *bits,
                                                     size_t *count);
/** Advances by one token.
 *
 *  @return TAKT_ERR_RANGE (3774) if it may not come here: then nothing has changed */
TAKT_API TAKT_MUST_USE takt_status takt_matcher_accept(takt_matcher *matcher, int32_t id);
/** The same by bytes.
 *
 *  @return what takt_matcher_accept returns, TAKT_ERR_LIMIT (3773) as takt_matcher_mask, or
 * TAKT_ERR_ARGUMENT for more bytes than the longest token has; on failure nothing has changed */
TAKT_API TAKT_MUST_USE takt_status takt_matcher_accept_bytes(takt_matcher *matcher,
                                                             const char *bytes, size_t length);
/** Whether the text may end here. */
TAKT_API bool takt_matcher_can_end(const takt_matcher *matcher);

#ifdef __cplusplus
}
#endif
#endif
