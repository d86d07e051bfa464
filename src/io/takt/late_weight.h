/* late_weight.h - weights that stay in their compiled file until a plan packs them (ir/late.h). */
#ifndef TAKT_IO_TAKT_LATE_WEIGHT_H
#define TAKT_IO_TAKT_LATE_WEIGHT_H

#include "io/read.h"

/* Whether a weight of this type is to be read late: the caller asks for it ("weights=late" among
 * the sizes), the source is a file, and any bytes are values of the type. */
bool takt_taktp_is_late(const takt_source *source, const takt_type *type);
/* A tensor of the bytes at `from`, and their checksum, for which they are read once. */
TAKT_MUST_USE takt_status takt_taktp_late(const takt_source *source, const takt_type *type,
                                          const uint8_t *from, takt_tensor *tensor, uint32_t *crc);

#endif
