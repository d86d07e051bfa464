/* decoder.h - lists of pieces, and the stages that turn one list into the next. */
#ifndef TAKT_TEXT_DECODER_H
#define TAKT_TEXT_DECODER_H

#include "text/tokenizer.h"

typedef struct takt_pieces {
    takt_text bytes; /* one piece after the other; has the first failure */
    void *ends;      /* size_t: where each ends */
    size_t count, room;
    bool continues; /* a text came before: no piece is the first */
} takt_pieces;

void takt_pieces_init(takt_pieces *p, takt_ctx *ctx, bool continues);
void takt_pieces_deinit(takt_pieces *p);
/* Adds to the last piece. */
void takt_pieces_put(takt_pieces *p, takt_span text);
/* Ends the last piece. */
void takt_pieces_end(takt_pieces *p);

typedef void takt_decode_fn(const takt_decoder *d, const takt_pieces *from, takt_pieces *to);
takt_decode_fn takt_decode_spaced, takt_decode_fuse, takt_decode_replace, takt_decode_byte_level,
    takt_decode_byte_fallback, takt_decode_strip, takt_decode_metaspace, takt_decode_word_pieces,
    takt_decode_words_with_ends, takt_decode_ctc;

#endif
