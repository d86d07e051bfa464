/* crc32c.h - the Castagnoli checksum. */
#ifndef TAKT_BASE_CRC32C_H
#define TAKT_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 at first) over more bytes: the pieces in order give the checksum of the
 * whole. */
uint32_t takt_crc32c(uint32_t crc, const void *bytes, size_t length);
/* The table-driven version, used if the processor has no instruction for it. */
uint32_t takt_crc32c_table(uint32_t crc, const void *bytes, size_t length);

#endif
