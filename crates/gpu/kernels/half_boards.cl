// Half boards: their queens, and the heads and tails of all placements.

typedef struct { u32 n, odd, columns, middle, is_lower; } Half;
typedef struct { u32 left, rising, falling, used; u64 attacks, word; u32 path, unused; } Partial;

FN u32 column_of(u32 columns, u32 rank) {
    for (u32 i = 0; i < rank; i++) columns &= columns - 1;
    return POPC((columns & (0u - columns)) - 1u);
}
FN u32 distance_of(u32 n, u32 column) {
    u32 left = n / 2;
    return column < left ? left - column : column + 1 - left - n % 2;
}
FN Half half_of(GLOBAL const Params* params, GLOBAL const Set* set, u32 is_lower) {
    Half side;
    side.n = params->n; side.odd = params->odd; side.columns = set->columns[is_lower]; side.middle = params->middle;
    side.is_lower = is_lower;
    return side;
}
// The two diagonals of a queen that both half boards reach, as bit numbers; 64 if there is none.
FN void feet_of(u32 n, u32 odd, u32 is_lower, u32 row, u32 column, u32* a, u32* b) {
    int by = is_lower ? (int)(row - 1 + odd) : (int)row, c = (int)column, size = (int)(n - 1 - odd);
    int rising = (is_lower ? c - by : c + by) - 1, falling = (is_lower ? c + by : c - by) - (int)odd;
    *a = rising >= 0 && rising < size ? (u32)rising : 64u;
    *b = falling >= 0 && falling < size ? (u32)(falling + size) : 64u;
}
FN u64 bit_of(u32 number) { return number < 64u ? (u64)1 << number : (u64)0; }
FN u64 footprint(Half side, u32 row, u32 rank) {
    u32 a, b;
    feet_of(side.n, side.odd, side.is_lower, row, column_of(side.columns, rank), &a, &b);
    return bit_of(a) | bit_of(b);
}
FN Partial none_of(Half side) {
    Partial p;
    p.left = side.columns; p.rising = 0; p.falling = 0; p.used = 0; p.attacks = 0; p.word = 0; p.path = 0; p.unused = 0;
    return p;
}
// The columns of a row that the middle row's queen attacks.
FN u32 by_middle(Half side, u32 row) {
    return side.middle < 32u ? (1u << side.middle) << row | (1u << side.middle) >> row : 0u;
}
FN u32 free_of(Half side, u32 row, Partial p) { return p.left & ~(p.rising | p.falling | by_middle(side, row)); }
// Places a queen. `at` is the place of its rank in the path.
FN Partial put(Half side, u32 row, u32 bit, u32 at, Partial p) {
    u32 column = POPC(bit - 1u), rank = POPC(side.columns & (bit - 1u)), a, b;
    int by = (int)row - HEAD, c = (int)column, n = (int)side.n;
    feet_of(side.n, side.odd, side.is_lower, row, column, &a, &b);
    int rises = c + by - 1, falls = c - by;
    if (rises >= 0 && rises < n) p.attacks |= (u64)1 << rises;
    if (falls >= 0 && falls < n) p.attacks |= (u64)1 << (32 + falls);
    if (distance_of(side.n, column) + side.odd == 1)
        p.word |= (u64)row << (p.word >> FIRST_CENTRAL ? SECOND_CENTRAL : FIRST_CENTRAL);
    p.word |= bit_of(a) | bit_of(b);
    p.left ^= bit; p.used |= 1u << rank; p.path |= rank << 4 * at;
    p.rising = (p.rising | bit) << 1; p.falling = (p.falling | bit) >> 1;
    return p;
}
// Places the rows from `row` on by the digits of a prefix; returns whether no queen attacks another.
FN u32 put_prefix(Half side, u32 row, u32 n_rows, u32 prefix, u32 first, Partial* p) {
    u32 scale = 1;
    for (u32 i = 1; i < n_rows; i++) scale *= M;
    for (u32 i = 0; i < n_rows; i++, scale /= M) {
        u32 rank = prefix / scale % M, bit = 1u << column_of(side.columns, rank);
        if (!(free_of(side, row + i, *p) & bit) || (i == 0 && !(first >> rank & 1u))) return 0;
        *p = put(side, row + i, bit, i, *p);
    }
    return 1;
}

// Reserves `n` places of an array; NONE if there is no room.
FN u32 reserve(GLOBAL Params* params, u32 array, u32 n) {
    u32 begin = ADD(&params->cursor[array], n);
    if ((u64)begin + n > params->capacity[array]) {
        OR(&params->overflow, 1u << array);
        return NONE;
    }
    return begin;
}

// The number of a set of columns among all with as many.
FN u32 bucket_of(GLOBAL const u32* binomials, u32 columns) {
    u32 sum = 0;
    for (u32 k = 1; columns; k++, columns &= columns - 1) sum += binomials[8 * POPC((columns & (0u - columns)) - 1u) + k];
    return sum;
}
// Writes a tail, given by the columns of its rows, five bits each.
FN void write_tail(GLOBAL u64* arena, Half side, u32 at, u32 columns) {
    PARAMS;
    Partial p = none_of(side);
    for (u32 i = 0; i < TAIL; i++) p = put(side, HEAD + 1 + i, 1u << (columns >> 5 * i & 31u), 0, p);
    ARRAY(u64, TAIL_ATTACKS)[at] = p.attacks;
    ARRAY(u64, TAIL_WORDS)[at] = p.word;
    ARRAY(u32, TAIL_PATHS)[at] = columns;
}
// Finds the tails on each set of columns, in lexicographic order: a thread for each set and column of the first row.
FN void tails(u32 writes, GLOBAL u64* arena) {
    PARAMS;
    u32 n_items = 2 * params->n_buckets * TAIL;
    for (u32 item = THREAD; item < n_items; item += N_THREADS) {
        u32 bucket = item / TAIL, is_lower = bucket >= params->n_buckets, n = 0, depth = 1, columns = 0;
        u32 at = writes ? ARRAY(u32, TAIL_STARTS)[item] : 0, number = is_lower ? bucket - params->n_buckets : bucket;
        if (at == NONE) continue;
        for (u32 k = TAIL, column = params->n; k > 0; k--) {
            do column--; while (ARRAY(u32, BINOMIALS)[8 * column + k] > number);
            number -= ARRAY(u32, BINOMIALS)[8 * column + k];
            columns |= 1u << column;
        }
        Half side;
        side.n = params->n; side.odd = params->odd; side.columns = columns; side.middle = params->middle; side.is_lower = is_lower;
        u32 first = column_of(columns, item % TAIL), bit = 1u << first, path = first;
        // Columns that are not used yet and not tried yet in each row; columns attacked along diagonals.
        u32 unused[TAIL], left[TAIL], rising[TAIL], falling[TAIL];
        unused[1] = columns ^ bit;
        rising[1] = bit << 1;
        falling[1] = bit >> 1;
        left[1] = unused[1] & ~(rising[1] | falling[1] | by_middle(side, HEAD + 2));
        if (bit & by_middle(side, HEAD + 1) || (params->middle < 32u && columns >> params->middle & 1u)) left[1] = 0;
        while (depth > 0) {
            bit = left[depth] & (0u - left[depth]);
            if (!bit) { depth--; continue; }
            left[depth] ^= bit;
            path = (path & ((1u << 5 * depth) - 1u)) | POPC(bit - 1u) << 5 * depth;
            if (depth == TAIL - 1) {
                if (writes) write_tail(arena, side, at + n, path);
                n++;
                continue;
            }
            depth++;
            unused[depth] = unused[depth - 1] ^ bit;
            rising[depth] = (rising[depth - 1] | bit) << 1;
            falling[depth] = (falling[depth - 1] | bit) >> 1;
            left[depth] = unused[depth] & ~(rising[depth] | falling[depth] | by_middle(side, HEAD + 1 + depth));
        }
        if (!writes) ARRAY(u32, TAIL_STARTS)[item] = n;
    }
}
KERNEL void count_tails(GLOBAL u64* arena) { tails(0, arena); }
// Gives each set of columns its place.
KERNEL void place_tails(GLOBAL u64* arena) {
    PARAMS;
    for (u32 bucket = THREAD; bucket < 2 * params->n_buckets; bucket += N_THREADS) {
        GLOBAL u32* starts = ARRAY(u32, TAIL_STARTS) + (u64)bucket * TAIL;
        u32 n = 0;
        for (u32 i = 0; i < TAIL; i++) n += starts[i];
        u32 begin = n ? reserve(params, TAIL_WORDS, n) : 0;
        Range range;
        range.begin = begin; range.n = begin == NONE ? 0 : n;
        ARRAY(Range, BUCKETS)[bucket] = range;
        for (u32 i = 0; i < TAIL; i++) {
            n = starts[i];
            starts[i] = begin;
            if (begin != NONE) begin += n;
        }
    }
}
KERNEL void write_tails(GLOBAL u64* arena) { tails(1, arena); }

KERNEL void clear(GLOBAL u64* arena) {
    PARAMS;
    GLOBAL u32* upper = ARRAY(u32, UPPER_SUMS);
    GLOBAL u32* lower = ARRAY(u32, LOWER_SUMS);
    for (u32 i = THREAD; i < params->n_sets * (M * M * M); i += N_THREADS) { upper[i] = 0; lower[i] = 0; }
}

// Finds the heads, in lexicographic order: a thread for each way to place the first rows, FINE in number.
#define FINE (HEAD - 1 < 4 ? HEAD - 1 : 4)
#define FINES (FINE == 2 ? M * M : FINE == 3 ? M * M * M : M * M * M * M)
FN void find_heads(u32 writes, GLOBAL u64* arena) {
    PARAMS;
    u32 n_items = params->n_sets * (2 * FINES);
    for (u32 item = THREAD; item < n_items; item += N_THREADS) {
        u32 number = item / (2 * FINES), is_lower = item / FINES % 2, n = 0;
        u32 at = writes ? ARRAY(u32, HEAD_STARTS)[item] : 0;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
        Half side = half_of(params, set, is_lower);
        Partial stack[HEAD - FINE];
        u32 left[HEAD - FINE];
        stack[0] = none_of(side);
        if (at != NONE && put_prefix(side, 1, FINE, item % FINES, set->first[is_lower], &stack[0])) {
            int depth = 0;
            left[0] = free_of(side, FINE + 1, stack[0]);
            while (depth >= 0) {
                u32 bit = left[depth] & (0u - left[depth]), here = FINE + 1 + (u32)depth;
                if (!bit) { depth--; continue; }
                left[depth] ^= bit;
                if (here < HEAD) {
                    stack[depth + 1] = put(side, here, bit, here - 1, stack[depth]);
                    depth++;
                    left[depth] = free_of(side, here + 1, stack[depth]);
                    continue;
                }
                if (writes) {
                    Partial p = put(side, here, bit, here - 1, stack[depth]);
                    Head head;
                    head.attacks = p.attacks; head.word = p.word; head.path = p.path; head.unused = 0; head.start = 0;
                    head.bucket = side.is_lower * params->n_buckets + bucket_of(ARRAY(u32, BINOMIALS), p.left);
                    ARRAY(Head, HEADS)[at + n] = head;
                }
                n++;
            }
        }
        if (!writes) ARRAY(u32, HEAD_STARTS)[item] = n;
    }
}
KERNEL void count_heads(GLOBAL u64* arena) { find_heads(0, arena); }
// Gives the heads of each prefix their place: a warp for each prefix.
KERNEL void place_heads(GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, n_items = params->n_sets * (PREFIXES + LEAVES);
    for (u32 item = WARP; item < n_items; item += N_WARPS) {
        u32 number = item / (PREFIXES + LEAVES), prefix = item % (PREFIXES + LEAVES), is_lower = prefix >= PREFIXES;
        u32 n_fine = is_lower ? FINES / LEAVES : FINES / PREFIXES, n = 0, begin = 0;
        if (is_lower) prefix -= PREFIXES;
        GLOBAL u32* starts = ARRAY(u32, HEAD_STARTS) + (u64)(2 * number + is_lower) * FINES + prefix * n_fine;
        for (u32 i = lane; i < n_fine; i += WIDTH) n += starts[i];
        WARP_SUM(n);
        if (n) {
            if (lane == 0) begin = reserve(params, HEADS, n);
            BROADCAST(begin);
        }
        Range range;
        range.begin = begin == NONE ? 0 : begin; range.n = begin == NONE ? 0 : n;
        if (lane == 0) ARRAY(Range, HEAD_TABLE)[item] = range;
        for (u32 i = lane; i < (n_fine + WIDTH - 1) / WIDTH * WIDTH; i += WIDTH) {
            u32 here = i < n_fine ? starts[i] : 0, before = here;
            WARP_SCAN(before);
            if (i < n_fine) starts[i] = begin == NONE ? NONE : begin + before - here;
            LAST(before);
            if (begin != NONE) begin += before;
        }
    }
}
KERNEL void write_heads(GLOBAL u64* arena) { find_heads(1, arena); }
