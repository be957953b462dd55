//! Roles and their permissions.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The role that an invitation grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Reads, and manages jobs, workers and invitations.
    Operator,
    /// Opens worker sessions under its own names, reads its own sums, and does nothing else.
    Worker,
}

/// A text that is no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected worker, operator or viewer")]
pub struct InvalidRole;

/// The permission that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// None: the request reveals nothing about jobs, unless it has the code of a join link, or an operator serves
    /// public pages.
    Public,
    /// Reading.
    Read,
    /// Exporting results: a read, which enters the audit log if an operator does it.
    Export,
    /// Changing something.
    Decide,
    /// Reading the audit log.
    Audit,
    /// Opening a worker's session, and reading the sums of its own party.
    Count,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Worker];

    /// Returns the role's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Worker => "worker",
        }
    }

    /// Returns the name with its article.
    #[must_use]
    pub const fn one(self) -> &'static str {
        match self {
            Self::Viewer => "a viewer",
            Self::Operator => "an operator",
            Self::Worker => "a worker",
        }
    }

    /// Returns whether this role has a permission.
    #[must_use]
    pub const fn may(self, permission: Permission) -> bool {
        matches!(
            (permission, self),
            (Permission::Public, _)
                | (Permission::Read | Permission::Export, Self::Viewer | Self::Operator)
                | (Permission::Decide | Permission::Audit, Self::Operator)
                | (Permission::Count, Self::Worker)
        )
    }
}

impl FromStr for Role {
    type Err = InvalidRole;

    fn from_str(text: &str) -> Result<Self, InvalidRole> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or(InvalidRole)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Permission {
    /// Returns the roles that have this permission, in words.
    #[must_use]
    pub const fn wants(self) -> &'static str {
        match self {
            Self::Public => "anybody",
            Self::Read | Self::Export => "a viewer or an operator",
            Self::Decide | Self::Audit => "an operator",
            Self::Count => "a worker",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(role: Role, may: [bool; 6]) {
        let permits = [
            Permission::Public,
            Permission::Read,
            Permission::Export,
            Permission::Decide,
            Permission::Audit,
            Permission::Count,
        ];
        assert_eq!(permits.map(|permission| role.may(permission)), may, "{role}");
        assert_eq!(role.name().parse(), Ok(role));
    }

    #[test]
    fn an_operator_is_a_viewer_and_a_worker_is_neither() {
        check(Role::Viewer, [true, true, true, false, false, false]);
        check(Role::Operator, [true, true, true, true, true, false]);
        check(Role::Worker, [true, false, false, false, false, true]);
        assert_eq!("Worker".parse::<Role>(), Err(InvalidRole));
    }
}
