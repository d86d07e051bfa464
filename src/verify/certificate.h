/* certificate.h - what a proof leaves behind, so that another program can repeat it.
 *
 *     taktcert 1 f32
 *     model 0123456789abcdef
 *     property <SHA-256>
 *     proved 0 2          cases of the property that hold on the box that follows
 *     split 3 0.25        a box; input 3 is split at 0.25: the lower half follows, then the upper
 *     proved 1
 *     leaf                a box that is not split
 *     relu 7 12           element 12 of the relu that is node 7 is split: the part where its input
 *                         is at most 0 follows, then the one where it is at least 0
 *     proved 1
 *     beta 0.5 0          multipliers of the splits of relus around the part, the outermost first
 *     slope 7 0zA...      slopes of lines below the relus of node 7: two characters, or 12 bits,
 *                         for each element, 4095 being 1
 *     leaf
 *     ...
 *     end <SHA-256 of all lines before>
 *
 * There is a tree for every box of the property, in its order, and its boxes come in the order of a
 * walk. More trees of the same box follow as long as some of its cases are not proved everywhere.
 * Numbers read back as the same doubles. A checker takes nothing from it but the splits, and
 * multipliers and slopes, of which any are good: it bounds every box by itself (recheck.h).
 */
#ifndef TAKT_VERIFY_CERTIFICATE_H
#define TAKT_VERIFY_CERTIFICATE_H

#include "base/arena.h"
#include "base/sha256.h"
#include "base/text.h"

/* Slopes of lines below the relus of one node, in steps of 1 / TAKT_CERTIFICATE_GRID. */
typedef struct takt_cut_slopes {
    uint32_t node, count;
    const uint16_t *at;
} takt_cut_slopes;

/* A box of a tree. */
typedef struct takt_cut {
    uint32_t input;   /* UINT32_MAX: it is not split */
    uint32_t element; /* of the relu that is split */
    bool is_relu;     /* `input` is the node of a relu */
    double at;
    const double *beta;
    size_t beta_count;
    const takt_cut_slopes *slopes;
    size_t slope_count;
    const uint32_t *proved; /* cases */
    size_t proved_count;
} takt_cut;

typedef struct takt_certificate {
    takt_arena arena;
    bool is_real;
    uint64_t model;
    char property[TAKT_SHA256_TEXT];
    takt_cut *cuts; /* of all trees, each in traversal order */
    size_t count, capacity;
} takt_certificate;

enum { TAKT_CERTIFICATE_DEPTH = 200, TAKT_CERTIFICATE_GRID = 4095 }; /* splits, steps */

void takt_certificate_write(const takt_certificate *c, takt_text *text);
/* TAKT_E_CERTIFICATE if it is damaged. Deinit it even if this fails. */
TAKT_MUST_USE takt_status takt_certificate_read(takt_ctx *ctx, const char *name, takt_span text,
                                                takt_certificate *c);
void takt_certificate_deinit(takt_certificate *c);

#endif
