/* gguf_types.c - the element types of GGUF's tensors. The contents of blocks are described in
 * ggml_f32. */
#include "io/gguf/gguf.h"

#define BLOCKS TAKT_DTYPE_COUNT
static const takt_gguf_type types[] = {
    {0, "F32", 1, 4, TAKT_F32},       {1, "F16", 1, 2, TAKT_F16},
    {2, "Q4_0", 32, 18, BLOCKS},      {3, "Q4_1", 32, 20, BLOCKS},
    {6, "Q5_0", 32, 22, BLOCKS},      {7, "Q5_1", 32, 24, BLOCKS},
    {8, "Q8_0", 32, 34, BLOCKS},      {9, "Q8_1", 32, 36, BLOCKS},
    {10, "Q2_K", 256, 84, BLOCKS},    {11, "Q3_K", 256, 110, BLOCKS},
    {12, "Q4_K", 256, 144, BLOCKS},   {13, "Q5_K", 256, 176, BLOCKS},
    {14, "Q6_K", 256, 210, BLOCKS},   {15, "Q8_K", 256, 292, BLOCKS},
    {16, "IQ2_XXS", 256, 66, BLOCKS}, {17, "IQ2_XS", 256, 74, BLOCKS},
    {18, "IQ3_XXS", 256, 98, BLOCKS}, {19, "IQ1_S", 256, 50, BLOCKS},
    {20, "IQ4_NL", 32, 18, BLOCKS},   {21, "IQ3_S", 256, 110, BLOCKS},
    {22, "IQ2_S", 256, 82, BLOCKS},   {23, "IQ4_XS", 256, 136, BLOCKS},
    {24, "I8", 1, 1, TAKT_I8},        {25, "I16", 1, 2, TAKT_I16},
    {26, "I32", 1, 4, TAKT_I32},      {27, "I64", 1, 8, TAKT_I64},
    {28, "F64", 1, 8, TAKT_F64},      {29, "IQ1_M", 256, 56, BLOCKS},
    {30, "BF16", 1, 2, TAKT_BF16},    {34, "TQ1_0", 256, 54, BLOCKS},
    {35, "TQ2_0", 256, 66, BLOCKS},   {39, "MXFP4", 32, 17, BLOCKS},
    {40, "NVFP4", 64, 36, BLOCKS},    {41, "Q1_0", 128, 18, BLOCKS},
    {42, "Q2_0", 64, 18, BLOCKS},
};

const takt_gguf_type *takt_gguf_type_of(uint32_t number)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == number)
            return &types[i];
    return NULL;
}

takt_ggml_format takt_gguf_format(const takt_gguf_type *type)
{
    int format = 0;
    while (format < TAKT_GGML_FORMATS && takt_ggml_formats[format].code != type->number)
        format++;
    return (takt_ggml_format)format;
}
