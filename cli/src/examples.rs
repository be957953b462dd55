//! The examples at the end of each command's help. A test parses each of them.

use queens_runtime::help::Examples;

pub(crate) const EXAMPLES: [Examples; 31] = [
    (
        "",
        [
            ("queens count 16", "in how many ways 16 queens fit"),
            ("queens solve 8 --format color", "one of the ways, drawn here"),
            ("queens submit 20", "a job for a cluster's workers"),
        ],
    ),
    (
        "count",
        [
            ("queens count 16", "on all processors of this machine"),
            ("queens count 18 --data-dir q18", "stopped, it goes on when typed again"),
            ("queens count 8 --given 0:3,1:5", "only with queens on these squares"),
        ],
    ),
    (
        "estimate",
        [
            ("queens estimate 20", "on this machine"),
            ("queens estimate 24 --cores 1000", "on a thousand cores like these"),
            ("queens estimate 22 --output json", "for a program"),
        ],
    ),
    (
        "bench",
        [
            ("queens bench", "18 queens on one thread"),
            ("queens bench --kernel portable", "the kernel that any processor has"),
            ("queens bench --n 22 --method halves --threads 4", "the other method"),
        ],
    ),
    (
        "table",
        [
            ("queens table", "all methods, n = 1 to 10"),
            ("queens table --from 8 --to 12 --method bitmask,kernel", "two of them"),
            ("queens table --format csv --plot methods.svg", "for programs, with a drawing"),
        ],
    ),
    (
        "solve",
        [
            ("queens solve 8 --format unicode", "a board in the terminal"),
            ("queens solve 20 --random --seed 7", "by chance, and the same each time"),
            ("queens solve 8 --given 0:3 --method backtracking", "with a queen there"),
        ],
    ),
    (
        "list",
        [
            ("queens list 6", "all four solutions"),
            ("queens list 8 --fundamental --format board", "one of those that are alike"),
            ("queens list 20 --limit 10", "the first ten"),
        ],
    ),
    (
        "render",
        [
            ("queens render 8 -o board.png", "a picture of a solution"),
            ("queens render 8 -o board.svg --coordinates --theme light", "squares named"),
            ("queens render 6 --all -o all.svg", "all solutions on one sheet"),
        ],
    ),
    (
        "animate",
        [
            ("queens animate 6", "in the terminal"),
            ("queens animate 6 -o search.gif", "a file that moves"),
            ("queens animate 5 --all -o search.svg --delay 50", "faster, to the last"),
        ],
    ),
    (
        "submit",
        [
            ("queens submit 20", "a job; its id is printed"),
            ("queens submit 16..20 --priority 5", "five jobs, before others"),
            ("queens submit 18 --second-pass=halves", "all counted twice, by two methods"),
        ],
    ),
    (
        "jobs",
        [
            ("queens jobs", "all jobs"),
            ("queens jobs --state running,queued", "those that are being counted or wait"),
            ("queens jobs --state failed --output json", "for a program"),
        ],
    ),
    (
        "status",
        [
            ("queens status 3", "all that is known of job 3"),
            ("queens status 3 --output json", "for a program"),
            ("queens status 3 --coordinator http://host:50051", "of another coordinator"),
        ],
    ),
    (
        "watch",
        [
            ("queens watch 3", "a bar until it is over"),
            ("queens watch 3 && queens export 3 q20.certificate", "then a proof"),
            ("queens watch 3 --output json", "a line for each change"),
        ],
    ),
    (
        "contributions",
        [
            ("queens contributions 3", "the contributions to job 3"),
            ("queens contributions 3 --output json", "for a program"),
            ("queens contributions 3 | sort -k 6 -n -r", "by the share of each"),
        ],
    ),
    (
        "cancel",
        [
            ("queens cancel 3", "stop counting job 3"),
            ("queens cancel 3 --output json", "for a program"),
            ("queens cancel 3 --token-file operator.token", "who was invited with a token"),
        ],
    ),
    (
        "top",
        [
            ("queens top", "of the coordinator on this machine"),
            ("queens top --coordinator http://host:50051", "of another"),
            ("queens top --coordinator http://a:50051,http://b:50051", "which of them leads"),
        ],
    ),
    (
        "workers",
        [
            ("queens workers", "who counts, and how fast"),
            ("queens workers drain rack1", "send those of this name home"),
            ("queens workers --output json", "for a program"),
        ],
    ),
    (
        "workers drain",
        [
            ("queens workers drain rack1", "its workers report their counts, and leave"),
            ("queens workers drain rack1 --output json", "how many there were"),
            ("queens workers drain 'rack 2'", "a name with a space"),
        ],
    ),
    (
        "workers block",
        [
            ("queens workers block rack1", "no work for those of this name"),
            ("queens workers block rack1 --output json", "how many there were"),
            ("queens workers block 'rack 2'", "a name with a space"),
        ],
    ),
    (
        "workers unblock",
        [
            ("queens workers unblock rack1", "work for them again"),
            ("queens workers unblock rack1 --output json", "how many there were"),
            ("queens workers unblock 'rack 2'", "a name with a space"),
        ],
    ),
    (
        "pause",
        [
            ("queens pause 3", "no work on job 3 until it is resumed"),
            ("queens pause 3 && queens workers drain rack1", "before work on a machine"),
            ("queens pause 3 --output json", "for a program"),
        ],
    ),
    (
        "resume",
        [
            ("queens resume 3", "go on with job 3"),
            ("queens resume 3 && queens watch 3", "and follow it"),
            ("queens resume 3 --output json", "for a program"),
        ],
    ),
    (
        "priority",
        [
            ("queens priority 3 10", "before all of less than 10"),
            ("queens priority 3 0", "as it was submitted"),
            ("queens priority 3 -1000", "after all others"),
        ],
    ),
    (
        "verify-more",
        [
            ("queens verify-more 3 --recount 10", "a tenth of the work again, by others"),
            ("queens verify-more 3 --second-pass", "all of it again"),
            ("queens verify-more 3 --second-pass=halves", "all of it, by this method"),
        ],
    ),
    (
        "verdicts",
        [
            ("queens verdicts 3", "the decided disputes of job 3"),
            ("queens verdicts 3 --output json", "for a program"),
            ("queens verdicts 3 --token-file viewer.token", "who was invited with a token"),
        ],
    ),
    (
        "audit",
        [
            ("queens audit", "the latest 100"),
            ("queens audit --limit 20 --no-refusals", "without refused log-ins"),
            ("queens audit --limit 10000 --output json > audit.json", "to be kept"),
        ],
    ),
    (
        "export",
        [
            ("queens export 3 q20.certificate", "the proof of job 3"),
            ("queens export 3 q && queens check q", "and check it"),
            ("queens export 3 q20.certificate --output json", "for a program"),
        ],
    ),
    (
        "check",
        [
            ("queens check q20.certificate", "and count for ten seconds again"),
            ("queens check q20.certificate --share 1", "a per cent of it again"),
            ("queens check q20.certificate --seconds 0", "without counting"),
        ],
    ),
    (
        "merge",
        [
            ("queens merge a.certificate b.certificate -o whole.certificate", "of two"),
            ("queens merge c.certificate a.certificate b.certificate -o all", "any order"),
            ("queens merge a b -o c --output json", "for a program"),
        ],
    ),
    (
        "doctor",
        [
            ("queens doctor", "this machine, and its coordinator"),
            ("queens doctor --coordinator https://host:50051 --ca ca.pem", "another"),
            ("queens doctor --output json", "for a program"),
        ],
    ),
    (
        "completions",
        [
            ("queens completions bash > queens.bash", "read by 'source queens.bash'"),
            ("queens completions zsh > ~/.zfunc/_queens", "in a directory of 'fpath'"),
            ("queens completions fish > ~/.config/fish/completions/queens.fish", "fish"),
        ],
    ),
];
