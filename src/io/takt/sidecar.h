/* sidecar.h - the files that a text model may refer to: those inside its folder. */
#ifndef TAKT_IO_TAKT_SIDECAR_H
#define TAKT_IO_TAKT_SIDECAR_H

#include "io/read.h"
#include "lang/parse.h"

/* Borrows the source. */
takt_parse_files takt_sidecar_files(const takt_source *source);

#endif
