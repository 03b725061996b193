/* Places the labels of a panel's points: each beside its point, on the side where it covers the smallest area. */
#include "report/parts.h"

#include <math.h>

/* In pixels: height of a label's line, half size of a marker, gap between point and label. */
enum { HEIGHT = 10, MARKER = 4, GAP = 6, SIDES = 4 };

struct box {
    double left, right, low, high;
};

/* Returns the box of a label on side 0 to 3: below right, above right, below left, above left. */
static struct box box_of(const struct report_spot *spot, int side) {
    double left = side < 2 ? spot->x + GAP : spot->x - GAP - spot->width;
    double low = side % 2 == 0 ? spot->y - HEIGHT - 1 : spot->y + 1;
    return (struct box){left, left + spot->width, low, low + HEIGHT};
}

static double area(const struct box *box) {
    return fmax(box->right - box->left, 0) * fmax(box->high - box->low, 0);
}

static double common(const struct box *a, const struct box *b) {
    return area(&(struct box){fmax(a->left, b->left), fmin(a->right, b->right),
                              fmax(a->low, b->low), fmin(a->high, b->high)});
}

/* Returns the area of a label, in square pixels, that overlaps points or earlier labels or is outside the panel. */
static double covered(const struct box *label, const struct report_spot *spot, size_t count,
                      size_t placed, const struct box *panel) {
    double sum = area(label) - common(label, panel);
    for (size_t i = 0; i < count; i++) {
        struct box marker = {spot[i].x - MARKER, spot[i].x + MARKER, spot[i].y - MARKER,
                             spot[i].y + MARKER};
        sum += common(label, &marker);
        if (i >= placed || !spot[i].labelled) continue;
        struct box other = box_of(&spot[i], spot[i].side);
        sum += common(label, &other);
    }
    return sum;
}

void report_place_labels(struct report_spot *spot, size_t count, const double size[2]) {
    struct box panel = {0, size[0], 0, size[1]};
    for (size_t i = 0; i < count; i++) {
        double smallest = INFINITY;
        for (int side = 0; side < SIDES; side++) {
            struct box box = box_of(&spot[i], side);
            double cost = covered(&box, spot, count, i, &panel);
            if (cost >= smallest) continue;
            smallest = cost;
            spot[i].side = side;
        }
        struct box box = box_of(&spot[i], spot[i].side);
        spot[i].labelled = smallest <= area(&box) / 4;
    }
}

void report_put_label(FILE *to, const struct report_spot *spot, const double size[2],
                      const char *text, const char *colour) {
    bool right = spot->side < 2;
    fputs("set label ", to);
    nvdp__put_gnuplot(to, text);
    fprintf(to,
            " noenhanced at graph %.5f,graph %.5f %s offset %g,%g font ',8' textcolor rgb '%s'\n",
            spot->x / size[0], spot->y / size[1], right ? "left" : "right", right ? .7 : -.7,
            spot->side % 2 == 0 ? -.6 : .6, colour);
}
