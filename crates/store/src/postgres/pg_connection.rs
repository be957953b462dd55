//! A blocking connection to PostgreSQL, used by one thread.
//!
//! The calling thread waits for the answer, even inside a runtime of its own. The network code runs on one background
//! thread for the whole program.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::sql::database::{Database, Row, Wants, first};
use crate::sql::fault::Fault;
use crate::sql::table::Table;
use rusqlite::types::Value;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, SimpleQueryMessage, Statement};
use tokio_stream::StreamExt;

use super::combined_statement::CombinedStatement;
use super::connect::{Warnings, connect, of_end};
use super::fault::fault;
use super::postgres_row::PostgresRow;
use super::server::Server;
use super::write_buffer::{Batch, Parameter, WriteBuffer};

/// Timeout of an answer: for extensive queries, and for leader election.
const PATIENCE: Duration = Duration::from_secs(20);
const SHORT_PATIENCE: Duration = Duration::from_secs(3);

/// Maximal cached prepared statements. A combined write has a shape for each set of tables.
const PREPARED: usize = 256;

/// Changes that are sent together.
const TOGETHER: usize = 1000;

/// The settings of every connection. The tables are in their own schema. An abandoned transaction must not block a
/// takeover.
/// Lock timeouts are shorter than answer timeouts: a candidate that has given up must not get the lease later. The
/// query identifies the serving process.
const SETTINGS: &str = "SET search_path TO queens; SET idle_in_transaction_session_timeout TO '4s'; \
                        SET statement_timeout TO 0; SET lock_timeout TO '2s'; SET synchronous_commit TO on; \
                        SET client_min_messages TO warning; \
                        SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint AS since \
                        FROM pg_stat_get_activity(pg_backend_pid())";

/// The server process of a connection. The pid alone is not unique: it may be reused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backend {
    pid: i64,
    since: i64,
}

/// Ensures until the end of the transaction that this epoch leads, and that the tables are in the expected state.
/// Otherwise the statement fails, and the transaction with it.
const HOLD: &str = "SELECT queens.hold(?1, ?2, ?3)";

/// The leader's epoch, and the states of the tables before and after the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) epoch: i64,
    pub(super) before: i64,
    pub(super) after: i64,
}

impl Hold {
    fn values(self) -> Vec<Parameter> {
        [self.epoch, self.before, self.after].map(|number| Parameter::One(number.into())).to_vec()
    }
}

/// The progress of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    /// There is none, or the caller manages it by statements.
    None,
    /// It has not begun on the server: writes are buffered here.
    Planned(Hold),
    /// It has begun on the server, which has confirmed the lease.
    Open,
}

/// A connection with its prepared statements.
pub struct PgConnection {
    client: Client,
    warnings: Warnings,
    transaction: Cell<Transaction>,
    patience: Cell<Duration>,
    pub(super) backend: Backend,
    statements: RefCell<HashMap<String, Statement>>,
    /// Changes to be sent, and rows to be written after them.
    changes: RefCell<Vec<(Statement, Vec<Parameter>)>>,
    waiting: RefCell<WriteBuffer>,
}

impl Debug for PgConnection {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PgConnection").finish_non_exhaustive()
    }
}

impl PgConnection {
    /// Connects.
    ///
    /// # Errors
    /// If the server can't be reached, or refuses the user.
    pub fn open(server: &Server) -> Result<Self, Fault> {
        Self::open_for(server, PATIENCE)
    }

    /// Opens a connection for leader election, with a short timeout.
    pub(super) fn open_for_lead(server: &Server) -> Result<Self, Fault> {
        Self::open_for(server, SHORT_PATIENCE)
    }

    /// Returns the same connection with the long timeout.
    pub(super) fn patient(self) -> Self {
        Self { patience: Cell::new(PATIENCE), ..self }
    }

    /// Runs an operation with another timeout.
    pub(super) fn with_patience<T>(&self, patience: Duration, work: impl FnOnce() -> T) -> T {
        let usual = self.patience.replace(patience);
        let done = work();
        self.patience.set(usual);
        done
    }

    fn open_for(server: &Server, patience: Duration) -> Result<Self, Fault> {
        let connecting = network_runtime()?.spawn(connect(server.clone()));
        let (client, warnings) =
            within(patience, async { connecting.await.map_err(|ended| of_end(&ended))? })?;
        let answers = within(patience, async { client.simple_query(SETTINGS).await.map_err(fault) })?;
        let number = |name| {
            answers.iter().find_map(|answer| match answer {
                SimpleQueryMessage::Row(row) => row.get(name)?.parse().ok(),
                _ => None,
            })
        };
        let (Some(pid), Some(since)) = (number("pid"), number("since")) else {
            return Err(Fault::Unfit("it does not say which of its processes serves us".to_owned()));
        };
        let (statements, changes) = (RefCell::default(), RefCell::default());
        let backend = Backend { pid, since };
        Ok(Self {
            client,
            warnings,
            transaction: Transaction::None.into(),
            patience: patience.into(),
            backend,
            statements,
            changes,
            waiting: RefCell::default(),
        })
    }

    /// Acknowledges commits before a standby has them.
    pub(super) fn wait_for_no_standby(&self) -> Result<(), Fault> {
        self.execute("SET synchronous_commit TO local")
    }

    /// Acknowledges commits before the disk has them: a crash may lose them.
    pub(super) fn wait_for_no_disk(&self) -> Result<(), Fault> {
        self.execute("SET synchronous_commit TO off")
    }

    /// Waits until writes of an earlier connection have taken effect or never will. It may have been cut off during a
    /// transaction, which would otherwise overtake its repetition.
    pub(super) fn outlive(&self, former: Backend) -> Result<(), Fault> {
        let end = "SELECT CASE WHEN wait_event = 'SyncRep' THEN NULL ELSE pg_terminate_backend(pid, 2000) END AS ended \
                   FROM pg_stat_activity \
                   WHERE pid = ?1::bigint AND (extract(epoch FROM backend_start) * 1000000)::bigint = ?2";
        let values = [former.pid.into(), former.since.into()];
        let ended = first(self, end, &values, |row| row.get::<Option<bool>>("ended", &"a process"))?;
        match ended {
            None | Some(Some(true)) => Ok(()),
            Some(Some(false)) => Err(Fault::Lost("an earlier connection can't be ended".to_owned())),
            // Ending it now would leave the write on one server only.
            Some(None) => Err(Fault::Lost(
                "the database waits for a standby (synchronous_standby_names), so that nothing it writes is safe"
                    .to_owned(),
            )),
        }
    }

    /// Writes in one transaction, which is durable on return, or has no effect, even if the server cancels a statement.
    /// Fails if `hold` does. After an error, drop the connection.
    ///
    /// If possible, all writes are sent as one statement. Otherwise the transaction begins on the server at the first
    /// query, or when the buffer is full.
    pub(super) fn transact<T>(
        &self,
        hold: Hold,
        work: impl FnOnce(&Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.warnings.take();
        self.transaction.set(Transaction::Planned(hold));
        let done = work(self)?;
        if self.transaction.get() == Transaction::Planned(hold) && self.changes.borrow().is_empty() {
            self.transaction.set(Transaction::None);
            let single = self.single(hold)?;
            self.send(&[single])?;
        } else {
            self.change("COMMIT", &[])?;
            self.send_changes()?;
            self.transaction.set(Transaction::None);
        }
        // For example, the server has stopped waiting for the standby, or there was no transaction: the write may not
        // be durable.
        self.warnings
            .take()
            .map_or(Ok(done), |warning| Err(Fault::Lost(format!("the database warns: {warning}"))))
    }

    /// Returns all buffered writes as one atomic statement.
    fn single(&self, hold: Hold) -> Result<(Statement, Vec<Parameter>), Fault> {
        let mut single = CombinedStatement::default();
        for batch in self.waiting.borrow_mut().take() {
            for (sql, values) in self.statements_of(batch)? {
                single.add(&sql, values);
            }
        }
        let (sql, values) = single.finish(HOLD, hold.values());
        Ok((self.prepare(&sql)?, values))
    }

    /// Begins the planned transaction, if any, and waits for it. If the server had cancelled one of these statements,
    /// it would execute later ones outside of a transaction, with any leader.
    fn begin(&self) -> Result<(), Fault> {
        let Transaction::Planned(hold) = self.transaction.get() else { return Ok(()) };
        let hold = (self.prepare(HOLD)?, hold.values());
        self.send(&[(self.prepare("BEGIN")?, vec![]), hold])?;
        self.transaction.set(Transaction::Open);
        Ok(())
    }

    /// Executes statements without parameters.
    pub fn execute(&self, sql: &str) -> Result<(), Fault> {
        self.begin()?;
        self.send_changes()?;
        within(self.patience.get(), async { self.client.batch_execute(sql).await.map_err(fault) })
    }

    /// Sends all buffered changes in a pipeline, and waits for all answers. Returns the first error.
    pub(super) fn send_changes(&self) -> Result<(), Fault> {
        self.line_up_rows()?;
        if self.changes.borrow().is_empty() {
            return Ok(());
        }
        self.begin()?;
        self.send(&self.changes.take())
    }

    fn send(&self, changes: &[(Statement, Vec<Parameter>)]) -> Result<(), Fault> {
        within(self.patience.get(), async {
            let mut answers: Vec<Pin<Box<_>>> = Vec::new();
            let mut done: Vec<Result<u64, Error>> = Vec::new();
            for (statement, values) in changes {
                let mut answer = Box::pin(self.client.execute_raw(statement, values));
                // The first poll sends the statement, which preserves the order.
                match poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await {
                    Poll::Pending => answers.push(answer),
                    Poll::Ready(answer) => done.push(answer),
                }
            }
            done.into_iter().try_for_each(|answer| answer.map(drop)).map_err(fault)?;
            for answer in answers {
                answer.await.map_err(fault)?;
            }
            Ok(())
        })
    }

    /// Turns buffered rows into changes.
    fn line_up_rows(&self) -> Result<(), Fault> {
        for batch in self.waiting.borrow_mut().take() {
            for (sql, values) in self.statements_of(batch)? {
                let statement = self.prepare(&sql)?;
                self.changes.borrow_mut().push((statement, values));
            }
        }
        Ok(())
    }

    /// Returns the one or two statements that write a batch.
    fn statements_of(&self, batch: Batch) -> Result<Vec<(String, Vec<Parameter>)>, Fault> {
        let Batch { table, rows, removed } = batch;
        // Several rows are sent as arrays of the parameter types of one row.
        let types = self.prepare(table.put_sql())?.params().to_vec();
        let arrays = |n: usize| {
            let array = |(number, ty): (usize, &Type)| format!("?{number}::{}[]", ty.name());
            (1..).zip(&types[..n]).map(array).collect::<Vec<_>>().join(", ")
        };
        let columns = |columns: Vec<Vec<Value>>| columns.into_iter().map(Parameter::Column).collect();
        let mut statements = Vec::new();
        if !removed.is_empty() {
            let (key, arrays) = (table.columns[..table.n_key].join(", "), arrays(table.n_key));
            let sql = format!("DELETE FROM {} WHERE ({key}) IN (SELECT * FROM unnest({arrays}))", table.name);
            statements.push((sql, columns(removed)));
        }
        if rows.first().is_some_and(|column| column.len() == 1) {
            // A statement for one row is cheaper than arrays.
            let row = rows.into_iter().flatten().map(Parameter::One).collect();
            statements.push((table.put_sql().to_owned(), row));
        } else if let (false, Some((into, rest))) = (rows.is_empty(), table.put_sql().split_once(" VALUES "))
        {
            let conflict = rest.find("ON CONFLICT").map_or("", |at| &rest[at..]);
            statements.push((
                format!("{into} SELECT * FROM unnest({}) {conflict}", arrays(types.len())),
                columns(rows),
            ));
        }
        Ok(statements)
    }

    fn prepare(&self, sql: &str) -> Result<Statement, Fault> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = within(self.patience.get(), async {
            self.client.prepare(&translated(sql)).await.map_err(fault)
        })?;
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= PREPARED {
            // The server frees them when they are no longer used.
            statements.clear();
        }
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Database for PgConnection {
    fn rows(
        &self,
        sql: &str,
        parameters: &[Value],
        each: &mut dyn FnMut(&Row<'_>) -> Wants,
    ) -> Result<(), Fault> {
        self.begin()?;
        self.send_changes()?;
        let statement = self.prepare(sql)?;
        let parameters: Vec<Parameter> = parameters.iter().cloned().map(Parameter::One).collect();
        let rows = self.client.query_raw(&statement, &parameters);
        let rows = within(self.patience.get(), async { rows.await.map_err(fault) })?;
        let mut rows = pin!(rows);
        loop {
            // The timeout applies to each row: the time for all rows depends on their number.
            let row = within(self.patience.get(), async { rows.next().await.transpose().map_err(fault) })?;
            match row.map(PostgresRow) {
                None => return Ok(()),
                Some(row) if each(&Row::Server(&row)) == Wants::NoMore => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn change(&self, sql: &str, parameters: &[Value]) -> Result<(), Fault> {
        self.line_up_rows()?;
        let statement = self.prepare(sql)?;
        let parameters = parameters.iter().cloned().map(Parameter::One).collect();
        self.changes.borrow_mut().push((statement, parameters));
        if self.changes.borrow().len() < TOGETHER { Ok(()) } else { self.send_changes() }
    }

    fn put(&self, table: &'static Table, row: Vec<Value>) -> Result<(), Fault> {
        self.waiting.borrow_mut().put(table, row);
        if self.waiting.borrow().len() < TOGETHER { Ok(()) } else { self.send_changes() }
    }

    fn remove(&self, table: &'static Table, key: Vec<Value>) -> Result<(), Fault> {
        self.waiting.borrow_mut().remove(table, key);
        Ok(())
    }
}

/// Returns the runtime of the network code.
fn network_runtime() -> Result<&'static Runtime, Fault> {
    static NETWORK_RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let make =
        || Builder::new_multi_thread().worker_threads(1).thread_name("database").enable_all().build().ok();
    let network_runtime = NETWORK_RUNTIME.get_or_init(make).as_ref();
    network_runtime.ok_or_else(|| Fault::Lost("a thread could not be started".to_owned()))
}

/// Blocks until an answer or the timeout.
fn within<T>(patience: Duration, answer: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let mut answer = pin!(answer);
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    let until = Instant::now() + patience;
    loop {
        if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return answer;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Fault::Lost(format!("the database has not answered for {} s", patience.as_secs())));
        }
        thread::park_timeout(left);
    }
}

/// Wakes the thread that waits for an answer.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Translates SQL for SQLite to that of PostgreSQL, which marks parameters by another sign.
fn translated(sql: &str) -> String {
    sql.replace('?', "$")
}
