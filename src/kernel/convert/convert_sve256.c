/* convert_sve256.c - conversions, scalable vectors of 256 bits. */
#include "kernel/convert/convert_body.h"
