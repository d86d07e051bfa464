/* file_type.c - general.file_type: llama.cpp's number for the type of a file's matrices. */
#include <string.h>

#include "io/gguf/gguf_write.h"

enum { TYPES = 64 };

/* The most frequent type among the matrices' numbers; NULL: there are none. */
static const takt_gguf_type *most_written(const takt_gguf_tensor *tensors, size_t count)
{
    size_t counts[TYPES] = {0}, most = 0;
    const takt_gguf_type *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const takt_gguf_tensor *t = &tensors[i];
        if (t->rank < 2 || t->type->number >= TYPES)
            continue;
        counts[t->type->number] += t->count;
        if (counts[t->type->number] > most) {
            most = counts[t->type->number];
            found = t->type;
        }
    }
    return found;
}

static bool has_blocks(const takt_gguf_tensor *tensors, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= tensors[i].type->dtype == TAKT_DTYPE_COUNT;
    return found;
}

void takt_gguf_put_file_type(takt_gguf_keys *keys, const takt_gguf_tensor *tensors, size_t count,
                             bool has_version)
{
    static const struct {
        const char *name;
        uint32_t number;
    } known[] = {{"F32", 0},    {"F16", 1},      {"Q4_0", 2},   {"Q4_1", 3},     {"Q8_0", 7},
                 {"Q5_0", 8},   {"Q5_1", 9},     {"Q2_K", 10},  {"Q3_K", 12},    {"Q4_K", 15},
                 {"Q5_K", 17},  {"Q6_K", 18},    {"BF16", 32},  {"IQ4_NL", 25},  {"IQ4_XS", 30},
                 {"MXFP4", 38}, {"NVFP4", 39},   {"Q1_0", 40},  {"Q2_0", 41},    {"TQ1_0", 36},
                 {"TQ2_0", 37}, {"IQ1_S", 24},   {"IQ1_M", 31}, {"IQ2_XXS", 19}, {"IQ2_XS", 20},
                 {"IQ2_S", 28}, {"IQ3_XXS", 23}, {"IQ3_S", 26}};
    const takt_gguf_type *type = most_written(tensors, count);
    for (size_t i = 0; type != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, type->name) == 0)
            takt_gguf_put_u32(keys, "general.file_type", known[i].number);
    if (!has_version && has_blocks(tensors, count))
        takt_gguf_put_u32(keys, "general.quantization_version", 2);
}
