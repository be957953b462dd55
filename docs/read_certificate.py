#!/usr/bin/env python3
"""Reads a certificate of an n-queens count and checks what needs no solver: python3 read_certificate.py FILE [KEY ...]

Plain Python and nothing else. The format is explained in CERTIFICATE.md. Ends with status 1 if anything is wrong, or if
KEYs are given and another key has signed. What is not checked here: that the number of crosses, their images, weights
and subproblems are those of the board; that symmetric placements and total are the published ones; and that any record
was counted right. `queens check` does that."""
import hashlib
import re
import sys
import unicodedata
import zlib


class Refused(Exception):
    pass


def require(holds, what):
    if not holds:
        raise Refused(what)


# Fields: each kind of line has these, each read by a function.

def number(below, least=0):
    def read(text):
        is_right = re.fullmatch("0|[1-9][0-9]*", text) and least <= int(text) < below
        require(is_right, f"{text!a} is no number that can stand here")
        return int(text)
    return read


def word(pattern):
    def read(text):
        require(re.fullmatch(pattern, text), f"{text!a} stands where {pattern} belongs")
        return text
    return read


def name(text):
    hidden = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
    kinds = [unicodedata.category(character) for character in text.replace(" ", "")]
    is_seen = not re.search(hidden, text) and not {"Cc", "Cf", "Co", "Zl", "Zp", "Zs"}.intersection(kinds)
    require(is_seen and 0 < len(text) <= 100 and text.strip() == text and kinds[0] not in ("Mn", "Me"),
            f"{text!a} is no name")
    return text


PASS, U32, U63, U64, U128 = number(3, least=1), number(2**32), number(2**63), number(2**64), number(2**128)
PARTY, IDENTITY, HASH = word("[0-9a-f]{16}"), word("(?!0{32})[0-9a-f]{32}"), word("[0-9a-f]{64}")
COUNT = [PASS, U32, U63, U63, U63, U63, U63, U32]
LINES = {
    "queens certificate": [number(3, least=2), number(4097, least=1)],
    "part": [number(3, least=2)],
    "board": [number(33)],
    "crosses": [U32, U32, U32],
    "job": [U63, U63],
    "pass": [PASS, word("search|halves"), U32, U64, number(1_000_001), word("[0-9a-f]{32}"), IDENTITY,
             word("any|[0-9a-f]{16}")],
    "symmetric": [U63, U63],
    "made": [U63, name],
    "signer": [HASH],
    "counter": [number(2**18), name, name, name, PARTY],
    "cross": [PASS, U32, number(8), U64, number(256), U128, U128, IDENTITY],
    "record": COUNT,
    "again": COUNT + [U63],
    "verdict": [PASS, U32, U63, U63, number(2**18), U63, U63, U63, U32, U63, U63, U32],
    "total": [PASS, U64, U128, U128],
    "tree": [U64, HASH],
    "signature": [word("[0-9a-f]{128}")],
}


def unpacked(path):
    """Yields the lines of a file that is one member of gzip and no more."""
    with open(path, "rb") as file:
        unpack, rest, size = zlib.decompressobj(31), b"", 0
        while not unpack.eof:
            packed = unpack.unconsumed_tail or file.read(1 << 16)
            require(packed, "the file ends here, too early")
            text = unpack.decompress(packed, 1 << 20)
            size += len(text)
            require(size <= (16 << 20) + 50 * file.tell(), "the file unpacks to more than 50 times its size")
            *lines, rest = (rest + text).split(b"\n")
            for line in lines + [rest]:
                require(len(line) < 2048, "a line is longer than any of a certificate")
            yield from lines
        require(not rest, "the file ends here, too early")
        require(not unpack.unused_data and not file.read(1), "something follows what is packed")


class Lines:
    def __init__(self, path):
        self.lines, self.line, self.number = unpacked(path), None, 0

    def kind(self):
        """Returns the kind of the next line, None at the end."""
        if self.line is None:
            self.line = next(self.lines, None)
            self.number += 1
        return self.line and self.line.split(b"\t")[0].decode()

    def take(self, expected):
        """Returns the fields of the next line, and the line itself."""
        kind = self.kind()
        require(self.line is not None, "the file ends here, too early")
        require(kind == expected, f"{kind!a} stands where {expected!a} belongs")
        line, self.line = self.line, None
        texts = line.decode().split("\t")[1:]
        require(len(texts) == len(LINES[kind]), f"a {kind} has {len(LINES[kind])} fields, and not {len(texts)}")
        return [read(text) for read, text in zip(LINES[kind], texts)], line


class Tree:
    """The tree of RFC 6962: its full subtrees, each with its size, the largest first."""

    def __init__(self):
        self.full, self.n_leaves = [], 0

    def add(self, line):
        node, size = hashlib.sha256(b"\0" + line).digest(), 1
        while self.full and self.full[-1][1] == size:
            node, size = hashlib.sha256(b"\1" + self.full.pop()[0] + node).digest(), 2 * size
        self.full.append((node, size))
        self.n_leaves += 1

    def root(self):
        root = self.full.pop()[0] if self.full else hashlib.sha256().digest()
        while self.full:
            root = hashlib.sha256(b"\1" + self.full.pop()[0] + root).digest()
        return root.hex()


# Ed25519 (RFC 8032), slow and short.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    c, d = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    e, f = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return (d - c) * (f - e) % P, (f + e) * (d + c) % P, (f - e) * (f + e) % P, (d - c) * (d + c) % P


def times(n, point):
    result = (0, 1, 1, 0)
    while n:
        if n & 1:
            result = add(result, point)
        point, n = add(point, point), n >> 1
    return result


def point_of(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    require((x * x - square) % P == 0 and y < P, "no point of the curve")
    x = P - x if x & 1 != sign else x
    point = x, y, 1, x * y % P
    require(times(8, point)[0] != 0, "a point with which anything can be signed")
    return point


def has_signed(key, message, signature):
    base = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    a, b = times(s, base), add(point_of(signature[:32]), times(h, point_of(key)))
    return s < L and (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def siphash(key, data):
    """SipHash-2-4."""
    words = [int.from_bytes(part[i:i + 8], "little") for part in (key, data) for i in range(0, len(part), 8)]
    k0, k1, *words = words
    words[-1] |= len(data) << 56
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def mix(a, b, turn, half):
        v[a] = (v[a] + v[b]) % 2**64
        v[b] = (v[b] << turn | v[b] >> 64 - turn) % 2**64 ^ v[a]
        if half:
            v[a] = (v[a] << 32 | v[a] >> 32) % 2**64

    for word, n_rounds in [(word, 2) for word in words] + [(None, 4)]:
        if word is None:
            word, v[2] = 0, v[2] ^ 0xff
        v[3] ^= word
        for _ in range(n_rounds):
            mix(0, 1, 13, True), mix(2, 3, 16, False), mix(0, 3, 21, False), mix(2, 1, 17, True)
        v[0] ^= word
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def check_record(lines, record, parties, said, take):
    """Checks the recounts and verdicts behind a record."""
    place, count, by = record[:4], tuple(record[4:6]), parties[record[7]]
    agreeing, differing, last = {by}, [], ""
    while lines.kind() == "again":
        again = take("again")
        party, other = parties[again[7]], tuple(again[4:6])
        require(again[:4] == place, "another count does not follow its record")
        require(party != by, "the party that counted this counted it again")
        require(party > last, "a party counted this again twice, or parties are not in order")
        last = party
        if other == count:
            agreeing.add(party)
        else:
            differing.append((party, other))
    verdicts, standing = [], {}
    while lines.kind() == "verdict":
        _, _, _, _, index, _, *agreed, winner, lost_solutions, lost_nodes, loser = verdict = take("verdict")
        agreed, lost = tuple(agreed), (lost_solutions, lost_nodes)
        require(verdict[:4] == place, "a verdict does not follow its record")
        require(index == len(verdicts), f"verdict {index} stands where verdict {len(verdicts)} belongs")
        require(parties[winner] != parties[loser], "a party wins against itself")
        require(agreed != lost, "a count loses against an equal one")
        # A rejected count may lose again if it has won in between.
        standing.pop(agreed, None)
        earlier = standing.setdefault(lost, set())
        require((parties[loser], agreed) not in earlier, "a verdict says what an earlier one says")
        earlier.add((parties[loser], agreed))
        verdicts.append((agreed, lost, parties[loser]))
    lost = {(party, lost) for _, lost, party in verdicts}
    require(lost.issuperset(differing), "two counts differ, and no verdict says who is right")
    last = {lost: i for i, (_, lost, _) in enumerate(verdicts)}
    for i, (agreed, _, _) in enumerate(verdicts):
        require(agreed == count or last.get(agreed, -1) > i, "a verdict is for another count than that of the record")
        require(len(agreeing) > 1, "a verdict is for a count that one party alone has")
    _, _, _, job, share, seed, _, named = said
    data = job.to_bytes(8, "little") + place[1].to_bytes(4, "little") + place[2].to_bytes(8, "little")
    if share and siphash(bytes.fromhex(seed)[::-1], data) * 1_000_000 >> 64 < share:
        require(len(agreeing) > 1, "a record was drawn to be counted again, and no second party has confirmed it")
        require(named == "any" or named in agreeing, f"a record was drawn, and party {named} has not confirmed it")


def check_pass(lines, said, crosses, parties, take):
    """Checks the body of a pass. Returns its records, weighted solutions and nodes, and the sums of each cross. Without
    `crosses`, it begins with cross 0 and has any number."""
    next_cross, end = crosses or (0, None)
    n_records, total, sums = 0, 0, []
    while lines.kind() == "cross" and next_cross != end:
        number, cross, _, n_subproblems, weight, solutions, nodes, identity = take("cross")
        require(number == said[0] and cross == next_cross,
                f"cross {cross} of pass {number} stands where cross {next_cross} of pass {said[0]} belongs")
        require(identity == said[6], f"cross {cross} is of job {identity}, its pass of {said[6]}")
        until, found = 0, [0, 0]
        while lines.kind() == "record":
            record = take("record")
            require(record[:2] == [number, cross], f"a record of cross {record[1]} stands in cross {cross}")
            require(record[2] == until < record[3], f"subproblems {record[2]}..{record[3]} come after {until}")
            require(record[7] < len(parties), f"there is no counter {record[7]}")
            until, found = record[3], [found[0] + record[4], found[1] + record[5]]
            n_records += 1
            check_record(lines, record, parties, said, take)
        require(until == n_subproblems, f"cross {cross} has {n_subproblems} subproblems, and {until} are counted")
        require(found == [solutions, nodes], f"the records of cross {cross} have {found}, it says {[solutions, nodes]}")
        next_cross, total = next_cross + 1, total + weight * solutions
        sums.append((solutions, nodes))
    require(end in (None, next_cross), f"crosses {next_cross}..{end} of pass {said[0]} are missing")
    return [n_records, total, sum(nodes for _, nodes in sums)], sums


def read_part(lines, keys):
    """Reads a part and checks all of it. Returns what it says, and its totals."""
    signed, tree = b"", Tree()

    def frame(kind):
        nonlocal signed
        fields, line = lines.take(kind)
        signed += line + b"\n"
        return fields

    def leaf(kind):
        fields, line = lines.take(kind)
        tree.add(line)
        return fields

    frame("part")
    (n,), (first, end, n_crosses) = frame("board"), frame("crosses")
    require(first < end <= n_crosses or first == end == n_crosses == 0, f"{first}..{end} are no crosses of {n_crosses}")
    frame("job")
    passes = [frame("pass")]
    if lines.kind() == "pass":
        passes.append(frame("pass"))
    require([said[0] for said in passes] == [1, 2][:len(passes)], "the passes are not in order")
    methods = [said[1] for said in passes]
    require(methods != ["halves", "halves"], "halves have no other images to count a second pass on")
    is_whole = (first, end) == (0, n_crosses)
    require(is_whole or len(set(methods)) == 1, "passes by two methods can be compared for a whole board alone")
    symmetric = frame("symmetric")
    frame("made")
    (key,) = frame("signer")
    require(not keys or key in keys, f"it is signed by {key}, which is none of the keys that may sign it")

    parties, results = [], []
    while lines.kind() == "counter":
        counter = leaf("counter")
        require(counter[0] == len(parties), f"counter {counter[0]} stands where counter {len(parties)} belongs")
        parties.append(counter[4])
    for said in passes:
        crosses = (first, end) if said[1] == methods[0] else None
        results.append(check_pass(lines, said, crosses, parties, leaf))
    for said, (total, _) in zip(passes, results):
        claimed = frame("total")
        require(claimed == said[:1] + total, f"pass {said[0]} has {total}, its total says {claimed[1:]}")
    if len(passes) == 2:
        (one, sums), (other, other_sums) = results
        require(one[1] == other[1], f"the passes contradict each other: {one[1]} and {other[1]} solutions")
        if methods[0] == methods[1]:
            for cross, (a, b) in enumerate(zip(sums, other_sums), first):
                require(a[0] == b[0], f"the passes contradict each other in cross {cross}: {a[0]} and {b[0]} solutions")
            n_counted = sum(nodes > 0 for _, nodes in sums)
            require(n_counted < 8 or sums != other_sums, "all crosses have the same nodes: one pass is a copy")
    require(frame("tree") == [tree.n_leaves, tree.root()], "the root of the tree is not that of these lines")
    (signature,), _ = lines.take("signature")
    require(has_signed(bytes.fromhex(key), signed, bytes.fromhex(signature)), f"{key} has not signed this")
    board = n, n_crosses, methods[0], passes[0][2], symmetric
    return board, (first, end), passes, [total for total, _ in results], key


def read(lines, keys):
    """Reads a certificate, and returns what can be said of it."""
    said, identities, solutions, before = [], [], 0, None
    (_, n_parts), _ = lines.take("queens certificate")
    for _ in range(n_parts):
        board, (first, end), passes, totals, key = read_part(lines, keys)
        before, start, until = before or board, start if before else first, until if before else first
        require(board == before, f"a part of {board} can't follow one of {before}")
        require(first == until, f"a gap or an overlap: a part begins with cross {first}, and not {until}")
        until = end
        solutions += totals[0][1]
        for (number, method, version, _, _, _, identity, _), (n_records, weighted, nodes) in zip(passes, totals):
            by = f"pass {number} by {method} {version}"
            require(identity not in identities, f"two passes are of job {identity}")
            identities.append(identity)
            said.append(f"{by}: {n_records} records, {weighted} solutions, {nodes} nodes")
            said.append(f"pass {number} is job {identity}")
        said.append(f"signed by {key}")
    require(lines.kind() is None, "something follows the last part")
    n, n_crosses, _, _, (half_turn, quarter_turn) = before
    if (start, until) != (0, n_crosses):
        return said + [f"crosses {start}..{until} of {n_crosses} of n = {n}: {solutions} solutions"]
    unchanged = solutions + half_turn + 2 * quarter_turn + (4 if n <= 1 else 0)
    require(unchanged % 8 == 0, "Burnside's lemma contradicts this")
    return said + [f"Q({n}) = {solutions}, {unchanged // 8} of them fundamental"]


def main(path, *keys):
    lines = Lines(path)
    try:
        print(*read(lines, keys), sep="\n")
    except (Refused, OSError) as refused:
        sys.exit(f"{path}: line {lines.number}: {refused}")
    except (UnicodeDecodeError, zlib.error) as damage:
        sys.exit(f"{path}: line {lines.number}: it is damaged, or no certificate: {damage}")


if __name__ == "__main__":
    main(*sys.argv[1:])
