/* cells.h - the lines and cells of a table in text. */
#ifndef TAKT_TRAIN_DATA_CELLS_H
#define TAKT_TRAIN_DATA_CELLS_H

#include "train/data/data.h"

/* The next line from `*at` on that is not blank, without blanks around it; false: there is none. */
bool takt_cells_line(const takt_data_file *file, size_t *at, takt_span *line);
/* The cells between separators `comma`, without blanks and quotes around them; NULL: counts them.
 * Returns how many there are, `most` + 1 if there are more. */
size_t takt_cells_split(char comma, takt_span line, takt_span *cell, size_t most);
bool takt_cell_is_number(takt_span cell);
/* Empty, or says so: NA, nan, ?. */
bool takt_cell_is_missing(takt_span cell);
/* Two quotes in a cell become one. */
TAKT_MUST_USE takt_status takt_cell_undo(takt_arena *arena, takt_span *cell);

#endif
