/* adam_f32_scalar.c - one step of Adam, the definition: one parameter at a time. */
#include "kernel/adam_f32/adam_f32_body.h"
