/* beside.h - the files that a text model may refer to: those inside its folder. */
#ifndef TAKT_IO_TAKT_BESIDE_H
#define TAKT_IO_TAKT_BESIDE_H

#include "io/read.h"
#include "lang/parse.h"

/* Borrows the source. */
takt_parse_files takt_files_beside(const takt_source *source);

#endif
