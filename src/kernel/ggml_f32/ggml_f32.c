/* ggml_f32.c - ggml's block formats: names and sizes. */
#include "kernel/ggml_f32/ggml_f32.h"

const takt_ggml_info takt_ggml_formats[TAKT_GGML_FORMATS] = {
    [TAKT_GGML_Q4_0] = {"q4_0", 32, 18, 2},      [TAKT_GGML_Q4_1] = {"q4_1", 32, 20, 3},
    [TAKT_GGML_Q5_0] = {"q5_0", 32, 22, 6},      [TAKT_GGML_Q5_1] = {"q5_1", 32, 24, 7},
    [TAKT_GGML_Q8_0] = {"q8_0", 32, 34, 8},      [TAKT_GGML_Q2_K] = {"q2_k", 256, 84, 10},
    [TAKT_GGML_Q3_K] = {"q3_k", 256, 110, 11},   [TAKT_GGML_Q4_K] = {"q4_k", 256, 144, 12},
    [TAKT_GGML_Q5_K] = {"q5_k", 256, 176, 13},   [TAKT_GGML_Q6_K] = {"q6_k", 256, 210, 14},
    [TAKT_GGML_IQ4_NL] = {"iq4_nl", 32, 18, 20}, [TAKT_GGML_IQ4_XS] = {"iq4_xs", 256, 136, 23},
    [TAKT_GGML_MXFP4] = {"mxfp4", 32, 17, 39},
};
