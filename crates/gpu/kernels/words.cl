// The words of all placements: heads that meet tails.

// What a lower placement looks up: the numbers of table entries, seven bits each, and in the upper half the places of its
// queens in rows before those of the tables. A place is the number of a column among those that the leaf's queens leave.
// `raw` holds the tail's columns, five bits each, and in the upper half the head's ranks, four bits each.
FN u64 code_of(u64 raw, u32 fixed, u32 free) {
    u32 path = (u32)(raw >> 32), tail = (u32)raw, place[R], entry[4], singles = 0;
    UNROLL
    for (int row = LEAF; row < HEAD; row++) {
        u32 rank = path >> 4 * row & 15u;
        place[row - LEAF] = rank - POPC(fixed & ((1u << rank) - 1u));
    }
    UNROLL
    for (int row = HEAD; row < M; row++) place[row - LEAF] = POPC(free & ((1u << (tail >> 5 * (row - HEAD) & 31u)) - 1u));
    for (int row = 0; row < N_SINGLES; row++) singles |= place[row] << 4 * row;
    for (int table = 0; table < N_TABLES; table++) {
        u32 a = place[N_SINGLES + 2 * table], b = place[N_SINGLES + 2 * table + 1];
        entry[table] = 1 + a * (R - 1) + b - (b > a ? 1u : 0u);
    }
    u32 code = entry[N_TABLES - 1] << 7 | entry[N_TABLES - 2] << 14;
    if (N_TABLES > 2) code |= entry[N_TABLES > 2 ? N_TABLES - 3 : 0] << 21;
    if (N_TABLES > 3) code |= entry[0];
    return (u64)singles << 32 | code;
}

// Meets heads with tails. A warp takes as many heads as it has lanes, one after another, and its lanes take the tails.
FN void meet(u32 writes, GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, n_heads = params->cursor[HEADS];
    if (params->overflow) return;
    GLOBAL const u64* tail_attacks = ARRAY(u64, TAIL_ATTACKS);
    GLOBAL const u64* tail_words = ARRAY(u64, TAIL_WORDS);
    GLOBAL const u32* tail_paths = ARRAY(u32, TAIL_PATHS);
    GLOBAL Head* all_heads = ARRAY(Head, HEADS);
    for (u32 first = WIDTH * WARP; first < n_heads; first += WIDTH * N_WARPS) {
        u32 mine = first + lane < n_heads ? first + lane : n_heads - 1, n_here = n_heads - first < WIDTH ? n_heads - first : WIDTH;
        Head my_head = all_heads[mine];
        Range my_tails = ARRAY(Range, BUCKETS)[my_head.bucket];
        u32 my_is_lower = my_head.bucket >= params->n_buckets, my_n = 0;
        for (u32 h = 0; h < n_here; h++) {
            u64 attacks = SHUFFLE64(my_head.attacks, h);
            u32 begin = SHUFFLE(my_tails.begin, h), end = begin + SHUFFLE(my_tails.n, h), mask;
            if (!writes) {
                u32 n = 0;
                UNROLL_4
                for (u32 i = begin + lane; i < end; i += WIDTH) n += tail_attacks[i] & attacks ? 0u : 1u;
                WARP_SUM(n);
                if (h == lane) my_n = n;
            } else {
                u64 word = SHUFFLE64(my_head.word, h);
                u32 path = SHUFFLE(my_head.path, h), at = SHUFFLE(my_head.start, h);
                u32 is_lower = SHUFFLE(my_is_lower, h);
                if (at == NONE) continue;
                GLOBAL u64* words = (is_lower ? ARRAY(u64, LOWER) : ARRAY(u64, UPPER)) + at;
                GLOBAL u64* codes = ARRAY(u64, CODES) + at;
                for (u32 i = begin + lane; i < end + lane; i += 4 * WIDTH) {
                    u64 tail[4];
                    u32 tail_path[4], fits[4];
                    for (u32 k = 0; k < 4; k++)
                        fits[k] = i + k * WIDTH < end ? !(tail_attacks[i + k * WIDTH] & attacks) : 0;
                    for (u32 k = 0; k < 4; k++) {
                        if (fits[k]) tail[k] = tail_words[i + k * WIDTH];
                        if (fits[k] && is_lower) tail_path[k] = tail_paths[i + k * WIDTH];
                    }
                    for (u32 k = 0; k < 4; k++) {
                        BALLOT(mask, fits[k]);
                        if (fits[k]) {
                            u32 to = POPC(mask & ((1u << lane) - 1u));
                            if (word >> FIRST_CENTRAL)
                                tail[k] = (tail[k] & (((u64)1 << SECOND_CENTRAL) - 1)) | tail[k] >> FIRST_CENTRAL << SECOND_CENTRAL;
                            words[to] = word | tail[k];
                            if (is_lower) codes[to] = (u64)path << 32 | tail_path[k];
                        }
                        words += POPC(mask);
                        codes += POPC(mask);
                    }
                }
            }
        }
        if (!writes && first + lane < n_heads) all_heads[mine].start = my_n;
    }
}
KERNEL void count_words(GLOBAL u64* arena) { meet(0, arena); }
// Gives the words of each prefix their place, in the order of the heads: a warp for each prefix.
KERNEL void place_words(GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, n_items = params->n_sets * (PREFIXES + LEAVES);
    if (params->overflow) return;
    for (u32 item = WARP; item < n_items; item += N_WARPS) {
        u32 number = item / (PREFIXES + LEAVES), prefix = item % (PREFIXES + LEAVES), is_lower = prefix >= PREFIXES;
        Range heads = ARRAY(Range, HEAD_TABLE)[item], range;
        GLOBAL Head* head = ARRAY(Head, HEADS) + heads.begin;
        u32 n = 0, begin = 0;
        for (u32 h = lane; h < heads.n; h += WIDTH) n += head[h].start;
        WARP_SUM(n);
        if (n) {
            if (lane == 0) begin = reserve(params, is_lower ? LOWER : UPPER, n);
            BROADCAST(begin);
        }
        range.begin = begin; range.n = begin == NONE ? 0 : n;
        if (lane == 0) {
            if (is_lower) ARRAY(Range, LOWER_TABLE)[(u64)number * LEAVES + prefix - PREFIXES] = range;
            else ARRAY(Range, UPPER_TABLE)[(u64)number * PREFIXES + prefix] = range;
        }
        for (u32 h = lane; h < (heads.n + WIDTH - 1) / WIDTH * WIDTH; h += WIDTH) {
            u32 here = h < heads.n ? head[h].start : 0, before = here;
            WARP_SCAN(before);
            if (h < heads.n) head[h].start = begin == NONE ? NONE : begin + before - here;
            LAST(before);
            if (begin != NONE) begin += before;
        }
    }
}
KERNEL void write_words(GLOBAL u64* arena) { meet(1, arena); }
