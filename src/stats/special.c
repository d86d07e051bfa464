/* special.c - incomplete beta by its continued fraction; quantiles by bisection of the cdf. */
#include "stats/special.h"

#include <math.h>

/* The continued fraction of I_x(a, b), by Lentz's method; converges fast for x < (a+1)/(a+b+2). */
static double fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 10000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + even / c;
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        d = 1 + odd * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + odd / c;
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return value;
}

/* I_x(a, b), the regularised incomplete beta function; a, b > 0 and 0 <= x <= 1. */
static double beta_cdf(double a, double b, double x)
{
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    const double scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return scale * fraction(a, b, x) / a;
    return 1 - scale * fraction(b, a, 1 - x) / b;
}

double takt_binomial_cdf(double k, double n, double p)
{
    if (k < 0)
        return 0;
    return k >= n ? 1 : beta_cdf(n - k, k + 1, 1 - p);
}

double takt_student_cdf(double t, double freedom)
{
    const double tail = 0.5 * beta_cdf(freedom / 2, 0.5, freedom / (freedom + t * t));
    return t > 0 ? 1 - tail : tail;
}

double takt_normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

/* For p < 1/2, where the cdf has its full precision: the point lies in (-2^64, 0). */
static double lower_quantile(double p, double freedom)
{
    double low = -1, high = 0;
    while (takt_student_cdf(low, freedom) > p && low > -0x1p64)
        low *= 2;
    for (int i = 0; i < 200 && low < high; i++) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (takt_student_cdf(middle, freedom) < p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double takt_student_quantile(double p, double freedom)
{
    if (p == 0.5)
        return 0;
    return p < 0.5 ? lower_quantile(p, freedom) : -lower_quantile(1 - p, freedom);
}
