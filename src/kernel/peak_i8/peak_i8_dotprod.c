/* peak_i8_dotprod.c - how fast this processor multiplies and adds i8, by sdot. */
#define DOT vdotq_s32
#define OPS 32
#define NAME "dotprod"
#define RANK 20
#include "kernel/peak_i8/arm_body.inc"
