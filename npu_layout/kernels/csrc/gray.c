/* Convert pixels to grayscale. */
#include "gray.h"

int gray_path(int type) { return type == GRAY_U8 ? PATH_GRAY : PATH_GRAY_WIDE; }

void gray_run(const Level *level, int type, const Box *asked, const uint8_t *b, const uint8_t *g, const uint8_t *r,
              uint8_t *out, int64_t part, int64_t parts) {
    Gray *gray = level->fast[gray_path(type)].gray[type];
    Box box = *asked;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    const Loop row = box.loops[box.count - 1];
    ODOMETER(box.loops, box.count - 1, box.src, box.dst, 0,
             gray(b + src_, g + src_, r + src_, row.s, out + dst_, row.n));
}
