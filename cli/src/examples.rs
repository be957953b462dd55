//! The examples at the end of the help: of the program, then of its commands. A test parses each of them.

pub(crate) const EXAMPLES: &str = "\
queens count 16  # in how many ways 16 queens fit
queens solve 8 --format color  # one of the ways, drawn here
queens submit 20  # a job for a cluster's workers

queens count 16  # on all processors of this machine
queens count 18 --data-dir q18  # stopped, it goes on when typed again
queens count 22 --gpu all  # on all graphics cards
queens count 8 --given 0:3,1:5  # only with queens on these squares
queens estimate 20  # on this machine
queens estimate 24 --cores 1000  # on a thousand cores like these
queens bench  # 18 queens on one thread
queens bench --kernel all  # every kernel that this machine has
queens bench 22 --method halves --threads 4  # the other method
queens gpus  # what --gpu can name
queens table  # all methods, n = 1 to 10
queens table 8-12 --method bitmask,kernel  # two of them
queens table --output json --plot methods.svg  # for programs, with a drawing
queens solve 8 --format unicode  # a board in the terminal
queens solve 20 --random --seed 7  # by chance, and the same each time
queens solve 8 --given 0:3 --method backtracking  # with a queen there
queens list 6  # all four solutions
queens list 8 --fundamental --format board  # one of those that are alike
queens list 20 --limit 10  # the first ten
queens render 8 -o board.png  # a picture of a solution
queens render 8 -o board.svg --coordinates --theme light  # squares named
queens render 6 --all -o all.svg  # all solutions on one sheet
queens animate 6  # in the terminal
queens animate 6 -o search.gif  # a file that moves
queens animate 5 --all -o search.svg --delay 50  # faster, to the last
queens submit 20  # a job; its id is printed
queens submit 16-20 --priority 5  # five jobs, before others
queens submit 18 --second-pass=halves  # all counted twice, by two methods
queens jobs  # all jobs
queens jobs --state running,queued  # those that are being counted or wait
queens status 3  # all that is known of job 3
queens watch 3  # a bar until it is over
queens watch 3 && queens export 3 q20.certificate  # then a proof
queens contributions 3  # the contributions to job 3
queens contributions 3 | sort -k 6 -n -r  # by the share of each
queens cancel 3  # stop counting job 3
queens top  # of the coordinator on this machine
queens top --coordinator http://a:50051,http://b:50051  # which of them leads
queens workers  # who counts, and how fast
queens workers drain rack1  # its workers report their counts, and leave
queens workers drain 'rack 2'  # a name with a space
queens workers block rack1  # no work for those of this name
queens workers unblock rack1  # work for them again
queens pause 3  # no work on job 3 until it is resumed
queens pause 3 && queens workers drain rack1  # before work on a machine
queens resume 3  # go on with job 3
queens resume 3 && queens watch 3  # and follow it
queens priority 3 10  # before all of less than 10
queens priority 3 -1000  # after all others
queens verify-more 3 --recount 10  # a tenth of the work again, by others
queens verify-more 3 --second-pass  # all of it again
queens verify-more 3 --second-pass=halves  # all of it, by this method
queens verdicts 3  # the decided disputes of job 3
queens audit  # the latest 100
queens audit --limit 20 --no-refusals  # without refused log-ins
queens audit --limit 10000 --output json > audit.json  # to be kept
queens export 3 q20.certificate  # the proof of job 3
queens export 3 q && queens check q  # and check it
queens check q20.certificate  # and count for ten seconds again
queens check q20.certificate --share 1  # a per cent of it again
queens check q20.certificate --seconds 0  # without counting
queens merge a.certificate b.certificate -o whole.certificate  # of two
queens doctor  # this machine, and its coordinator
queens doctor --coordinator https://host:50051 --ca ca.pem  # another
queens completions bash > queens.bash  # read by 'source queens.bash'
queens completions zsh > ~/.zfunc/_queens  # in a directory of 'fpath'
queens completions fish > ~/.config/fish/completions/queens.fish  # fish";
