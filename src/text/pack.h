/* pack.h - the tokenizer of a language model as bytes that a compiled model keeps. */
#ifndef TAKT_TEXT_PACK_H
#define TAKT_TEXT_PACK_H

#include "base/error.h"
#include "base/text.h"

/* That of a file or folder; empty: it has none. */
TAKT_MUST_USE takt_status takt_tokenizer_pack(takt_ctx *ctx, const char *path, takt_text *bytes);

#endif
