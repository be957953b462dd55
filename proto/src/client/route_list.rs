//! Holds the routes to the listed coordinators, and checks the route that one names as the leader's.

use std::time::Duration;

use queens_auth::Credentials;
use queens_model::InvalidCoordinatorUrl;
use thiserror::Error;
use tonic::codegen::http::uri::Scheme;
use tonic::transport::Endpoint;

use crate::client::connection::endpoint;
use crate::client::route::{MOST_COORDINATORS, Route, RouteError};

/// The keep-alive interval if there are several coordinators. It is shorter than for a single one: a dead connection is
/// noticed within six seconds, to switch to another.
const KEEP_ALIVE: Duration = Duration::from_secs(3);

/// Routes to coordinators, with the same credentials for all.
#[derive(Clone, Debug)]
pub struct Routes {
    listed: Vec<Route>,
    credentials: Credentials,
}

/// Why a coordinator that another names as the leader is not tried.
#[derive(Debug, Error)]
pub(super) enum NotFollowed {
    #[error(transparent)]
    Nonsense(#[from] InvalidCoordinatorUrl),
    #[error(transparent)]
    Barred(#[from] RouteError),
    /// An encrypted coordinator must not redirect to an unencrypted one, where others can listen.
    #[error("it is not encrypted, and the coordinator that names it is")]
    Unencrypted,
}

impl Routes {
    /// Creates routes to the coordinators at these endpoints; duplicates are removed.
    ///
    /// # Errors
    /// If there are none or too many, or if the credentials can't be used at one of them.
    pub fn new(endpoints: Vec<Endpoint>, credentials: Credentials) -> Result<Self, RouteError> {
        let mut different: Vec<Endpoint> = Vec::new();
        for endpoint in endpoints {
            if different.iter().all(|other| other.uri() != endpoint.uri()) {
                different.push(endpoint);
            }
        }
        let are_several = match different.len() {
            0 => return Err(RouteError::Nowhere),
            n if n > MOST_COORDINATORS => return Err(RouteError::TooMany(n)),
            n => n > 1,
        };
        let route = |endpoint| Route::new(settled(endpoint, are_several), &credentials);
        let listed = different.into_iter().map(route).collect::<Result<_, _>>()?;
        Ok(Self { listed, credentials })
    }

    /// Returns all routes, in the given order.
    #[must_use]
    pub fn listed(&self) -> &[Route] {
        &self.listed
    }

    /// Returns whether there is more than one.
    #[must_use]
    pub fn are_several(&self) -> bool {
        self.listed.len() > 1
    }

    /// Creates the route to a coordinator that another names, under the same rules as for listed ones.
    pub(super) fn named(&self, url: &str, by: &Route) -> Result<Route, NotFollowed> {
        let endpoint = endpoint(url)?;
        if let Some(listed) = self.listed.iter().find(|listed| listed.uri() == endpoint.uri()) {
            return Ok(listed.clone());
        }
        let encrypts = |endpoint: &Endpoint| endpoint.uri().scheme() == Some(&Scheme::HTTPS);
        if encrypts(by.endpoint()) && !encrypts(&endpoint) {
            return Err(NotFollowed::Unencrypted);
        }
        Ok(Route::new(settled(endpoint, self.are_several()), &self.credentials)?)
    }
}

fn settled(endpoint: Endpoint, are_several: bool) -> Endpoint {
    if !are_several {
        return endpoint;
    }
    endpoint.http2_keep_alive_interval(KEEP_ALIVE).keep_alive_timeout(KEEP_ALIVE)
}

#[cfg(test)]
mod tests {
    use queens_auth::Token;

    use super::*;

    fn routes(urls: &[&str], credentials: Credentials) -> Result<Routes, RouteError> {
        Routes::new(urls.iter().map(|url| endpoint(url).expect("a URL")).collect(), credentials)
    }

    #[test]
    fn what_is_named_twice_is_meant_once_and_there_is_a_limit() {
        let same = routes(&["http://a:1", "http://A:1/", "HTTP://a:1"], Credentials::default());
        assert_eq!(same.map(|routes| (routes.listed().len(), routes.are_several())).ok(), Some((1, false)));
        let many: Vec<String> = (1..=17).map(|port| format!("http://a:{port}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(routes(&many[1..], Credentials::default()).is_ok_and(|routes| routes.are_several()));
        let refused = routes(&many, Credentials::default()).expect_err("too many");
        assert_eq!(refused.to_string(), "17 coordinators are too many: name at most 16");
        assert!(matches!(routes(&[], Credentials::default()), Err(RouteError::Nowhere)));
    }

    #[test]
    fn who_is_named_gets_no_more_than_who_is_listed() {
        let token = Token::random(1).expect("random numbers");
        let invited = || Credentials { token: Some(token.clone()), ..Credentials::default() };
        let follows = |listed: &str, credentials: Credentials, named: &str| {
            let routes = routes(&[listed], credentials).expect("routes");
            routes.named(named, &routes.listed()[0]).is_ok()
        };
        let nobody = Credentials::default;
        assert!(follows("http://a:1", nobody(), "http://b:1"));
        assert!(follows("http://a:1", nobody(), "https://b:1"));
        for nonsense in
            ["", "b:1", "ftp://b:1", "http://b:1/x", "http://b:0", "http://u:p@b:1", "http://\u{7}:1"]
        {
            assert!(!follows("http://a:1", nobody(), nonsense), "{nonsense}");
        }
        // A token goes only to coordinators that could be listed with it, and an encrypted route stays encrypted.
        assert!(follows("https://a:1", invited(), "https://b:1"));
        assert!(follows("http://127.0.0.1:1", invited(), "http://127.0.0.1:2"));
        assert!(!follows("http://127.0.0.1:1", invited(), "http://b:1"));
        assert!(!follows("https://a:1", invited(), "http://127.0.0.1:1"));
        assert!(!follows("https://a:1", nobody(), "http://b:1"));
    }
}
