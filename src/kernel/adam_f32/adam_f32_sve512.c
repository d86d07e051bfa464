/* adam_f32_sve512.c - one step of Adam, scalable vectors of 512 bits. */
#include "kernel/adam_f32/adam_f32_body.h"
