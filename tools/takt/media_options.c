/* media_options.c - parses --image: imagenet,fit=crop,mean=0.5:0.5:0.5 and so on. */
#include <stdlib.h>
#include <string.h>

#include "media.h"

typedef struct word {
    const char *at;
    size_t length;
} word;

static const char *const keys[] = {"mean", "std",    "scale",    "size", "fit",
                                   "bgr",  "invert", "imagenet", "tf"};

static bool is(word w, const char *text)
{
    return strlen(text) == w.length && memcmp(w.at, text, w.length) == 0;
}

/* One number for all channels, or one for each with colons between. */
static bool numbers(word w, double to[MEDIA_CHANNELS])
{
    char text[128];
    if (w.length == 0 || w.length >= sizeof text)
        return false;
    memcpy(text, w.at, w.length);
    text[w.length] = '\0';
    const char *at = text;
    for (int c = 0; c < MEDIA_CHANNELS; c++) {
        char *end;
        to[c] = strtod(at, &end);
        if (end == at || !(to[c] > -1e9 && to[c] < 1e9))
            return false;
        if (*end == '\0' && c == 0) {
            to[1] = to[2] = to[0];
            return true;
        }
        if (*end != (c < MEDIA_CHANNELS - 1 ? ':' : '\0'))
            return false;
        at = end + 1;
    }
    return true;
}

/* 1/255 or 0.5. */
static bool factor(word w, double *to)
{
    char text[64], *end;
    if (w.length == 0 || w.length >= sizeof text)
        return false;
    memcpy(text, w.at, w.length);
    text[w.length] = '\0';
    *to = strtod(text, &end);
    if (end != text && *end == '/') {
        const char *below = end + 1;
        *to /= strtod(below, &end);
        if (end == below)
            return false;
    }
    return end != text && *end == '\0' && *to > 0 && *to < 1e9;
}

/* 224 or 640x480, width first. */
static bool size(word w, media_image *how)
{
    char text[64], *end;
    if (w.length == 0 || w.length >= sizeof text || w.at[0] < '0' || w.at[0] > '9')
        return false;
    memcpy(text, w.at, w.length);
    text[w.length] = '\0';
    how->width = how->height = strtoll(text, &end, 10);
    if (*end == 'x' && end[1] >= '0' && end[1] <= '9')
        how->height = strtoll(end + 1, &end, 10);
    return *end == '\0' && how->width > 0 && how->height > 0 && how->width <= 1 << 16 &&
           how->height <= 1 << 16;
}

static bool fit(word w, media_image *how)
{
    how->fit = is(w, "crop") ? MEDIA_CROP : is(w, "pad") ? MEDIA_PAD : MEDIA_STRETCH;
    return how->fit != MEDIA_STRETCH || is(w, "stretch");
}

/* The preprocessing that ImageNet models of torchvision, or of Keras, were trained with. */
static void as_trained(media_image *how, bool is_torch)
{
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    for (int c = 0; c < MEDIA_CHANNELS; c++) {
        how->mean[c] = is_torch ? mean[c] : 0.5;
        how->deviation[c] = is_torch ? deviation[c] : 0.5;
    }
    how->fit = MEDIA_CROP;
}

static bool is_positive(const double values[MEDIA_CHANNELS])
{
    return values[0] > 0 && values[1] > 0 && values[2] > 0;
}

/* False: the value does not fit the key, or there is no such key. */
static bool take(media_image *how, word key, word value)
{
    const bool is_switch = value.at == NULL;
    if (is(key, "mean"))
        return !is_switch && numbers(value, how->mean);
    if (is(key, "std"))
        return !is_switch && numbers(value, how->deviation) && is_positive(how->deviation);
    if (is(key, "scale"))
        return !is_switch && factor(value, &how->scale);
    if (is(key, "size"))
        return !is_switch && size(value, how);
    if (is(key, "fit"))
        return !is_switch && fit(value, how);
    if (is(key, "imagenet") || is(key, "tf"))
        as_trained(how, is(key, "imagenet"));
    else if (is(key, "bgr"))
        how->is_bgr = true;
    else if (is(key, "invert"))
        how->is_inverted = true;
    else
        return false;
    return is_switch;
}

static bool refuse(const takt_tool *t, word key, word whole)
{
    char name[32], hint[200] = "mean=M, std=S (or R:G:B), scale=1/255, size=WxH, fit=stretch, crop "
                               "or pad, bgr, invert, imagenet, tf";
    snprintf(name, sizeof name, "%.*s", (int)(key.length < 31 ? key.length : 31), key.at);
    const int nearest = takt_nearest(name, keys, sizeof keys / sizeof *keys);
    if (nearest >= 0 && strcmp(keys[nearest], name) != 0)
        snprintf(hint, sizeof hint, "did you mean %s?", keys[nearest]);
    tool_usage_error(t, 1003, hint, "--image does not take %.*s", (int)whole.length, whole.at);
    return false;
}

bool media_read_options(const takt_tool *t, media_image *how)
{
    const char *text = tool_text_of(t, TAKT_F_IMAGE);
    *how = (media_image){.deviation = {1, 1, 1}};
    while (text != NULL && *text != '\0') {
        const word whole = {text, strcspn(text, ",")};
        const char *equals = memchr(text, '=', whole.length);
        const word key = {text, equals != NULL ? (size_t)(equals - text) : whole.length};
        const word value = {equals != NULL ? equals + 1 : NULL,
                            equals != NULL ? whole.length - key.length - 1 : 0};
        if (!take(how, key, value))
            return refuse(t, key, whole);
        text += whole.length + (text[whole.length] == ',');
    }
    return true;
}

bool media_is_plain(const media_image *how)
{
    for (int c = 0; c < MEDIA_CHANNELS; c++)
        if (how->mean[c] != 0.0 || how->deviation[c] != 1.0)
            return false;
    return true;
}
