/* Run a program: its fills and its moves or conversions, completely or in part. */
#include "program.h"

#include <string.h>

#include "cold.h"
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

/* Whether the conversions are two that are one. */
static int is_joined(Program *p) {
    const Job *of[2] = {NULL, NULL};
    int found = 0;
    for (int i = 0; i < p->jobs; ++i) {
        if (p->job[i].is_fill) continue;
        if (found == 2 || p->job[i].pad) return 0;
        of[found++] = p->job + i;
    }
    return found == 2 && joined_plan(&p->joined, &of[0]->convert.box, &of[1]->convert.box, &p->arithmetic);
}

/* Whether all moves are faster with shorter vectors, where what they read and write is not near a core. */
static int prefers_below(const Program *p) {
    if (p->converts || !level_below(p->level) || !past_early(p->touched, 1)) return 0;
    for (int i = 0; i < p->jobs; ++i)
        if (!p->job[i].is_fill && !move_prefers_below(&p->job[i].move, p->level->vector)) return 0;
    return 1;
}

static int goes_past(const Program *p, int threads) {
    if (past_caches(p->touched, threads > 1)) return p->gains_past || !stores_whole_lines();
    return p->gains_past && !p->looks_first && past_early(p->touched, threads);
}

void job_convert(Job *job, const Box *box, const Arithmetic *arithmetic) {
    Arithmetic past = *arithmetic;
    past.past = 1;
    convert_plan(&job->convert, box, arithmetic, job->pad);
    convert_plan(&job->past, box, &past, job->pad);
}

static void find_gains(Program *p) {
    p->is_joined = p->converts && is_joined(p);
    p->gains_past = 1, p->looks_first = p->fetches = p->fetches_result = 0;
    if (p->is_joined) {
        p->gains_past = convert_gains_past(&p->joined.some.convert, &p->arithmetic, p->level->vector);
        return;
    }
    for (int i = 0; i < p->jobs; ++i) {
        const Job *job = p->job + i;
        if (job->is_fill) continue;
        p->fetches |= p->converts ? convert_fetches(&job->convert, &p->arithmetic) : move_fetches(&job->move);
        p->looks_first |= p->converts ? convert_looks_first(&job->convert, &job->past) : move_looks_first(&job->move);
        p->fetches_result |= !p->converts && move_fetches_result(&job->move, p->dst_bytes, p->level->vector);
        p->gains_past &= p->converts ? convert_gains_past(&job->past, &p->arithmetic, p->level->vector) : move_gains_past(&job->move, p->level->vector);
    }
}

void program_planned(Program *p) {
    p->fetches_always = prefers_below(p);
    if (p->fetches_always) p->level = level_below(p->level);
    find_gains(p);
    p->arithmetic.past = goes_past(p, 1);
}

void program_move(const Program *p, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts, Whereabouts where) {
    const int past = where.past || (parts > 1 ? goes_past(p, pool_threads()) : p->arithmetic.past);
    Arithmetic arithmetic = p->arithmetic;
    arithmetic.past = past, arithmetic.cold = where.cold;
    if (p->is_joined) joined_run(p->level, &p->joined, &arithmetic, src, dst, part, parts);
    for (int i = 0; i < p->jobs; ++i) {
        const Job *job = p->job + i;
        if (job->is_fill || p->is_joined) continue;
        if (p->converts) {
            if (parts == 1) {
                convert_run(p->level, past ? &job->past : &job->convert, &arithmetic, src, dst);
            } else {
                Box box = job->convert.box;
                Convert c;
                if (!box_cut(&box, part, parts)) continue;
                convert_plan(&c, &box, &arithmetic, job->pad);
                convert_run(p->level, &c, &arithmetic, src, dst);
            }
        } else {
            const Move *move = &job->move;
            Move m;
            if (parts > 1) {
                Box box = move->box;
                if (!box_cut(&box, part, parts)) continue;
                move_plan(&m, &box, move->size, job->pad); /* the remaining loops may use another path */
                m.past = past, m.cold = where.cold, m.cold_result = where.cold_result, move = &m;
            } else if (past != move->past || where.cold) {
                m = *move;
                m.past = past, m.cold = where.cold, m.cold_result = where.cold_result, move = &m;
            }
            move_run(p->level, move, src, dst);
        }
    }
    if (past) fence();
}
