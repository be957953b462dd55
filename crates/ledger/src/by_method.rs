//! A table with one value for each counting method.

use queens_solver::Method;

/// One value for each counting method.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByMethod<T>([T; Method::ALL.len()]);

impl<T> ByMethod<T> {
    /// Builds the table by calling `make` once for each method.
    pub(crate) fn new(make: impl FnMut(Method) -> T) -> Self {
        Self(Method::ALL.map(make))
    }

    pub(crate) fn of(&self, method: Method) -> &T {
        &self.0[index(method)]
    }

    pub(crate) fn of_mut(&mut self, method: Method) -> &mut T {
        &mut self.0[index(method)]
    }
}

const fn index(method: Method) -> usize {
    match method {
        Method::Search => 0,
        Method::Halves => 1,
    }
}
