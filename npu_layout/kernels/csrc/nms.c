#include "nms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

NmsRule nms_rule(double iou, int inclusive, double extra, double epsilon) {
    float least = (float)iou;
    if (inclusive ? (double)least < iou : (double)least <= iou) least = nextafterf(least, INFINITY);
    return (NmsRule){least, (float)extra, (float)epsilon};
}

int kept_clear(Kept *kept, int64_t classes) {
    if (classes > kept->classes || !kept->heads) {
        int32_t *heads = realloc(kept->heads, (size_t)classes * sizeof *heads);
        if (!heads) return 0;
        kept->heads = heads, kept->classes = classes;
    }
    memset(kept->heads, 0xFF, (size_t)classes * sizeof *kept->heads);
    kept->count = 0;
    return 1;
}

/* A new row in front of those of a class; NULL: there is no memory. */
static KeptBoxes *new_row(Kept *kept, int64_t class_id) {
    if (kept->count == kept->room) {
        const int32_t room = kept->room ? 2 * kept->room : 64;
        KeptBoxes *rows = realloc(kept->rows, (size_t)room * sizeof *rows);
        if (!rows) return NULL;
        kept->rows = rows, kept->room = room;
    }
    KeptBoxes *row = kept->rows + kept->count;
    memset(row, 0xFF, sizeof *row); /* NaN */
    row->count = 0, row->next = kept->heads[class_id];
    kept->heads[class_id] = kept->count++;
    return row;
}

int kept_add(const Level *level, Kept *kept, const NmsRule *rule, int64_t class_id, const float box[4]) {
    const float area = (box[2] - box[0] + rule->extra) * (box[3] - box[1] + rule->extra);
    const int32_t head = kept->heads[class_id];
    if (level->detect->overlaps(kept->rows, head, box, area, rule->extra, rule->epsilon, rule->least)) return 0;
    KeptBoxes *row = head >= 0 && kept->rows[head].count < BESIDE ? kept->rows + head : new_row(kept, class_id);
    if (!row) return -1;
    const int i = row->count++;
    row->x0[i] = box[0], row->y0[i] = box[1], row->x1[i] = box[2], row->y1[i] = box[3], row->area[i] = area;
    return 1;
}

void kept_free(Kept *kept) {
    free(kept->rows);
    free(kept->heads);
}

enum { FEW = 1024 }; /* below it the counts of long digits take longer than one more pass */

/* Radix sort by digits of 11 bits, or of few by digits of 8, the lowest first; digits that are the same everywhere are left out. */
uint32_t *order_of_scores(const float *scores, int64_t n, uint32_t *work) {
    uint32_t *index = work, *other = work + n, *key = work + 2 * n, all = ~(uint32_t)0, some = 0;
    int ordered = 1; /* rows of networks that end in top-k are */
    for (int64_t i = 0; i < n; ++i) {
        uint32_t bits;
        const float score = scores[i] == 0 ? 0 : scores[i]; /* -0 is no less than 0 */
        memcpy(&bits, &score, 4);
        key[i] = bits >> 31 ? bits : ~(bits | 0x80000000); /* the greatest first */
        index[i] = (uint32_t)i, all &= key[i], some |= key[i];
        ordered &= key[i] >= key[i ? i - 1 : 0];
    }
    const int width = n < FEW ? 8 : 11;
    const uint32_t digits = (uint32_t)1 << width, mask = digits - 1;
    for (int shift = 0; !ordered && shift < 32; shift += width) {
        uint32_t count[2049];
        if (!((all ^ some) >> shift & mask)) continue;
        memset(count, 0, (digits + 1) * sizeof *count);
        for (int64_t i = 0; i < n; ++i) ++count[(key[i] >> shift & mask) + 1];
        for (uint32_t d = 1; d < digits; ++d) count[d] += count[d - 1];
        for (int64_t i = 0; i < n; ++i) other[count[key[index[i]] >> shift & mask]++] = index[i];
        uint32_t *const swapped = index;
        index = other, other = swapped;
    }
    return index;
}
