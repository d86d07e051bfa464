/* layers.c - the texts of the built-in layers, written in the language itself: layers/NAME.takt. */
#include <string.h>

#include "lang/parse.h"

static const struct {
    const char *name, *text;
} texts[] = {
#define TAKT_LAYER_TEXT(name, text) {name, text},
#include "layers.inc"
#undef TAKT_LAYER_TEXT
    {NULL, NULL}};

const char *takt_layer_name(size_t index)
{
    return index < sizeof texts / sizeof *texts ? texts[index].name : NULL;
}

const char *takt_layer_text(const char *name)
{
    for (size_t i = 0; texts[i].name != NULL; i++)
        if (strcmp(texts[i].name, name) == 0)
            return texts[i].text;
    return NULL;
}
