/* convert_sve512.c - conversions, scalable vectors of 512 bits. */
#include "kernel/convert/convert_body.h"
