/* Run a program: its fills and its moves or conversions, completely or in part. */
#include "program.h"

#include <string.h>

#include "pool.h"

static void zero(uint8_t *dst, int64_t bytes) {
    const uint8_t none[8] = {0};
    if (bytes > 16) {
        memset(dst, 0, (size_t)bytes);
    } else if (bytes >= 8) {
        memcpy(dst, none, 8), memcpy(dst + bytes - 8, none, 8);
    } else if (bytes >= 4) {
        memcpy(dst, none, 4), memcpy(dst + bytes - 4, none, 4);
    } else {
        for (int64_t i = 0; i < bytes; ++i) dst[i] = 0;
    }
}

static void fill_run(const Box *box, int size, uint8_t *dst) {
    int outer = box->count;
    int64_t run = size, rows = 1, step = 0;
    if (outer && box->loops[outer - 1].d == size) run *= box->loops[--outer].n;
    if (outer) rows = box->loops[--outer].n, step = box->loops[outer].d;
    ODOMETER(box->loops, outer, 0, box->dst, 0, {
        (void)src_;
        for (int64_t i = 0; i < rows; ++i) zero(dst + dst_ + i * step, run);
    });
}

void program_fill(const Program *p, uint8_t *dst, int64_t part, int64_t parts) {
    for (int i = 0; i < p->jobs; ++i) {
        const Job *job = p->job + i;
        if (!job->is_fill) continue;
        if (parts == 1) {
            fill_run(&job->move.box, job->size, dst);
        } else {
            Box box = job->move.box;
            if (box_cut(&box, part, parts)) fill_run(&box, job->size, dst);
        }
    }
}

void program_move(const Program *p, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts) {
    const int past = past_caches(p->touched, parts > 1 && pool_threads() > 1);
    Arithmetic arithmetic = p->arithmetic;
    arithmetic.past = past;
    for (int i = 0; i < p->jobs; ++i) {
        const Job *job = p->job + i;
        if (job->is_fill) continue;
        if (p->converts) {
            if (parts == 1) {
                convert_run(p->level, &job->convert, &p->arithmetic, src, dst);
            } else {
                Box box = job->convert.box;
                Convert c;
                if (!box_cut(&box, part, parts)) continue;
                convert_plan(&c, &box, &arithmetic, job->pad);
                convert_run(p->level, &c, &arithmetic, src, dst);
            }
        } else if (parts == 1) {
            move_run(p->level, &job->move, src, dst);
        } else {
            Box box = job->move.box;
            Move m;
            if (!box_cut(&box, part, parts)) continue;
            move_plan(&m, &box, job->move.size, job->pad); /* the remaining loops may use another path */
            m.past = past;
            move_run(p->level, &m, src, dst);
        }
    }
    if (past) p->level->fence();
}
