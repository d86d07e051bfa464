/* picture.c - images: PGM and PPM by ourselves, PNG by libpng, JPEG by libjpeg-turbo; the libraries
 * are loaded on demand.
 *
 * One file is one sample, u8[channels, height, width]: 1 channel if it is grey, else 3. */
#include <string.h>

#include "base/mem.h"
#include "os/library.h"
#include "train/data/data.h"

typedef struct picture {
    size_t width, height, channels;
} picture;

static bool is_pnm(const takt_data_file *f)
{
    return f->length > 8 && f->bytes[0] == 'P' && (f->bytes[1] == '5' || f->bytes[1] == '6') &&
           (f->bytes[2] == ' ' || f->bytes[2] == '\n' || f->bytes[2] == '\t' ||
            f->bytes[2] == '\r');
}

static bool is_png(const takt_data_file *f)
{
    return f->length > 24 && memcmp(f->bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static bool is_jpeg(const takt_data_file *f)
{
    return f->length > 4 && memcmp(f->bytes, "\xff\xd8\xff", 3) == 0;
}

static bool recognises(const takt_data_file *f)
{
    return is_pnm(f) || is_png(f) || is_jpeg(f);
}

/* ---- the sample ---- */

static takt_status add(takt_data_set *set, const takt_data_file *f, const picture *p,
                       takt_tensor **x)
{
    const takt_type type = {
        .dtype = TAKT_U8,
        .rank = 4,
        .dim = {1, (int64_t)p->channels, (int64_t)p->height, (int64_t)p->width}};
    if (p->width == 0 || p->height == 0 || p->width > 1 << 16 || p->height > 1 << 16)
        return takt_data_fail(set, f, "a picture of %zu by %zu cannot be read", p->width,
                              p->height);
    return takt_data_add(set, f, "x", &type, x);
}

/* Pixels, channel by channel. */
static void spread(const picture *p, const uint8_t *from, uint8_t *to)
{
    const size_t area = p->width * p->height;
    for (size_t i = 0; i < area; i++)
        for (size_t c = 0; c < p->channels; c++)
            to[c * area + i] = from[i * p->channels + c];
}

/* ---- PGM, PPM ---- */

/* The next whole number of the header; SIZE_MAX: there is none. Comments are skipped. */
static size_t header_number(const takt_data_file *f, size_t *at)
{
    size_t value = 0, digits = 0;
    while (*at < f->length && strchr(" \t\r\n#", f->bytes[*at]) != NULL && f->bytes[*at] != 0) {
        const bool is_comment = f->bytes[*at] == '#';
        while (is_comment && *at < f->length && f->bytes[*at] != '\n')
            ++*at;
        *at += *at < f->length;
    }
    for (; *at < f->length && f->bytes[*at] >= '0' && f->bytes[*at] <= '9' && digits < 9; digits++)
        value = 10 * value + (size_t)(f->bytes[(*at)++] - '0');
    return digits > 0 ? value : SIZE_MAX;
}

static takt_status read_pnm(takt_data_set *set, const takt_data_file *f)
{
    size_t at = 2;
    const size_t width = header_number(f, &at), height = header_number(f, &at);
    const size_t most = header_number(f, &at);
    const picture p = {width, height, f->bytes[1] == '6' ? 3 : 1};
    takt_tensor *x;
    if (most != 255 || width > 1 << 16 || height > 1 << 16 || ++at > f->length ||
        f->length - at < width * height * p.channels)
        return takt_data_fail(set, f, "the picture has no plain header, or too few bytes");
    TAKT_TRY(add(set, f, &p, &x));
    spread(&p, f->bytes + at, takt_tensor_data(x));
    return TAKT_OK;
}

/* ---- libraries ---- */

/* libpng's png_image, as its manual describes it. */
typedef struct png_picture {
    void *opaque;
    uint32_t version, width, height, format, flags, colormap_entries, warning_or_error;
    char message[64];
} png_picture;

enum { PNG_VERSION = 1, PNG_GREY = 0, PNG_COLOUR = 2 };

typedef struct png {
    int (*begin)(png_picture *p, const void *bytes, size_t length);
    int (*finish)(png_picture *p, const void *background, void *to, int32_t stride, void *map);
    void (*end)(png_picture *p);
} png;

static takt_status absent(takt_data_set *set, const takt_data_file *f, const char *library,
                          const char *package)
{
    takt_data_fail(set, f, "%s is not installed, which reads such pictures", library);
    return takt_fail_hint(set->ctx, "install %s, or convert the pictures to .ppm", package);
}

static takt_status finish_png(takt_data_set *set, const takt_data_file *f, const png *lib,
                              png_picture *image)
{
    static const uint8_t black[3] = {0};
    const bool is_grey = (image->format & PNG_COLOUR) == 0;
    const picture p = {image->width, image->height, is_grey ? 1 : 3};
    takt_tensor *x;
    void *pixels;
    image->format = is_grey ? PNG_GREY : PNG_COLOUR;
    takt_status status = add(set, f, &p, &x);
    const size_t bytes = p.width * p.height * p.channels;
    if (status == TAKT_OK)
        status = takt_mem_get(set->ctx, bytes, "pixels", &pixels);
    if (status != TAKT_OK) {
        lib->end(image);
        return status;
    }
    const bool ok = lib->finish(image, black, pixels, (int32_t)(p.width * p.channels), NULL) != 0;
    if (ok)
        spread(&p, pixels, takt_tensor_data(x));
    takt_mem_put(set->ctx, pixels, bytes);
    lib->end(image);
    image->message[sizeof image->message - 1] = '\0';
    return ok ? TAKT_OK : takt_data_fail(set, f, "libpng: %s", image->message);
}

static takt_status read_png(takt_data_set *set, const takt_data_file *f)
{
    takt_library *library = takt_library_open("libpng16.so.16");
    png_picture image = {.version = PNG_VERSION};
    png lib = {0};
    if (library != NULL) {
        lib.begin = (int (*)(png_picture *, const void *, size_t))takt_library_find(
            library, "png_image_begin_read_from_memory");
        lib.finish = (int (*)(png_picture *, const void *, void *, int32_t,
                              void *))takt_library_find(library, "png_image_finish_read");
        lib.end = (void (*)(png_picture *))takt_library_find(library, "png_image_free");
    }
    takt_status status;
    if (lib.begin == NULL || lib.finish == NULL || lib.end == NULL) {
        status = absent(set, f, "libpng16", "libpng16-16");
    } else if (lib.begin(&image, f->bytes, f->length) == 0) {
        image.message[sizeof image.message - 1] = '\0';
        status = takt_data_fail(set, f, "libpng: %s", image.message);
    } else {
        status = finish_png(set, f, &lib, &image);
    }
    takt_library_close(library);
    return status;
}

typedef struct turbo {
    void *(*create)(void);
    int (*header)(void *handle, const uint8_t *bytes, unsigned long length, int *width, int *height,
                  int *subsampling, int *colours);
    int (*decode)(void *handle, const uint8_t *bytes, unsigned long length, uint8_t *to, int width,
                  int pitch, int height, int format, int flags);
    int (*destroy)(void *handle);
} turbo;

enum { TURBO_RGB = 0, TURBO_GREY = 6 };
enum { TURBO_COLOURS_GREY = 2, TURBO_COLOURS_CMYK = 3, TURBO_COLOURS_YCCK = 4 };

static takt_status decode_jpeg(takt_data_set *set, const takt_data_file *f, const turbo *t,
                               void *handle)
{
    int width, height, subsampling, colours;
    takt_tensor *x;
    void *pixels;
    if (t->header(handle, f->bytes, f->length, &width, &height, &subsampling, &colours) != 0 ||
        width < 0 || height < 0)
        return takt_data_fail(set, f, "the JPEG picture is damaged");
    if (colours == TURBO_COLOURS_CMYK || colours == TURBO_COLOURS_YCCK)
        return takt_data_fail(set, f, "the JPEG picture is CMYK, made for printing, not RGB");
    const bool is_grey = colours == TURBO_COLOURS_GREY;
    const picture p = {(size_t)width, (size_t)height, is_grey ? 1 : 3};
    TAKT_TRY(add(set, f, &p, &x));
    const size_t bytes = p.width * p.height * p.channels;
    TAKT_TRY(takt_mem_get(set->ctx, bytes, "pixels", &pixels));
    const bool ok = t->decode(handle, f->bytes, f->length, pixels, width, 0, height,
                              is_grey ? TURBO_GREY : TURBO_RGB, 0) == 0;
    if (ok)
        spread(&p, pixels, takt_tensor_data(x));
    takt_mem_put(set->ctx, pixels, bytes);
    return ok ? TAKT_OK : takt_data_fail(set, f, "the JPEG picture is damaged");
}

static takt_status read_jpeg(takt_data_set *set, const takt_data_file *f)
{
    takt_library *library = takt_library_open("libturbojpeg.so.0");
    turbo t = {0};
    if (library != NULL) {
        t.create = (void *(*)(void))takt_library_find(library, "tjInitDecompress");
        t.header = (int (*)(void *, const uint8_t *, unsigned long, int *, int *, int *,
                            int *))takt_library_find(library, "tjDecompressHeader3");
        t.decode = (int (*)(void *, const uint8_t *, unsigned long, uint8_t *, int, int, int, int,
                            int))takt_library_find(library, "tjDecompress2");
        t.destroy = (int (*)(void *))takt_library_find(library, "tjDestroy");
    }
    takt_status status;
    void *handle = t.create != NULL && t.header != NULL && t.decode != NULL && t.destroy != NULL
                       ? t.create()
                       : NULL;
    if (handle == NULL) {
        status = absent(set, f, "libturbojpeg", "libturbojpeg0");
    } else {
        status = decode_jpeg(set, f, &t, handle);
        t.destroy(handle);
    }
    takt_library_close(library);
    return status;
}

static takt_status read(takt_data_set *set, const takt_data_file *f)
{
    return is_png(f) ? read_png(set, f) : is_jpeg(f) ? read_jpeg(set, f) : read_pnm(set, f);
}

const takt_data_reader takt_data_picture = {.name = "picture",
                                            .summary = "one picture: PNG, JPEG, PGM or PPM",
                                            .advice = "convert or copy the picture again, or "
                                                      "remove it from the data set",
                                            .recognises = recognises,
                                            .read = read};
