//! The form that submits a job or sets a priority.

use std::fmt::Display;
use std::str::FromStr;

use queens_model::{JobId, Name, Priority, Share, price_of_job};
use queens_solver::BoardSize;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::method::MethodChoice;
use crate::top::action::OperatorAction;
use crate::top::input::Input;

/// The methods, in the order of choice.
const METHODS: [&str; 3] = ["auto", "search", "halves"];

/// A field of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Board,
    Method,
    Priority,
    Recount,
    RecountBy,
}

const ALL: [Field; 5] = [Field::Board, Field::Method, Field::Priority, Field::Recount, Field::RecountBy];

/// The form for a new job, or for the priority of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// The job that gets a priority; `None` for a new one.
    job: Option<JobId>,
    n: Input,
    method: usize,
    priority: Input,
    /// The share to recount, in percent; empty for the default.
    recount: Input,
    /// The only party that may recount; empty for any.
    recount_by: Input,
    /// The field that receives keys.
    field: Field,
    /// The error in the input.
    pub(super) wrong: Option<String>,
}

/// The result of a key.
#[derive(Debug, PartialEq)]
pub(super) enum Filled {
    NotYet,
    /// The action to carry out.
    Do(OperatorAction),
    /// The action, if the user confirms this question.
    Ask(OperatorAction, String),
    Dropped,
}

impl Form {
    /// Creates the form for a new job.
    pub(super) fn submit() -> Self {
        Self {
            job: None,
            n: Input::default(),
            method: 0,
            priority: Input::of("0"),
            recount: Input::default(),
            recount_by: Input::default(),
            field: Field::Board,
            wrong: None,
        }
    }

    /// Creates the form for the priority of a job, with its current value.
    pub(super) fn priority(job: JobId, now: Priority) -> Self {
        let priority = Input::of(&now.to_string());
        Self { job: Some(job), priority, field: Field::Priority, ..Self::submit() }
    }

    pub(super) fn title(&self) -> String {
        self.job.map_or_else(|| "submit a job".to_owned(), |job| format!("priority of job {job}"))
    }

    /// Returns each field: its label, its value, a hint, and whether it receives keys.
    pub(super) fn fields(&self) -> Vec<(&'static str, &str, &'static str, bool)> {
        let board = ("n", self.n.text(), "0 to 32", Field::Board);
        let method = ("method", METHODS[self.method], "← → auto, search, halves", Field::Method);
        let priority = ("priority", self.priority.text(), "-1000 to 1000, high first", Field::Priority);
        let recount = ("recount", self.recount.text(), "per cent; empty: as usual", Field::Recount);
        let by = ("by", self.recount_by.text(), "only this invitation (or name)", Field::RecountBy);
        let all =
            if self.job.is_some() { vec![priority] } else { vec![board, method, priority, recount, by] };
        all.into_iter()
            .map(|(what, value, expected, field)| (what, value, expected, field == self.field))
            .collect()
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Filled {
        match (key.code, self.field) {
            (KeyCode::Esc, _) => return Filled::Dropped,
            (KeyCode::Enter, _) => return self.fill(),
            (KeyCode::Tab | KeyCode::Down, field) => self.field = self.neighbour(field, 1),
            (KeyCode::BackTab | KeyCode::Up, field) => self.field = self.neighbour(field, ALL.len() - 1),
            (KeyCode::Right | KeyCode::Char(' '), Field::Method) => self.method = (self.method + 1) % 3,
            (KeyCode::Left, Field::Method) => self.method = (self.method + 2) % 3,
            (KeyCode::Char(first), Field::Method) => {
                let named = METHODS.iter().position(|name| name.starts_with(first));
                self.method = named.unwrap_or(self.method);
            }
            (_, Field::Method) => {}
            (_, Field::Board) => self.write(key, |form| &mut form.n),
            (_, Field::Priority) => self.write(key, |form| &mut form.priority),
            (_, Field::Recount) => self.write(key, |form| &mut form.recount),
            (_, Field::RecountBy) => self.write(key, |form| &mut form.recount_by),
        }
        Filled::NotYet
    }

    /// Passes a key to a text field.
    fn write(&mut self, key: KeyEvent, input: impl FnOnce(&mut Self) -> &mut Input) {
        input(self).press(key);
        self.wrong = None;
    }

    fn neighbour(&self, field: Field, steps: usize) -> Field {
        let at = ALL.iter().position(|it| *it == field).unwrap_or(0);
        if self.job.is_some() { field } else { ALL[(at + steps) % ALL.len()] }
    }

    fn fill(&mut self) -> Filled {
        match self.action() {
            Ok(filled) => filled,
            Err((field, wrong)) => {
                self.field = field;
                self.wrong = Some(wrong);
                Filled::NotYet
            }
        }
    }

    fn action(&self) -> Result<Filled, (Field, String)> {
        let priority: Priority =
            self.priority.text().trim().parse().map_err(|wrong| (Field::Priority, format!("{wrong}")))?;
        if let Some(job) = self.job {
            return Ok(Filled::Do(OperatorAction::Priority(job, priority)));
        }
        let n: BoardSize =
            self.n.text().trim().parse().map_err(|wrong| (Field::Board, format!("{wrong}")))?;
        let method: MethodChoice =
            METHODS[self.method].parse().map_err(|wrong| (Field::Method, format!("{wrong}")))?;
        let recount: Option<Share> = given(&self.recount).map_err(|wrong| (Field::Recount, wrong))?;
        let recount_by: Option<Name> = given(&self.recount_by).map_err(|wrong| (Field::RecountBy, wrong))?;
        let action = OperatorAction::Submit { n, method, priority, recount, recount_by };
        // The price follows the rule of 'queens submit' and the coordinator.
        Ok(match price_of_job(n, method.in_cluster(n)) {
            Some(takes) => Filled::Ask(action, format!("{takes}. Submit it?")),
            None => Filled::Do(action),
        })
    }
}

/// Returns the typed text, or `None` if the field is empty.
fn given<T: FromStr<Err: Display>>(input: &Input) -> Result<Option<T>, String> {
    let text = input.text().trim();
    let given = (!text.is_empty()).then(|| text.parse()).transpose();
    given.map_err(|wrong: T::Err| wrong.to_string())
}
