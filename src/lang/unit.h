/* unit.h - one text being turned into a graph, and everything with the same lifetime. */
#ifndef TAKT_LANG_UNIT_H
#define TAKT_LANG_UNIT_H

#include "lang/elab.h"

typedef struct takt_unit {
    takt_elab e;
    takt_source source;
    takt_diagnostics own; /* if the caller gave no list */
} takt_unit;

/* Close it even if this fails. */
TAKT_MUST_USE takt_status takt_unit_open(takt_unit *u, takt_ctx *ctx, const takt_source *source,
                                         const takt_parse_options *options);
void takt_unit_close(takt_unit *u);
/* The layers of one text. */
TAKT_MUST_USE takt_status takt_unit_add_layers(takt_unit *u, const takt_function *layers);
/* Reads all imports of the text, direct and indirect, and adds their layers. */
TAKT_MUST_USE takt_status takt_unit_import(takt_unit *u);
/* The status of the whole: the first complaint becomes the context's error. */
TAKT_MUST_USE takt_status takt_unit_status(const takt_unit *u, takt_status status);

#endif
