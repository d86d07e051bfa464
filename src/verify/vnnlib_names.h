/* vnnlib_names.h - variables of a VNN-LIB text: X_0 and Y_0 of 1.0, X[0, 1] of 2.0. */
#ifndef TAKT_VERIFY_VNNLIB_NAMES_H
#define TAKT_VERIFY_VNNLIB_NAMES_H

#include "verify/property.h"
#include "verify/vnnlib_scan.h"

enum { TAKT_VNNLIB_TENSORS = 64, TAKT_VNNLIB_RANK = 16 };

/* An input or output that declare-network declares. */
typedef struct takt_vnnlib_tensor {
    takt_span name;
    bool is_input;
    int rank;
    uint32_t dims[TAKT_VNNLIB_RANK];
    uint32_t first, count; /* its elements among those of all inputs, or outputs */
} takt_vnnlib_tensor;

typedef struct takt_vnnlib_names {
    uint32_t counts[2]; /* elements of outputs, of inputs */
    bool has_network;
    size_t tensor_count;
    takt_vnnlib_tensor tensors[TAKT_VNNLIB_TENSORS];
} takt_vnnlib_names;

/* The current word is a name that 1.0 declares: X_n or Y_n, n being the next in order. */
TAKT_MUST_USE takt_status takt_vnnlib_declare(takt_vnnlib_names *n, takt_vnnlib_scan *s);
/* The current word is the name of a tensor; its shape follows two words later. Both are read. */
TAKT_MUST_USE takt_status takt_vnnlib_declare_tensor(takt_vnnlib_names *n, takt_vnnlib_scan *s,
                                                     bool is_input);
/* The element that the current word refers to. */
TAKT_MUST_USE takt_status takt_vnnlib_find(const takt_vnnlib_names *n, takt_vnnlib_scan *s,
                                           takt_term *term);

#endif
