/* peak_i8_i8mm.c - how fast this processor multiplies and adds i8, by smmla. */
#define DOT vmmlaq_s32
#define OPS 64
#define NAME "i8mm"
#define RANK 30
#include "kernel/peak_i8/arm_body.inc"
