//! What the middleware requires of a request: a permission, and room in a quota.

use queens_auth::Permission;

/// The requirement of an operation. Each server has one table of its operations with their requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// The permission that the sender must have.
    pub(crate) permission: Permission,
    /// The quota that the request counts towards.
    pub(crate) kind: RequestKind,
}

/// The kind of a request, for its quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Session,
    Submission,
    Watch,
    /// A health check: supervisors send it, and it can't be kept open.
    Probe,
    Other,
}

impl Requirement {
    /// Reading the state of jobs and workers.
    pub(crate) const READ: Self = Self::of(Permission::Read);
    /// An operator's decision, which the audit log records.
    pub(crate) const DECIDE: Self = Self::of(Permission::Decide);
    pub(crate) const AUDIT: Self = Self::of(Permission::Audit);
    pub(crate) const EXPORT: Self = Self::of(Permission::Export);
    /// A request that needs no invitation.
    pub(crate) const PUBLIC: Self = Self::of(Permission::Public);
    pub(crate) const PROBE: Self = Self { kind: RequestKind::Probe, ..Self::PUBLIC };
    pub(crate) const WATCH: Self = Self { kind: RequestKind::Watch, ..Self::PUBLIC };
    pub(crate) const SUBMIT: Self = Self { kind: RequestKind::Submission, ..Self::DECIDE };
    pub(crate) const SESSION: Self = Self { kind: RequestKind::Session, ..Self::of(Permission::Count) };

    /// A worker's question about its own party.
    pub(crate) const OWN: Self = Self::of(Permission::Count);

    const fn of(permission: Permission) -> Self {
        Self { permission, kind: RequestKind::Other }
    }
}
