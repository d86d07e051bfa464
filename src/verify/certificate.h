/* certificate.h - what a proof leaves behind, so that another program can repeat it.
 *
 *     taktcert 1 f32
 *     model 0123456789abcdef
 *     property <SHA-256>
 *     proved 0 2          cases of the property that hold on the box that follows
 *     split 3 0.25        a box; input 3 is split at 0.25: the lower half follows, then the upper
 *     proved 1
 *     leaf                a box that is not split
 *     ...
 *     end <SHA-256 of all lines before>
 *
 * There is a tree for every box of the property, in its order, and its boxes come in the order of a
 * walk.
 * Numbers read back as the same doubles. A checker takes nothing from it but the splits: it bounds
 * every box by itself (recheck.h).
 */
#ifndef TAKT_VERIFY_CERTIFICATE_H
#define TAKT_VERIFY_CERTIFICATE_H

#include "base/arena.h"
#include "base/sha256.h"
#include "base/text.h"

/* A box of a tree. */
typedef struct takt_cut {
    uint32_t input; /* UINT32_MAX: it is not split */
    double at;
    const uint32_t *proved; /* cases */
    size_t proved_count;
} takt_cut;

typedef struct takt_certificate {
    takt_arena arena;
    bool is_real;
    uint64_t model;
    char property[TAKT_SHA256_TEXT];
    takt_cut *cuts; /* of all trees, each in the order of a walk */
    size_t count, capacity;
} takt_certificate;

enum { TAKT_CERTIFICATE_DEPTH = 200 }; /* of splits */

void takt_certificate_write(const takt_certificate *c, takt_text *text);
/* TAKT_E_CERTIFICATE if it is damaged. Deinit it even if this fails. */
TAKT_MUST_USE takt_status takt_certificate_read(takt_ctx *ctx, const char *name, takt_span text,
                                                takt_certificate *c);
void takt_certificate_deinit(takt_certificate *c);

#endif
