/* png.c - draws a plot into sixteen colours and writes them as PNG, without compression. */
#include "measure/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "measure/glyphs.h"
#include "measure/plot_axis.h"

enum { WIDTH = 960, HEIGHT = 420, LEFT = 110, RIGHT = 24, TOP = 48, BOTTOM = 60 };
enum { WHITE, GREY, INK, BLUE, ORANGE, COLOURS };

typedef struct canvas {
    uint8_t *at; /* WIDTH * HEIGHT, a colour each */
    double x_low, x_high, y_low, y_high;
} canvas;

static void dot(canvas *c, int x, int y, uint8_t colour)
{
    if (x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT)
        c->at[y * WIDTH + x] = colour;
}

static void draw_glyph(canvas *c, const takt_glyph *g, int x, int y)
{
    for (int row = 0; row < 14; row++)
        for (int column = 0; column < 10; column++)
            if (g->row[row / 2] >> (4 - column / 2) & 1)
                dot(c, x + column, y + row, INK);
}

static const takt_glyph *glyph_of(char letter)
{
    for (size_t i = 0; i < sizeof takt_glyphs / sizeof *takt_glyphs; i++)
        if (takt_glyphs[i].letter == letter)
            return &takt_glyphs[i];
    return NULL;
}

/* Capitals without a glyph are written small; others leave a gap. */
static void write_text(canvas *c, const char *text, int x, int y)
{
    for (; *text != '\0'; text++, x += 12) {
        const takt_glyph *g = glyph_of(*text);
        if (g == NULL && *text >= 'A' && *text <= 'Z')
            g = glyph_of((char)(*text - 'A' + 'a'));
        if (g != NULL)
            draw_glyph(c, g, x, y);
    }
}

/* ---- the plot ---- */

static int x_of(const canvas *c, double x)
{
    const double part = (x - c->x_low) / (c->x_high - c->x_low);
    return LEFT + (int)lround(fmin(fmax(part, 0), 1) * (WIDTH - LEFT - RIGHT));
}

static int y_of(const canvas *c, double y)
{
    const double part = (y - c->y_low) / (c->y_high - c->y_low);
    return HEIGHT - BOTTOM - (int)lround(fmin(fmax(part, 0), 1) * (HEIGHT - TOP - BOTTOM));
}

static void line(canvas *c, int x, int y, int to_x, int to_y, uint8_t colour)
{
    const int steps = (int)fmax(1, fmax(abs(to_x - x), abs(to_y - y)));
    for (int i = 0; i <= steps; i++)
        dot(c, x + (to_x - x) * i / steps, y + (to_y - y) * i / steps, colour);
}

static void disc(canvas *c, int x, int y, int radius, uint8_t colour)
{
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++)
            if (dx * dx + dy * dy <= radius * radius)
                dot(c, x + dx, y + dy, colour);
}

static void fit(canvas *c, const takt_plot *p)
{
    const double most = p->y_most > 0 ? p->y_most : INFINITY;
    *c = (canvas){c->at, INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t i = 0; i < p->count; i++) {
        const takt_plot_point *q = &p->points[i];
        const bool has_interval = q->high > q->low;
        c->x_low = fmin(c->x_low, q->x);
        c->x_high = fmax(c->x_high, q->x);
        c->y_low = fmin(c->y_low, has_interval ? fmin(q->y, q->low) : q->y);
        c->y_high = fmin(fmax(c->y_high, has_interval ? fmax(q->y, q->high) : q->y), most);
    }
    const double x_room = c->x_high > c->x_low ? 0.02 * (c->x_high - c->x_low) : 1;
    const double y_room =
        c->y_high > c->y_low ? 0.08 * (c->y_high - c->y_low) : fmax(fabs(c->y_low) * 0.1, 1e-9);
    c->x_low -= x_room;
    c->x_high += x_room;
    c->y_low = c->y_low >= 0 ? fmax(0, c->y_low - y_room) : c->y_low - y_room;
    c->y_high += y_room;
}

static void axes(canvas *c, const takt_plot *p)
{
    char text[24];
    double marks[12];
    const takt_axis y = {c->y_low, c->y_high, false, 0, 1}, x = {c->x_low, c->x_high, false, 0, 1};
    size_t count = takt_axis_marks(&y, marks, 12);
    for (size_t i = 0; i < count; i++) {
        takt_axis_label(marks[i], text);
        line(c, LEFT, y_of(c, marks[i]), WIDTH - RIGHT, y_of(c, marks[i]), GREY);
        write_text(c, text, LEFT - 8 - 12 * (int)strlen(text), y_of(c, marks[i]) - 7);
    }
    count = takt_axis_marks(&x, marks, 12);
    for (size_t i = 0; i < count; i++) {
        takt_axis_label(marks[i], text);
        line(c, x_of(c, marks[i]), HEIGHT - BOTTOM, x_of(c, marks[i]), HEIGHT - BOTTOM + 6, GREY);
        write_text(c, text, x_of(c, marks[i]) - 6 * (int)strlen(text), HEIGHT - BOTTOM + 12);
    }
    write_text(c, p->title, LEFT, 14);
    write_text(c, p->y_label, LEFT + 12 * (int)strlen(p->title) + 12, 14);
    write_text(c, p->x_label, WIDTH - RIGHT - 12 * (int)strlen(p->x_label), HEIGHT - 24);
}

static void draw_steps(canvas *c, const takt_plot *p)
{
    char text[24];
    for (size_t i = 0; i < p->step_count; i++) {
        const size_t k = p->steps[i].at;
        if (k == 0 || k >= p->count)
            continue;
        const int at = (x_of(c, p->points[k - 1].x) + x_of(c, p->points[k].x)) / 2;
        line(c, at, TOP, at, HEIGHT - BOTTOM, ORANGE);
        snprintf(text, sizeof text, "%+.1f %%", 100 * p->steps[i].change);
        const int wide = 12 * (int)strlen(text);
        const bool is_left = at > WIDTH - 120 || (p->steps[i].change > 0 && at > LEFT + wide + 6);
        write_text(c, text, is_left ? at - wide : at + 6, TOP + 4); /* where the line is low */
    }
}

/* Dots beyond the edge are separated and counted. */
static void draw_dots(canvas *c, const takt_plot *p)
{
    size_t beyond = 0;
    double most = 0;
    for (size_t i = 0; i < p->count; i++) {
        const takt_plot_point *q = &p->points[i], *last = i > 0 ? q - 1 : q;
        const int x = x_of(c, q->x), y = y_of(c, q->y);
        const bool is_beyond = p->y_most > 0 && q->y > p->y_most;
        if (p->joined)
            line(c, x_of(c, last->x), y_of(c, last->y), x, y, BLUE);
        if (q->high > q->low)
            line(c, x, y_of(c, q->low), x, y_of(c, q->high), BLUE);
        disc(c, x, y, p->count > 100 ? 1 : 4, is_beyond ? ORANGE : BLUE);
        beyond += is_beyond;
        most = fmax(most, q->y);
    }
    char text[64];
    snprintf(text, sizeof text, "%zu beyond, up to %.3g", beyond, most);
    if (beyond > 0)
        write_text(c, text, WIDTH - RIGHT - 12 * (int)strlen(text), 14);
}

static void draw(canvas *c, const takt_plot *p)
{
    fit(c, p);
    axes(c, p);
    draw_steps(c, p);
    draw_dots(c, p);
    if (p->level > 0)
        line(c, LEFT, y_of(c, p->level), WIDTH - RIGHT, y_of(c, p->level), ORANGE);
}

/* ---- the file ---- */

static void word(takt_text *text, uint32_t value)
{
    const char bytes[4] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8),
                           (char)value};
    takt_text_put(text, bytes, 4);
}

static uint32_t crc(const char *bytes, size_t length)
{
    uint32_t c = 0xFFFFFFFF;
    for (size_t i = 0; i < length; i++) {
        c ^= (uint8_t)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? 0xEDB88320 ^ c >> 1 : c >> 1;
    }
    return ~c;
}

/* The bytes added after `from` become a chunk: its length is put before them, its checksum after
 * them. */
static void chunk(takt_text *text, const char *kind, const char *bytes, size_t length)
{
    word(text, (uint32_t)length);
    const size_t from = text->length;
    takt_text_put(text, kind, 4);
    takt_text_put(text, bytes, length);
    if (text->status == TAKT_OK)
        word(text, crc(text->at + from, text->length - from));
}

/* Rows of 4-bit pixels behind a filter byte of 0, in stored blocks of deflate. */
static void pack(takt_text *out, const canvas *c)
{
    enum { ROW = 1 + WIDTH / 2 };
    uint32_t low = 1, high = 0;
    char row[ROW] = {0};
    takt_text_put(out, "\x78\x01", 2);
    for (int y = 0; y < HEIGHT; y++) {
        const char head[5] = {y == HEIGHT - 1, (char)(ROW & 0xFF), (char)(ROW >> 8),
                              (char)(~ROW & 0xFF), (char)(~ROW >> 8 & 0xFF)};
        for (int x = 0; x < WIDTH; x += 2)
            row[1 + x / 2] = (char)(c->at[y * WIDTH + x] << 4 | c->at[y * WIDTH + x + 1]);
        for (int i = 0; i < ROW; i++) {
            low = (low + (uint8_t)row[i]) % 65521;
            high = (high + low) % 65521;
        }
        takt_text_put(out, head, sizeof head);
        takt_text_put(out, row, sizeof row);
    }
    word(out, high << 16 | low);
}

takt_status takt_plot_png(takt_text *text, const takt_plot *p)
{
    static const uint8_t palette[COLOURS * 3] = {0xFF, 0xFF, 0xFF, 0xD9, 0xDE, 0xE6, 0x1C, 0x23,
                                                 0x30, 0x25, 0x63, 0xC9, 0xC2, 0x41, 0x0C};
    static const char header[13] = {0,
                                    0,
                                    (char)(WIDTH >> 8),
                                    (char)(WIDTH & 0xFF),
                                    0,
                                    0,
                                    (char)(HEIGHT >> 8),
                                    (char)(HEIGHT & 0xFF),
                                    4,
                                    3,
                                    0,
                                    0,
                                    0};
    canvas c = {0};
    takt_text pixels;
    void *block;
    if (p->count == 0)
        return takt_fail(text->ctx, TAKT_E_SAMPLE, "there is nothing to draw");
    TAKT_TRY(takt_mem_zero(text->ctx, WIDTH, HEIGHT, "a picture", &block));
    c.at = block;
    draw(&c, p);
    takt_text_init(&pixels, text->ctx);
    pack(&pixels, &c);
    takt_text_put(text, "\x89PNG\r\n\x1a\n", 8);
    chunk(text, "IHDR", header, sizeof header);
    chunk(text, "PLTE", (const char *)palette, sizeof palette);
    chunk(text, "IDAT", takt_text_get(&pixels), pixels.length);
    chunk(text, "IEND", "", 0);
    if (pixels.status != TAKT_OK)
        text->status = pixels.status;
    takt_text_deinit(&pixels);
    takt_mem_put(text->ctx, block, (size_t)WIDTH * HEIGHT);
    return text->status;
}
