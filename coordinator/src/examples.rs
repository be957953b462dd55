//! The examples at the end of the help: of the program, then of its commands. A test parses each of them.

pub(crate) const EXAMPLES: &str = "\
queens-coordinator --data-dir jobs  # keeps jobs in the directory jobs
queens-coordinator --http 127.0.0.1:8080  # also serves the pages
queens-coordinator --config coordinator.toml --check-config  # checks the file

queens-coordinator backup monday.db  # copies the usual directory
queens-coordinator backup a && queens-coordinator check a  # and verify it
queens-coordinator restore monday.db --data-dir new  # a backup
queens-coordinator restore snapshots/jobs --data-dir jobs  # of a directory
queens-coordinator restore --store postgres://queens@db/queens  # a dump
queens-coordinator check monday.db  # a backup
queens-coordinator check --store postgres://queens@db/queens  # a database
queens-coordinator move --from jobs --to postgres://queens@db/queens  # there
queens-coordinator move --from postgres://queens@db/queens --to jobs  # back
queens-coordinator key --data-dir jobs  # as 'queens check --key' takes it
queens-coordinator key --pem > key.pem  # for OpenSSL
queens-coordinator key --new --data-dir releases  # a key to sign releases
queens-coordinator sign SHA256SUMS  # makes SHA256SUMS.sig
queens-coordinator export 3 q20.certificate  # the proof of job 3
queens-coordinator export 3 q && queens check q  # and check it
queens-coordinator invite --role worker --uses 50  # for up to fifty
queens-coordinator invite --role operator --name alice  # alice may submit
queens-coordinator invite --role viewer --expires 30d  # may look for 30 days
queens-coordinator invitations  # lists those of the usual directory
queens-coordinator revoke 3  # number 3 of 'invitations'
queens-coordinator campaign open 3  # a link to count job 3
queens-coordinator campaign open --most-people 50 --expires 7d  # for few
queens-coordinator campaign open --approve  # people wait for your approval
queens-coordinator approve 3 4  # numbers of 'invitations'
queens-coordinator campaign close 1  # number 1 of 'campaign list'
queens-coordinator campaign close --all  # nobody can join any more
queens-coordinator campaign reopen 1  # under its old link
queens-coordinator campaign list  # with the people who have joined
queens-coordinator certs keys --host count.example.org  # by its name
queens-coordinator certs keys --host localhost --host 192.0.2.7  # by several
queens-coordinator certs keys --client carol  # for somebody to invite
queens-coordinator recover jobs saved  # the provable records of jobs
queens-coordinator recover broken.db saved  # from a backup
queens-coordinator recover a b && queens-coordinator check b  # and verify it";
