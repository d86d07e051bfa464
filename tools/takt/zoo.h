/* zoo.h - models that come with Takt: zoo/NAME has a text, a recipe and trained 8-bit weights.
 *
 * A recipe is lines of `key: value`. It is reproducible: `takt zoo train` prepares the data,
 * trains, quantises, and gets the same SHA-256 on any machine.
 */
#ifndef TAKT_TOOL_ZOO_H
#define TAKT_TOOL_ZOO_H

#include "tool.h"

enum { TOOL_ZOO_PATH = 512, TOOL_ZOO_TEXT = 256, TOOL_ZOO_MOST = 64, TOOL_ZOO_HEX = 65 };

typedef struct tool_zoo_model {
    char name[64];
    char text[TOOL_ZOO_PATH], weights[TOOL_ZOO_PATH]; /* its files */
    char category[TOOL_ZOO_TEXT];                     /* vision, audio, sensor or text */
    char task[TOOL_ZOO_TEXT];                         /* what it does */
    char data[TOOL_ZOO_TEXT];                         /* its kind: tool_zoo_kinds */
    char source[TOOL_ZOO_TEXT];                       /* source of the data */
    char where[TOOL_ZOO_TEXT];   /* where it is unless --data is given; "" if it is generated */
    char prepare[TOOL_ZOO_TEXT]; /* how it becomes samples (zoo_data.h); "": it is samples */
    char train[TOOL_ZOO_TEXT];   /* flags of `takt train` */
    char metric[TOOL_ZOO_TEXT];  /* of the score: top1 ("" too), f1 or mae */
    char chance[TOOL_ZOO_TEXT];  /* score of the best guess without a model */
    char note[TOOL_ZOO_TEXT];    /* caveats about the score; may be "" */
    char calib[TOOL_ZOO_TEXT];   /* number of samples for calibrating the ranges */
    char score[TOOL_ZOO_TEXT];   /* of the integers on the test part: "98.03 % of 10000" */
    char floats[TOOL_ZOO_TEXT];  /* of the float model they were made from */
    char sha256[TOOL_ZOO_TEXT];  /* of the model as text */
} tool_zoo_model;

/* Allowed values of `category` and `data`; both end with NULL. */
extern const char *const tool_zoo_categories[], *const tool_zoo_kinds[];

/* All names, in order; -1: there is no zoo. */
int tool_zoo_names(char names[TOOL_ZOO_MOST][64]);
/* False: there is no such model, or its recipe lacks something; printed. */
bool tool_zoo_find(const takt_tool *t, const char *name, tool_zoo_model *m);
/* "zoo:NAME" as the path of its file, if there is one; any other path unchanged. */
const char *tool_zoo_path(const char *path);
/* Suggests what "zoo:NAME" probably meant; `hint` is unchanged if the text does not have the form
 * of a zoo model. */
void tool_zoo_near(const char *path, char *hint, size_t size);
/* `takt benchmark zoo`; the exit code. */
int tool_zoo_benchmark(takt_tool *t);
/* SHA-256 of the model as `takt convert M -o -` prints it. */
takt_status tool_zoo_digest(takt_tool *t, const takt_model *model, char hex[TOOL_ZOO_HEX]);

#endif
