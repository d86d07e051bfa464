/* media.h - images and recordings as inputs of a model. */
#ifndef TAKT_TOOL_MEDIA_H
#define TAKT_TOOL_MEDIA_H

#include "tool.h"

enum { MEDIA_CHANNELS = 3, MEDIA_SAID = 200 };

/* How pixels become numbers: (value * scale - mean) / deviation, per channel. */
typedef struct media_image {
    enum { MEDIA_STRETCH, MEDIA_CROP, MEDIA_PAD } fit;
    int64_t width, height; /* where the model leaves them open; 0: as in the file */
    double scale, mean[MEDIA_CHANNELS], deviation[MEDIA_CHANNELS];
    bool is_bgr, is_inverted;
} media_image;

/* Levels from 0 to 255, one channel after the other. */
typedef struct media_planes {
    int64_t channels, height, width;
    float *at;
} media_planes;

/* A file and the input that it goes to. */
typedef struct media_file {
    takt_tool *t;
    const takt_model *model;
    const takt_desc *d;
    const char *path;
} media_file;

/* By its ending: .png, .jpg, .jpeg, .ppm, .pgm or .wav. */
bool tool_is_media(const char *path);
/* Parses --image. False: usage error, printed. */
bool media_read_options(const takt_tool *t, media_image *how);
/* Neither mean nor deviation is given. */
bool media_is_plain(const media_image *how);
/* Reads the file as the input, with its type and, where they are numbers, its sizes. `*said`: the
 * preprocessing, to be freed. Returns the exit code; errors are printed. */
int tool_load_media(const media_file *f, takt_tensor_view *view, char **said);
/* The samples of a .wav file that goes to the input piece by piece, f32[1, samples], and their
 * rate in Hz. */
int tool_load_sound(const media_file *f, takt_tensor_view *sound, int64_t *rate);

/* ---- shared by images and recordings ---- */

bool media_is_sound(const char *path);
/* Whether the model leaves the size of this dimension open. */
bool media_is_open(const takt_desc *d, int axis);
/* The one sample of the file as f32, whose bytes stay 0 … 255. `*rate`: of a recording, in Hz. */
takt_status media_decode(const takt_tool *t, const char *path, takt_tensor_view *raw,
                         int64_t *rate);
/* The exit code of a usage error: why the file cannot be this input. */
int media_refuse(const media_file *f, const char *what);
int media_misnamed(const takt_tool *t, const char *path);
/* A recording as the input: cut, or filled up with zeros. Refused at another rate than the
 * model's. */
int media_take_sound(const media_file *f, const takt_tensor_view *raw, int64_t rate,
                     takt_tensor_view *view, char **said);
/* The exit code of a usage error if recordings have another rate than the model expects: it would
 * hear them too fast or too slow, and answer anyway. `rate` 0: they do not say. */
int media_check_rate(takt_tool *t, const takt_model *m, const char *path, int64_t rate);
/* "16000 samples at 16000 Hz, from -1 to 1"; returns the length. */
size_t media_describe_sound(char text[static MEDIA_SAID], int64_t samples, int64_t rate);
/* Resized by the triangle filter, which is as wide as the step is where it gets smaller; NULL: no
 * memory. To be freed. */
float *media_resize(const takt_tool *t, const media_planes *from, int64_t height, int64_t width);

#endif
