/* adam_f32_sve256.c - one step of Adam, scalable vectors of 256 bits. */
#include "kernel/adam_f32/adam_f32_body.h"
