/* canvas.c - smooth lines, discs and letters.
 *
 * Everything is a stroke with round ends. Its coverage is collected separately, keeping the larger
 * value where parts overlap, and only then blended with the picture, so joints are invisible.
 */
#include "measure/canvas.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "measure/glyphs.h"

takt_status takt_canvas_init(takt_canvas *c, takt_ctx *ctx, int width, int height, int scale)
{
    void *pixels, *cover;
    *c =
        (takt_canvas){.ctx = ctx, .width = width * scale, .height = height * scale, .scale = scale};
    const size_t area = (size_t)c->width * (size_t)c->height;
    TAKT_TRY(takt_mem_zero(ctx, area, 1, "a picture", &cover));
    const takt_status status = takt_mem_zero(ctx, area, 3, "a picture", &pixels);
    if (status != TAKT_OK) {
        takt_mem_put(ctx, cover, area);
        return status;
    }
    memset(pixels, 0xFF, 3 * area);
    c->pixels = pixels;
    c->cover = cover;
    c->left = c->width;
    c->top = c->height;
    return TAKT_OK;
}

void takt_canvas_deinit(takt_canvas *c)
{
    const size_t area = (size_t)c->width * (size_t)c->height;
    takt_mem_put(c->ctx, c->pixels, 3 * area);
    takt_mem_put(c->ctx, c->cover, area);
}

/* ---- strokes ---- */

static int bounded(double value, int most)
{
    return value < 0 ? 0 : value > most ? most : (int)value;
}

/* From p to q, in pixels; `radius` is half the width. */
static void cover(takt_canvas *c, takt_point p, takt_point q, double radius)
{
    const double dx = q.x - p.x, dy = q.y - p.y, square = dx * dx + dy * dy, edge = radius + 1;
    const int left = bounded(fmin(p.x, q.x) - edge, c->width);
    const int right = bounded(fmax(p.x, q.x) + edge + 1, c->width);
    const int top = bounded(fmin(p.y, q.y) - edge, c->height);
    const int bottom = bounded(fmax(p.y, q.y) + edge + 1, c->height);
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            const double ax = x + 0.5 - p.x, ay = y + 0.5 - p.y;
            const double along = square > 0 ? (ax * dx + ay * dy) / square : 0;
            const double t = fmin(fmax(along, 0), 1);
            const double bx = ax - t * dx, by = ay - t * dy;
            const double away = sqrt(bx * bx + by * by); /* hypot needs glibc 2.35 */
            const double part = fmin(fmax(radius + 0.5 - away, 0), fmin(1, 2 * radius));
            uint8_t *at = &c->cover[(size_t)y * (size_t)c->width + (size_t)x];
            if (part * 255 > *at)
                *at = (uint8_t)(part * 255 + 0.5);
        }
    c->left = left < c->left ? left : c->left;
    c->top = top < c->top ? top : c->top;
    c->right = right > c->right ? right : c->right;
    c->bottom = bottom > c->bottom ? bottom : c->bottom;
}

static void mix(uint8_t *pixel, takt_colour colour, unsigned part)
{
    for (int i = 0; i < 3; i++) {
        const unsigned own = pixel[i], new = colour >> (16 - 8 * i) & 0xFF;
        pixel[i] = (uint8_t)((own * (255 - part) + new *part + 127) / 255);
    }
}

/* The stroke is whole. */
static void fill(takt_canvas *c, takt_colour colour)
{
    for (int y = c->top; y < c->bottom; y++)
        for (int x = c->left; x < c->right; x++) {
            const size_t at = (size_t)y * (size_t)c->width + (size_t)x;
            mix(c->pixels + 3 * at, colour, c->cover[at]);
            c->cover[at] = 0;
        }
    c->left = c->width;
    c->top = c->height;
    c->right = c->bottom = 0;
}

static takt_point scaled(const takt_canvas *c, takt_point p)
{
    return (takt_point){p.x * c->scale, p.y * c->scale};
}

void takt_canvas_line(takt_canvas *c, takt_point from, takt_point to, double width,
                      takt_colour colour)
{
    cover(c, scaled(c, from), scaled(c, to), width * c->scale / 2);
    fill(c, colour);
}

void takt_canvas_disc(takt_canvas *c, takt_point at, double radius, takt_colour colour)
{
    cover(c, scaled(c, at), scaled(c, at), radius * c->scale);
    fill(c, colour);
}

/* ---- letters ---- */

typedef struct pen {
    takt_canvas *c;
    takt_point origin; /* of the letter, in pixels */
    double unit, radius;
    takt_point at; /* in units of letters */
} pen;

static int digit(char letter)
{
    return letter <= '9' ? letter - '0' : letter - 'a' + 10;
}

static takt_point point_at(const char *text)
{
    return (takt_point){digit(text[0]), digit(text[1])};
}

static takt_point placed(const pen *p, takt_point q)
{
    return (takt_point){p->origin.x + q.x * p->unit,
                        p->origin.y - (q.y - TAKT_GLYPH_BASE) * p->unit};
}

static void line_to(pen *p, takt_point to)
{
    cover(p->c, placed(p, p->at), placed(p, to), p->radius);
    p->at = to;
}

static void curve_to(pen *p, takt_point by, takt_point to)
{
    enum { PARTS = 8 };
    const takt_point from = p->at;
    for (int i = 1; i <= PARTS; i++) {
        const double t = (double)i / PARTS, a = (1 - t) * (1 - t), b = 2 * t * (1 - t), d = t * t;
        line_to(p,
                (takt_point){a * from.x + b * by.x + d * to.x, a * from.y + b * by.y + d * to.y});
    }
}

static void ellipse(pen *p, takt_point middle, takt_point radii)
{
    enum { PARTS = 32 };
    p->at = (takt_point){middle.x + radii.x, middle.y};
    for (int i = 1; i <= PARTS; i++) {
        const double angle = 2 * 3.14159265358979323846 * i / PARTS;
        line_to(p, (takt_point){middle.x + radii.x * cos(angle), middle.y + radii.y * sin(angle)});
    }
}

static void stroke(pen *p, const char *text)
{
    char op = 'M';
    while (*text != '\0') {
        if (*text >= 'A' && *text <= 'Z')
            op = *text++;
        const takt_point q = point_at(text);
        text += 2;
        if (op == 'Q' || op == 'E') {
            const takt_point next = point_at(text);
            text += 2;
            if (op == 'Q')
                curve_to(p, q, next);
            else
                ellipse(p, q, next);
        } else if (op == 'L') {
            line_to(p, q);
        } else {
            p->at = q;
            if (op == 'D')
                cover(p->c, placed(p, q), placed(p, q), 1.4 * p->radius);
            op = 'L';
        }
    }
}

static const takt_glyph *glyph_of(char letter)
{
    const size_t index = (size_t)((unsigned char)letter - TAKT_GLYPH_FIRST);
    return index < sizeof takt_glyphs / sizeof *takt_glyphs ? &takt_glyphs[index] : NULL;
}

void takt_canvas_text(takt_canvas *c, const char *text, takt_point at, double size,
                      takt_colour colour)
{
    const double unit = size * c->scale / TAKT_GLYPH_CAPITAL;
    pen p = {.c = c, .origin = scaled(c, at), .unit = unit, .radius = 0.85 * unit};
    for (; *text != '\0'; text++) {
        const takt_glyph *g = glyph_of(*text);
        if (g != NULL)
            stroke(&p, g->strokes);
        fill(c, colour);
        p.origin.x += unit * (TAKT_GLYPH_GAP + (g != NULL ? g->width : 0));
    }
}

double takt_canvas_text_width(const char *text, double size)
{
    double units = 0;
    for (; *text != '\0'; text++) {
        const takt_glyph *g = glyph_of(*text);
        units += TAKT_GLYPH_GAP + (g != NULL ? g->width : 0);
    }
    return (units > 0 ? units - TAKT_GLYPH_GAP : 0) * size / TAKT_GLYPH_CAPITAL;
}
