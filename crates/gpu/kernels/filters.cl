// Lists of upper and lower placements that some queens of the other half board leave.

// The upper words that weigh two (or one, if all weigh one): from `main` on. Those that may weigh one: two ranges of
// words, each as its first word and its length.
typedef struct { u64 main, start_0, n_0, start_1, n_1; u32 near, far; } Weights;

FN Weights weights_of(u32 n, GLOBAL const Set* set, u32 lower_1, u32 upper_1) {
    u32 a = distance_of(n, column_of(set->columns[0], upper_1)), b = distance_of(n, column_of(set->columns[1], lower_1));
    Weights w;
    u64 one = (u64)1 << FIRST_CENTRAL;
    w.near = a < b ? a : b; w.far = a < b ? b : a;
    w.main = 0; w.start_0 = 0; w.n_0 = 0; w.start_1 = 0; w.n_1 = 0;
    if (set->weighing == 1) { w.start_0 = set->distance * one; w.n_0 = one; w.main = w.start_0 + one; }
    if (set->weighing == 2) {
        w.n_0 = (u64)1 << SECOND_CENTRAL; w.start_0 = (w.near << 4 | w.far) * w.n_0; w.main = w.start_0 + w.n_0;
    }
    if (set->weighing == 3) {
        w.main = w.near * one; w.start_0 = w.main; w.n_0 = one;
        if (w.near != w.far) { w.start_1 = w.far * one; w.n_1 = one; }
    }
    return w;
}

// Upper lists that the first lower queen leaves: a warp for each two first queens.
KERNEL void level(GLOBAL u64* arena) {
    PARAMS;
    if (params->overflow) return;
    u32 lane = LANE, mask;
    for (u32 item = WARP; item < params->n_sets * (M * M); item += N_WARPS) {
        u32 number = item / (M * M), lower_1 = item / M % M, upper_1 = item % M, n = 0, n_equal = 0;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
        u64 attacked = footprint(half_of(params, set, 1), 1, lower_1);
        u64 own = footprint(half_of(params, set, 0), 1, upper_1);
        Lists lists;
        lists.begin = 0; lists.n = 0; lists.equal_begin = 0; lists.equal_n = 0;
        u32 wanted = (set->first[0] >> upper_1 & 1u) && (set->first[1] >> lower_1 & 1u) && !(attacked & own);
        Weights w = weights_of(params->n, set, lower_1, upper_1);
        GLOBAL const Range* table = ARRAY(Range, UPPER_TABLE) + (u64)number * PREFIXES + upper_1 * M;
        if (wanted) {
            for (u32 second = 0; second < M; second++) {
                GLOBAL const u64* words = ARRAY(u64, UPPER) + table[second].begin;
                UNROLL_4
                for (u32 i = lane; i < table[second].n; i += WIDTH) {
                    u64 word = words[i];
                    u32 fits = word & attacked ? 0u : 1u;
                    n += fits && word >= w.main ? 1u : 0u;
                    n_equal += fits && (word - w.start_0 < w.n_0 || word - w.start_1 < w.n_1) ? 1u : 0u;
                }
            }
            WARP_SUM(n);
            WARP_SUM(n_equal);
        }
        if (n + n_equal > 0) {
            u32 begin = 0;
            if (lane == 0) begin = reserve(params, LEVEL, n + n_equal);
            BROADCAST(begin);
            if (begin == NONE) n = n_equal = 0;
            else {
                lists.begin = begin; lists.n = n; lists.equal_begin = begin + n; lists.equal_n = n_equal;
            }
        }
        if (lane == 0) ARRAY(Lists, LEVEL_TABLE)[item] = lists;
        if (n + n_equal == 0) continue;
        GLOBAL u64* to = ARRAY(u64, LEVEL) + lists.begin;
        GLOBAL u64* to_equal = to + n;
        for (u32 second = 0; second < M; second++) {
            GLOBAL const u64* words = ARRAY(u64, UPPER) + table[second].begin;
            u32 n_here = table[second].n;
            for (u32 at = lane; at < n_here + lane; at += 4 * WIDTH) {
                u64 word[4];
                for (u32 k = 0; k < 4; k++) word[k] = at + k * WIDTH < n_here ? words[at + k * WIDTH] : ~(u64)0;
                for (u32 k = 0; k < 4; k++) {
                    u32 fits = word[k] & attacked ? 0u : 1u;
                    u32 is_main = fits && word[k] >= w.main;
                    u32 is_equal = fits && (word[k] - w.start_0 < w.n_0 || word[k] - w.start_1 < w.n_1);
                    BALLOT(mask, is_main);
                    if (is_main) to[POPC(mask & ((1u << lane) - 1u))] = word[k];
                    to += POPC(mask);
                    BALLOT(mask, is_equal);
                    if (is_equal) to_equal[POPC(mask & ((1u << lane) - 1u))] = word[k];
                    to_equal += POPC(mask);
                }
            }
        }
    }
}

// Returns how many words of a list some queens leave: its share of a lane.
FN u32 count_left(GLOBAL const u64* words, u32 n, u64 attacked, u32 lane) {
    u32 sum = 0;
    UNROLL_4
    for (u32 i = lane; i < n; i += WIDTH) sum += words[i] & attacked ? 0u : 1u;
    return sum;
}
// Writes the words of a list that some queens leave, in order; returns their number. All lanes call it.
FN u32 write_left(GLOBAL const u64* words, u32 n, u64 attacked, GLOBAL u64* to, u32 lane) {
    u32 n_written = 0, mask;
    for (u32 at = lane; at < n + lane; at += 4 * WIDTH) {
        u64 word[4];
        // All are read before one is written, as reading takes long.
        for (u32 k = 0; k < 4; k++) word[k] = at + k * WIDTH < n ? words[at + k * WIDTH] : ~(u64)0;
        for (u32 k = 0; k < 4; k++) {
            u32 fits = word[k] & attacked ? 0u : 1u;
            BALLOT(mask, fits);
            if (fits) to[n_written + POPC(mask & ((1u << lane) - 1u))] = word[k];
            n_written += POPC(mask);
        }
    }
    return n_written;
}

#if LEAF > 2
// Lists that the second lower queen leaves, too: a warp for each first upper and two lower queens.
KERNEL void level_2(GLOBAL u64* arena) {
    PARAMS;
    if (params->overflow) return;
    u32 lane = LANE, mask;
    for (u32 item = WARP; item < params->n_sets * (M * M * M); item += N_WARPS) {
        u32 number = item / (M * M * M), lower_1 = item / (M * M) % M, lower_2 = item / M % M, upper_1 = item % M;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
        Lists from = ARRAY(Lists, LEVEL_TABLE)[(number * M + lower_1) * M + upper_1];
        Half below = half_of(params, set, 1);
        u64 attacked = footprint(below, 2, lower_2);
        GLOBAL const u64* words = ARRAY(u64, LEVEL) + from.begin;
        u32 d = column_of(below.columns, lower_1), e = column_of(below.columns, lower_2);
        u32 apart = (d > e ? d - e : e - d) > 1;
        u32 n = apart ? count_left(words, from.n, attacked, lane) : 0;
        u32 n_equal = apart ? count_left(words + from.n, from.equal_n, attacked, lane) : 0;
        WARP_SUM(n);
        WARP_SUM(n_equal);
        Lists lists;
        lists.begin = 0; lists.n = 0; lists.equal_begin = 0; lists.equal_n = 0;
        if (n + n_equal > 0) {
            u32 begin = 0;
            if (lane == 0) begin = reserve(params, LEVEL_2, n + n_equal);
            BROADCAST(begin);
            if (begin == NONE) n = n_equal = 0;
            else {
                lists.begin = begin; lists.n = n; lists.equal_begin = begin + n; lists.equal_n = n_equal;
            }
        }
        if (lane == 0) {
            ARRAY(Lists, LEVEL_2_TABLE)[item] = lists;
            ARRAY(u32, UPPER_SUMS)[((number * M + upper_1) * M + lower_1) * M + lower_2] = n;
        }
        if (n + n_equal == 0) continue;
        GLOBAL u64* to = ARRAY(u64, LEVEL_2) + lists.begin;
        // The equal ones follow the others in both lists.
        write_left(words, from.n + from.equal_n, attacked, to, lane);
    }
}
#endif

// Whether a subproblem with these first queens is counted.
FN u32 is_wanted(GLOBAL const Params* params, GLOBAL const Set* set, u32 lower_1, u32 upper_1, u32 lower_2) {
    u32 number = params->n_digits == 0 ? 0 : params->n_digits == 1 ? lower_1
        : params->n_digits == 2 ? lower_1 * M + upper_1 : (lower_1 * M + upper_1) * M + lower_2;
    return number >= set->from && number < set->to;
}

// For each leaf, the codes of the lower placements that each first upper queen leaves: a warp for each leaf. If each
// half board has a central queen, those for `greater` and for `equal` pairs differ.
KERNEL void sieve(GLOBAL u64* arena) {
    PARAMS;
    if (params->overflow) return;
    u32 lane = LANE, mask;
    for (u32 item = WARP; item < params->n_sets * LEAVES; item += N_WARPS) {
        u32 number = item / LEAVES, leaf = item % LEAVES;
        u32 lower_1 = leaf / (LEAVES / M), lower_2 = leaf / (LEAVES / (M * M)) % M;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
        Range range = ARRAY(Range, LOWER_TABLE)[item];
        GLOBAL const u64* lower = ARRAY(u64, LOWER) + range.begin;
        GLOBAL const u64* codes = ARRAY(u64, CODES) + range.begin;
        GLOBAL Lists* table = ARRAY(Lists, SIFTED_TABLE) + (u64)item * M;
        Half above = half_of(params, set, 0);
        u32 fixed = 0, free = 0;
        for (u32 scale = 1; scale < LEAVES; scale *= M) fixed |= 1u << (leaf / scale % M);
        for (u32 rank = 0, left = set->columns[1]; rank < M; rank++, left &= left - 1)
            if (!(fixed >> rank & 1u)) free |= left & (0u - left);
        for (u32 equal = 0; equal < 2; equal++) {
            u32 is_split = set->weighing == 3, near_far[M], n[M], start[M], total = 0, begin = 0;
            u64 own[M];
            if (equal && !is_split) continue;
            UNROLL
            for (u32 u = 0; u < M; u++) {
                Lists lists = ARRAY(Lists, LEVEL_TABLE)[(number * M + lower_1) * M + u];
                u32 wanted = range.n && (equal ? lists.equal_n : lists.n + lists.equal_n) && is_wanted(params, set, lower_1, u, lower_2);
                own[u] = wanted ? footprint(above, 1, u) : ~(u64)0;
                near_far[u] = 0;
                if (is_split) {
                    u32 p = distance_of(params->n, column_of(set->columns[0], u)), q = distance_of(params->n, column_of(set->columns[1], lower_1));
                    near_far[u] = p < q ? p << 8 | q : q << 8 | p;
                }
                n[u] = 0;
            }
#define PASSES(word, u) (!((word) & own[u]) && (equal ? (u32)((word) >> FIRST_CENTRAL) == near_far[u] >> 8 || (u32)((word) >> FIRST_CENTRAL) == (near_far[u] & 255u) \
                                                       : (u32)((word) >> FIRST_CENTRAL) >= near_far[u] >> 8))
            for (u32 i = lane; i < range.n; i += 4 * WIDTH) {
                u64 word[4];
                for (u32 k = 0; k < 4; k++) word[k] = i + k * WIDTH < range.n ? lower[i + k * WIDTH] : ~(u64)0;
                for (u32 k = 0; k < 4; k++) {
                    UNROLL
                    for (u32 u = 0; u < M; u++) n[u] += PASSES(word[k], u) ? 1u : 0u;
                }
            }
            UNROLL
            for (u32 u = 0; u < M; u++) {
                WARP_SUM(n[u]);
                start[u] = total;
                total += n[u];
            }
            if (total) {
                if (lane == 0) begin = reserve(params, PIECE_CODES, total);
                BROADCAST(begin);
            }
            UNROLL
            for (u32 u = 0; u < M; u++) {
                if (lane == 0) {
                    if (!equal) {
                        table[u].begin = begin + start[u]; table[u].n = begin == NONE ? 0 : n[u];
                        table[u].equal_begin = begin + start[u]; table[u].equal_n = begin == NONE ? 0 : n[u];
                        if (n[u]) ADD(&ARRAY(u32, LOWER_SUMS)[((number * M + u) * M + lower_1) * M + lower_2], n[u]);
                    } else {
                        table[u].equal_begin = begin + start[u]; table[u].equal_n = begin == NONE ? 0 : n[u];
                    }
                }
                n[u] = 0;
            }
            if (begin == NONE || !total) continue;
            GLOBAL u64* to = ARRAY(u64, PIECE_CODES) + begin;
            for (u32 i = lane; i < range.n + lane; i += 2 * WIDTH) {
                u64 word[2], code[2];
                for (u32 k = 0; k < 2; k++) {
                    word[k] = i + k * WIDTH < range.n ? lower[i + k * WIDTH] : ~(u64)0;
                    code[k] = i + k * WIDTH < range.n ? codes[i + k * WIDTH] : 0;
                }
                for (u32 k = 0; k < 2; k++) {
                    code[k] = code_of(code[k], fixed, free);
                    UNROLL
                    for (u32 u = 0; u < M; u++) {
                        u32 passes = PASSES(word[k], u);
                        BALLOT(mask, passes);
                        if (passes) to[start[u] + POPC(mask & ((1u << lane) - 1u))] = code[k];
                        start[u] += POPC(mask);
                    }
                }
            }
        }
    }
}

// For each leaf and first upper queen, the upper placements that the leaf's queens leave, cut into pieces: a warp for
// each upper queen and all but the last of the leaf's queens.
KERNEL void cut(GLOBAL u64* arena) {
    PARAMS;
    if (params->overflow) return;
    u32 lane = LANE, mask;
    for (u32 item = WARP; item < params->n_sets * (LEAVES / M) * M; item += N_WARPS) {
        u32 number = item / LEAVES, prefix = item / M % (LEAVES / M), upper_1 = item % M;
        u32 lower_1 = prefix / (LEAVES / (M * M)), fixed = 0, central_row = 0, last_column;
        u64 attacked = 0;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
#if LEAF == 2
        Lists lists = ARRAY(Lists, LEVEL_TABLE)[(number * M + lower_1) * M + upper_1];
        GLOBAL const u64* words = ARRAY(u64, LEVEL);
#else
        Lists lists = ARRAY(Lists, LEVEL_2_TABLE)[((number * M + lower_1) * M + prefix / (LEAVES / (M * M * M)) % M) * M + upper_1];
        GLOBAL const u64* words = ARRAY(u64, LEVEL_2);
#endif
        if (lists.n + lists.equal_n == 0) continue;
        Half below = half_of(params, set, 1);
        for (u32 row = 1, scale = LEAVES / (M * M); row < LEAF; row++, scale /= M) {
            u32 rank = prefix / scale % M;
            fixed |= 1u << rank;
            // The lists are without what the first queens attack.
            if (row > 2) attacked |= footprint(below, row, rank);
            last_column = column_of(below.columns, rank);
            if (distance_of(params->n, last_column) + params->odd == 1) central_row = row;
        }
        GLOBAL const Lists* table = ARRAY(Lists, SIFTED_TABLE) + ((u64)number * LEAVES + prefix * M) * M + upper_1;
        u32 p = distance_of(params->n, column_of(set->columns[0], upper_1)), q = distance_of(params->n, column_of(set->columns[1], lower_1));
        for (u32 equal = 0; equal < 2; equal++) {
            GLOBAL const u64* from = words + (equal ? lists.equal_begin : lists.begin);
            u32 n_from = equal ? lists.equal_n : lists.n, n[M], start[M], total = 0, slot = 0, first = 0;
            u64 by[M];
            if (n_from == 0) continue;
            UNROLL
            for (u32 last = 0; last < M; last++) {
                by[last] = (equal ? table[last * M].equal_n : table[last * M].n) ? attacked | footprint(below, LEAF, last) : ~(u64)0;
                n[last] = 0;
            }
            for (u32 i = lane; i < n_from; i += 4 * WIDTH) {
                u64 word[4];
                for (u32 k = 0; k < 4; k++) word[k] = i + k * WIDTH < n_from ? from[i + k * WIDTH] : ~(u64)0;
                for (u32 k = 0; k < 4; k++) {
                    UNROLL
                    for (u32 last = 0; last < M; last++) n[last] += word[k] & by[last] ? 0u : 1u;
                }
            }
            UNROLL
            for (u32 last = 0; last < M; last++) {
                WARP_SUM(n[last]);
                start[last] = total;
                total += (n[last] + LANES - 1) / LANES;
                if (LEAF == 2 && !equal && lane == 0)
                    ARRAY(u32, UPPER_SUMS)[((number * M + upper_1) * M + lower_1) * M + last] = n[last];
            }
            if (!total) continue;
            if (lane == 0) { slot = reserve(params, PIECE_WORDS, total); first = reserve(params, PIECES, total); }
            BROADCAST(slot);
            BROADCAST(first);
            if (slot == NONE || first == NONE) continue;
            UNROLL
            for (u32 last = 0; last < M; last++) {
                u32 n_pieces = (n[last] + LANES - 1) / LANES, column = column_of(below.columns, last);
                Lists sifted = table[last * M];
                for (u32 i = lane; i < n_pieces; i += WIDTH) {
                    Piece piece;
                    piece.set = number; piece.words = slot + start[last] + i;
                    piece.codes = equal ? sifted.equal_begin : sifted.begin;
                    piece.n_codes = equal ? sifted.equal_n : sifted.n;
                    piece.fixed = fixed | 1u << last
                        | (distance_of(params->n, column) + params->odd == 1 ? (u32)LEAF : central_row) << 16;
                    piece.kind = set->weighing == 3 ? 1 + equal : 0;
                    piece.near_far = p < q ? p << 8 | q : q << 8 | p;
                    piece.weight = (set->weighing && !equal ? 2 : 1) * set->factor;
                    ARRAY(Piece, PIECES)[first + start[last] + i] = piece;
                }
                // The lanes that stay empty.
                GLOBAL u64* to = ARRAY(u64, PIECE_WORDS) + (u64)(slot + start[last]) * LANES;
                for (u32 i = n[last] + lane; i < n_pieces * LANES; i += WIDTH) to[i] = ~(u64)0;
                start[last] *= LANES;
            }
            GLOBAL u64* to = ARRAY(u64, PIECE_WORDS) + (u64)slot * LANES;
            for (u32 i = lane; i < n_from + lane; i += 4 * WIDTH) {
                u64 word[4];
                for (u32 k = 0; k < 4; k++) word[k] = i + k * WIDTH < n_from ? from[i + k * WIDTH] : ~(u64)0;
                for (u32 k = 0; k < 4; k++) {
                    UNROLL
                    for (u32 last = 0; last < M; last++) {
                        u32 fits = word[k] & by[last] ? 0u : 1u;
                        BALLOT(mask, fits);
                        if (fits) to[start[last] + POPC(mask & ((1u << lane) - 1u))] = word[k];
                        start[last] += POPC(mask);
                    }
                }
            }
        }
    }
}
