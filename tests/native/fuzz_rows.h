/* Inputs of a fuzzer as rows of resized pictures: packed pixels against plain loops, YUV at every level against the first one. */
#ifndef TESTS_FUZZ_ROWS_H
#define TESTS_FUZZ_ROWS_H

#include "axes.h"
#include "fuzz_input.h"

static int64_t clamped(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

static uint8_t expected_pixel(const PictureSpec *spec, const uint8_t *src, int64_t pitch, int64_t x, int64_t y, int c) {
    const PictureAxis *ax = spec->x, *ay = spec->y;
    const int64_t start = spec->component[c].start, step = spec->component[c].step;
    if (spec->mean[0]) {
        const int64_t across = ax->from / ax->to, down = ay->from / ay->to;
        int sum = 0;
        for (int64_t i = 0; i < down; ++i)
            for (int64_t k = 0; k < across; ++k) sum += src[(y * down + i) * pitch + (x * across + k) * step + start];
        return spec->mean[0] == 1 ? (uint8_t)((sum + 2) >> 2) : (uint8_t)lrintf((float)sum * (1.f / (float)(across * down)));
    }
    int lines[2];
    for (int i = 0; i < 2; ++i) {
        const uint8_t *row = src + clamped(ay->first[y] + i, ay->from) * pitch + start;
        const int a = ax->weights ? ax->weights[2 * x] : 2048, b = ax->weights ? ax->weights[2 * x + 1] : 0;
        lines[i] = (row[clamped(ax->first[x], ax->from) * step] * a + row[clamped(ax->first[x] + 1, ax->from) * step] * b) >> 4;
    }
    const int above = ay->weights ? ay->weights[2 * y] : 2048, below_ = ay->weights ? ay->weights[2 * y + 1] : 0;
    return (uint8_t)(((lines[0] * above >> 16) + (lines[1] * below_ >> 16) + 2) >> 2);
}

static void random_components(PictureSpec *spec) {
    const int step = 1 + (int)below(4);
    spec->packed = (int)below(3) > 0;
    spec->components = spec->packed ? 1 + (int)below(4) : 3;
    spec->channels = spec->components;
    for (int c = 0; c < spec->components; ++c)
        spec->component[c] = spec->packed ? (PictureComponent){0, below(step), step, 1, 1} : (PictureComponent){c, 0, 1, 1, 1};
    spec->color = (Color){16, 1220542, 1673527, -409993, -852492, 2116026};
    const int halves = (int)below(3), together = (int)below(2);
    for (int c = 1; !spec->packed && c < 3; ++c) {
        if (halves) spec->component[c].every_x = 2, spec->component[c].every_y = 1 + (halves == 2);
        if (together) spec->component[c].plane = 1, spec->component[c].start = c - 1, spec->component[c].step = 2;
    }
    for (int c = 0; c < 3; ++c) spec->channel[c] = 2 - c;
    spec->convert_first = 1;
    spec->group_pixels = spec->group_bytes = 1;
    if (spec->packed || below(3)) return;
    spec->source = MOSAIC, spec->red_x = (int)below(2), spec->red_y = (int)below(2);
    spec->group_pixels = 1 + below(4), spec->group_bytes = spec->group_pixels + below(3);
    for (int c = 0; c < 3; ++c) spec->component[c] = (PictureComponent){0, 0, 1, 1, 1};
}

static void one_rows(void) {
    PictureSpec spec = {0};
    random_components(&spec);
    const int boxes = below(4) == 0, one = below(5) == 0;
    const int64_t most = spec.packed ? MOST : MOST / 8, to_x = extent(400), to_y = 1 + below(6);
    const int64_t across = 1 + below(spec.packed ? 16 : 2), down = 1 + below(spec.packed ? 16 : 2);
    spec.mean[0] = !boxes ? 0 : across == 2 && down == 2 ? 1 : spec.packed ? 2 : 0;
    spec.width = spec.mean[0] ? to_x * across : extent(3000), spec.height = spec.mean[0] ? to_y * down : 1 + below(40);
    AxisLine x = line_of_axis(spec.width, to_x, 0, one || spec.mean[0]), y = line_of_axis(spec.height, to_y, 1, one || spec.mean[0]);
    int64_t around[4] = {0};
    for (int i = 0; !spec.packed && i < 4; ++i) around[i] = below(4) * below(2) + (spec.source == MOSAIC);
    spec.x[0] = axis_of(&x, around[0], around[1]), spec.y[0] = axis_of(&y, around[2], around[3]);
    spec.width = spec.x[0].from, spec.height = spec.y[0].from;
    Buffer planes[3];
    PicturePlane given[3] = {{0}};
    int64_t bytes = 0;
    int count = 1;
    for (int c = 0; c < spec.components; ++c) {
        const PictureComponent *k = spec.component + c;
        const int64_t rows = (spec.height + k->every_y - 1) / k->every_y, last = spec.width - 1;
        const int64_t groups = last / spec.group_pixels * spec.group_bytes + last % spec.group_pixels + 1;
        const int64_t n = spec.source == MOSAIC ? groups : (spec.width + k->every_x - 1) / k->every_x * k->step;
        if (k->plane < c && (c == 0 || k->plane == spec.component[c - 1].plane)) continue;
        const int64_t pitch = n + below(3) * below(40);
        bytes = (rows - 1) * pitch + n;
        if (bytes > most) goto end;
        planes[k->plane] = buffer(bytes, (int)below(5));
        fill(planes[k->plane], U8);
        given[k->plane] = (PicturePlane){planes[k->plane].at, pitch}, count = k->plane + 1;
    }
    Buffer first = {NULL, NULL, 0};
    const int64_t row = to_x * (spec.packed ? spec.channels : 1), row_pitch = row + below(9), channel_pitch = to_y * row_pitch;
    for (int l = 0; l < level_count(); ++l)
        for (int wide = 0; level_at(l) && wide < 2; ++wide) {
            PicturePlan *plan = picture_make(level_at(l)->pictures, wide && has_wide_gathers(), &spec);
            const int64_t all = (spec.packed ? 1 : 3) * channel_pitch - (row_pitch - row), needed = (picture_bench(plan) + 63) / 64 * 64;
            const Buffer out = buffer(all, (int)below(3));
            uint8_t *bench = aligned_alloc(64, (size_t)needed);
            memset(bench, 0, (size_t)needed);
            const int64_t cut = below(to_y + 1);
            picture_rows(plan, given, 0, cut, out.at, row_pitch, channel_pitch, bench);
            picture_rows(plan, given, cut, to_y, out.at + cut * row_pitch, row_pitch, channel_pitch, bench);
            for (int64_t i = 0; spec.packed && i < to_y * row; ++i) {
                const int64_t at = i % row / spec.channels, c = i % row % spec.channels;
                const uint8_t e = expected_pixel(&spec, given[0].first, given[0].pitch, at, i / row, (int)c);
                if (out.at[i / row * row_pitch + i % row] != e) wrong("rows", level_at(l), "x, y, channel", at, i / row, c);
            }
            if (first.room && memcmp(first.at, out.at, (size_t)all)) wrong("rows", level_at(l), "another result", to_x, to_y, wide);
            free(bench), picture_free(plan);
            if (first.room) free(out.room);
            else first = out;
            ++work;
        }
    free(first.room);
end:
    for (int k = 0; k < count && given[k].first; ++k) free(planes[k].room);
    free(x.first), free(x.weights), free(y.first), free(y.weights);
}

#endif
