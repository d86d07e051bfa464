/* heights.h - a function for every height of a tile, so that compilers know it, and their tables.
 *
 * For variant files that have a tile_job and tile_fixed(t, rows, vectors of columns):
 *     HEIGHTS_2_TO_14(TILE)                                        defines tile_2 to tile_14
 *     static void (*const by_rows[])(const tile_job *) = {HEIGHTS_2_TO_14(TILE_NAME)};
 */
#ifndef TAKT_KERNEL_SIMD_HEIGHTS_H
#define TAKT_KERNEL_SIMD_HEIGHTS_H

#define HEIGHTS_2_TO_6(X) X(2) X(3) X(4) X(5) X(6)
#define HEIGHTS_2_TO_9(X) HEIGHTS_2_TO_6(X) X(7) X(8) X(9)
#define HEIGHTS_2_TO_12(X) HEIGHTS_2_TO_9(X) X(10) X(11) X(12)
#define HEIGHTS_2_TO_14(X) HEIGHTS_2_TO_12(X) X(13) X(14)
#define HEIGHTS_1_TO_12(X) X(1) HEIGHTS_2_TO_12(X)
#define HEIGHTS_1_TO_14(X) X(1) HEIGHTS_2_TO_14(X)

/* Tiles of two vectors of columns, of one and of three. */
#define TILE(R)                                                                                    \
    static void tile_##R(const tile_job *t)                                                        \
    {                                                                                              \
        tile_fixed(t, R, 2);                                                                       \
    }
#define THIN(R)                                                                                    \
    static void thin_##R(const tile_job *t)                                                        \
    {                                                                                              \
        tile_fixed(t, R, 1);                                                                       \
    }
#define BROAD_TILE(R)                                                                              \
    static void broad_##R(const tile_job *t)                                                       \
    {                                                                                              \
        tile_fixed(t, R, 3);                                                                       \
    }
#define BROAD_NAME(R) broad_##R,
#define TILE_NAME(R) tile_##R,
#define THIN_NAME(R) thin_##R,

#endif
