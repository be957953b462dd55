//! Identifiers of jobs, leases and workers.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::hex::from_hex;

/// A job of one coordinator, numbered from 1 in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// A job's identity beyond its coordinator: 128 bits that no other job has. A restored database reuses job numbers, so
/// leases and deltas carry the identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobIdentity(pub u128);

/// A lease's fencing token. No other lease has it, in any run of any coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

/// One run of a worker process. The worker draws it at random and keeps it across reconnections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for JobId {
    /// Serializes what [`Display`](fmt::Display) writes.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The error for a text that is not a job's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a job's id, a whole number from 1")]
pub struct InvalidJobId;

impl FromStr for JobId {
    type Err = InvalidJobId;

    /// Parses what [`Display`](fmt::Display) writes and nothing else, so that a job has one name.
    fn from_str(text: &str) -> Result<Self, InvalidJobId> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        text.parse().ok().filter(|_| is_plain).map(Self).ok_or(InvalidJobId)
    }
}

impl fmt::Display for JobIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl JobIdentity {
    /// Returns the form on the wire: 16 bytes, the most significant first.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Parses what [`to_bytes`](Self::to_bytes) writes; `None` unless there are 16 bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(u128::from_be_bytes(bytes)))
    }
}

/// The error for a text that is not a job's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a job's identity, 32 hexadecimal digits")]
pub struct InvalidJobIdentity;

impl FromStr for JobIdentity {
    type Err = InvalidJobIdentity;

    /// Parses what [`Display`](fmt::Display) writes and nothing else.
    fn from_str(text: &str) -> Result<Self, InvalidJobIdentity> {
        from_hex(text).map(u128::from_be_bytes).map(Self).ok_or(InvalidJobIdentity)
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_in_one_way() {
        for job in [1, 7, 10, u64::MAX] {
            assert_eq!(job.to_string().parse(), Ok(JobId(job)));
        }
        for text in
            ["", "0", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x1", "١", "18446744073709551616"]
        {
            assert_eq!(text.parse::<JobId>(), Err(InvalidJobId), "{text:?}");
        }
    }
}
