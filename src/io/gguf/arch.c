/* arch.c - the texts of the architectures: arch/NAME.takt. */
#include <string.h>

#include "io/gguf/model.h"

static const struct {
    const char *name, *text;
} texts[] = {
#define TAKT_LAYER_TEXT(name, text) {name, text},
#include "arch.inc"
#undef TAKT_LAYER_TEXT
    {NULL, NULL}};

const char *takt_gguf_arch(const char *name)
{
    for (size_t i = 0; texts[i].name != NULL; i++)
        if (strcmp(texts[i].name, name) == 0)
            return texts[i].text;
    return NULL;
}

const char *takt_gguf_arch_encoder(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; texts[i].name != NULL; i++)
        if (strncmp(texts[i].name, name, length) == 0 &&
            strcmp(texts[i].name + length, "encoder") == 0)
            return texts[i].text;
    return NULL;
}

const char *takt_gguf_arch_name(size_t index)
{
    return index < sizeof texts / sizeof *texts ? texts[index].name : NULL;
}
