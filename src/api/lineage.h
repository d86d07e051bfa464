/* lineage.h - where a file came from: the command, the files it read, and their own lineage. */
#ifndef TAKT_API_LINEAGE_H
#define TAKT_API_LINEAGE_H

#include "api/model.h"
#include "base/inner.h"

/* A JSON object: the newest link, and under "links" those before it, newest first. */
TAKT_MUST_USE takt_status takt_lineage_write(const takt_model *m, const takt_save_options *o,
                                             takt_text *text);
/* The SHA-256 of a file, as text. */
enum { TAKT_LINEAGE_HEX = 65 };
TAKT_INNER TAKT_MUST_USE takt_status takt_lineage_hash(takt_ctx *ctx, const char *path,
                                                       char hex[static TAKT_LINEAGE_HEX]);

#endif
