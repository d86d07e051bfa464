/* figures.c - pictures of 32 x 32 drawn by code.
 *
 *   poses    a figure of lines: positions of head, hip, hands and feet, 0 to 1 across and down
 *   depths   balls over a floor, lit from above: distance of each pixel, 0 to 1
 */
#include <math.h>
#include <string.h>

#include "zoo_data.h"

enum { SIDE = 32, JOINTS = 6, HEAD = 0, HIP, LEFT_HAND, RIGHT_HAND, LEFT_FOOT, RIGHT_FOOT };

typedef struct point {
    double x, y;
} point;

static double up_to(uint64_t *seed, double low, double high)
{
    return low + (high - low) * tool_zoo_chance(seed);
}

/* `from`, moved by up to this much across and down; random numbers are drawn in order. */
static point near(uint64_t *seed, point from, point low, point high)
{
    const double x = up_to(seed, low.x, high.x), y = up_to(seed, low.y, high.y);
    return (point){from.x + x, from.y + y};
}

/* ---- poses ---- */

/* Distance of `p` from the line between `a` and `b`. */
static double distance(point p, point a, point b)
{
    const double dx = b.x - a.x, dy = b.y - a.y, all = dx * dx + dy * dy;
    double t = all > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / all : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    const double ex = a.x + t * dx - p.x, ey = a.y + t * dy - p.y;
    return sqrt(ex * ex + ey * ey);
}

static void line(float *to, point a, point b, double width, double bright)
{
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double far = distance((point){i % SIDE, i / SIDE}, a, b);
        double v = bright * (far < width ? 1 : far < width + 1 ? width + 1 - far : 0);
        to[i] = (float)(v > (double)to[i] ? v : (double)to[i]);
    }
}

/* Side, vertical range, brightness. */
typedef struct limb {
    double side, low, high, bright;
} limb;

/* Two lines from `from`; where they end. */
static point draw_limb(uint64_t *seed, float *to, point from, const limb *l)
{
    const double reach = up_to(seed, 3, 5), side = l->side * reach;
    const point low = {0.3 * side, l->low * reach}, high = {side, l->high * reach};
    const point middle = near(seed, from, low, high);
    const point end = near(seed, middle, (point){-0.5 * side, low.y}, high);
    line(to, from, middle, 0.6, l->bright);
    line(to, middle, end, 0.6, l->bright);
    return end;
}

static void make_pose(uint64_t *seed, float *x, float *y)
{
    /* The left is brighter. */
    static const limb limbs[] = {
        {-1, -0.9, 0.9, 1}, {1, -0.9, 0.9, 0.55}, {-0.5, 0.6, 1.1, 1}, {0.5, 0.6, 1.1, 0.55}};
    const point neck = near(seed, (point){11, 8}, (point){0, 0}, (point){10, 5});
    const point head = near(seed, neck, (point){-1, -4}, (point){1, -3});
    const point hip = near(seed, neck, (point){-2, 6}, (point){2, 9});
    point joint[JOINTS] = {[HEAD] = head, [HIP] = hip};
    line(x, neck, hip, 0.8, 0.8);
    line(x, head, head, 1.8, 0.8);
    for (int i = LEFT_HAND; i <= RIGHT_FOOT; i++)
        joint[i] = draw_limb(seed, x, i < LEFT_FOOT ? neck : hip, &limbs[i - LEFT_HAND]);
    for (int i = 0; i < JOINTS; i++) {
        y[2 * i] = (float)(joint[i].x / SIDE);
        y[2 * i + 1] = (float)(joint[i].y / SIDE);
    }
    for (int i = 0; i < SIDE * SIDE; i++)
        x[i] += (float)(0.15 * tool_zoo_noise(seed));
}

/* ---- depths ---- */

/* Nearer objects cover those behind; light fades with distance. */
static void ball(uint64_t *seed, float *x, float *y)
{
    const double far = up_to(seed, 0.1, 0.7), radius = up_to(seed, 3.5, 5) / (0.5 + far);
    const double row = 10 + 14 * (0.8 - far) + up_to(seed, -3, 3), column = up_to(seed, 3, 29);
    const double shade = up_to(seed, 0.6, 1);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double dx = (i % SIDE - column) / radius, dy = (i / SIDE - row) / radius;
        const double rest = 1 - dx * dx - dy * dy;
        if (rest <= 0)
            continue;
        const double depth = far - 0.1 * sqrt(rest),
                     light = 0.35 + 0.65 * sqrt(rest) * (0.7 - 0.3 * dy);
        if (depth < (double)y[i]) {
            y[i] = (float)depth;
            x[i] = (float)(shade * light * (1.1 - 0.8 * depth));
        }
    }
}

static void make_depth(uint64_t *seed, float *x, float *y)
{
    const int horizon = 6 + tool_zoo_below(seed, 8), balls = 1 + tool_zoo_below(seed, 3);
    const double shade = up_to(seed, 0.4, 0.9);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int row = i / SIDE;
        y[i] = (float)(row < horizon ? 1.0 : 1.0 - 0.9 * (row - horizon) / (SIDE - horizon));
        x[i] = (float)(row < horizon ? 0.15 : shade * (1.1 - 0.8 * (double)y[i]));
    }
    for (int i = 0; i < balls; i++)
        ball(seed, x, y);
    for (int i = 0; i < SIDE * SIDE; i++)
        x[i] += (float)(0.05 * tool_zoo_noise(seed));
}

static bool make(tool_zoo_job *job)
{
    const int64_t picture[] = {1, SIDE, SIDE, 0}, joints[] = {2 * JOINTS, 0};
    const bool is_pose = strcmp(job->how, "poses") == 0;
    tool_zoo_shape(job, picture, false, is_pose ? joints : picture, false);
    for (int k = 0; k < 2; k++) {
        uint64_t seed = k == 0 ? 1 : 2;
        for (int i = 0; i < (k == 0 ? 2500 : 500); i++) {
            float *y, *x = tool_zoo_next(k == 0 ? job->train : job->test, &y);
            if (x == NULL)
                return false;
            (is_pose ? make_pose : make_depth)(&seed, x, y);
        }
    }
    return true;
}

const tool_zoo_source tool_zoo_source_figures = {.ways = {"poses", "depths"}, .make = make};
