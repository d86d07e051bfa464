/* zoo_data.h - data of the zoo as samples: IDX files, a training and a test part. */
#ifndef TAKT_TOOL_ZOO_DATA_H
#define TAKT_TOOL_ZOO_DATA_H

#include "tool.h"

/* `how` of a recipe from the folder `from`, which may be "", into the folder `to`. False: printed.
 *
 *   digits, speakers   FSDD's sounds, 8 kHz: 0.7 s each; takes 0 to 2 are the test part
 *   beats              ECG5000's table: normal or not; every fourth row is the test part
 *   motions            BasicMotions' two files: six channels of 100 points
 *   vibration          made here: a motor that is sound, unbalanced, misaligned, or whose bearing
 *                      is worn
 */
bool tool_zoo_prepare(const takt_tool *t, const char *how, const char *from, const char *to);

#endif
