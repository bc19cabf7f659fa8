/* The loop of suppression, and the table of the loops of detectors, after scan.inl.h, powers.inl.h and least_sum.inl.h. The operations are torchvision's in their
 * order, in float32. */
static int HERE(overlaps)(const KeptBoxes *rows, int32_t row, const float box[4], float area, float extra, float epsilon, float least) {
    const float x0 = box[0], y0 = box[1], x1 = box[2], y1 = box[3];
    for (; row >= 0; row = rows[row].next) {
        const KeptBoxes *kept = rows + row;
        int found = 0;
        for (int i = 0; i < BESIDE; ++i) {
            const float left = kept->x0[i] > x0 ? kept->x0[i] : x0, right = kept->x1[i] < x1 ? kept->x1[i] : x1;
            const float top = kept->y0[i] > y0 ? kept->y0[i] : y0, bottom = kept->y1[i] < y1 ? kept->y1[i] : y1;
            const float w = right - left + extra, h = bottom - top + extra;
            const float shared = (w > 0 ? w : 0) * (h > 0 ? h : 0);
            found |= shared / (kept->area[i] + area - shared + epsilon) >= least;
        }
        if (found) return 1;
    }
    return 0;
}

const DetectLoops HERE(detect_loops) = {
    {[PLANES] = SCANS_OF(planes), [BLOCKS] = SCANS_OF(blocks), [ROWS] = SCANS_OF(rows)},
    SCANS_OF(pieces),
    HERE(overlaps),
    HERE(powers),
    HERE(least_sum),
};
