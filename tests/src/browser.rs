//! Drives a real browser: Debian's chromium through its chromedriver, by plain HTTP (the W3C's WebDriver).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use serde_json::{Value, json};

use crate::process::{Running, is_installed, poll_until, wait_for};
use crate::{TempDir, skipped};

/// An open window.
#[derive(Debug)]
pub struct Browser {
    /// The driver's address.
    address: String,
    /// The driver's name for the window: the path prefix of its requests.
    session: String,
    /// Dropping it ends the driver, and the browser with it.
    _driver: Running,
    _profile: TempDir,
    site: String,
}

/// The width and the colour scheme of a window.
#[derive(Clone, Copy, Debug)]
pub struct Viewport {
    /// Pixels.
    pub width: u32,
    /// Light text on dark ground.
    pub dark: bool,
}

impl Browser {
    /// Opens a window for the pages at this address. Without a browser, prints that the test is skipped, and
    /// returns `None`.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn open(what: &str, site: &str) -> Option<Self> {
        if let Some(missing) = ["chromium", "chromedriver"].into_iter().find(|program| !is_installed(program))
        {
            skipped(&format!("{what}, as there is no '{missing}'"));
            return None;
        }
        let profile = TempDir::new();
        let mut command = Command::new("chromedriver");
        command.env("TMPDIR", profile.path()).env("HOME", profile.path());
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = Running::start_redirected(&mut command);
        let mut lines = BufReader::new(driver.take_stdout().expect("it is piped")).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            line.split_once("successfully on port ").map(|(_, port)| port.trim_end_matches('.').to_owned())
        });
        let port = port.expect("chromedriver prints its port");
        let profile_dir = format!("--user-data-dir={}", profile.path().display());
        let arguments = [
            "--headless=new",
            "--window-size=1280,900",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--lang=en-GB",
            &profile_dir,
        ];
        let wishes = json!({
            "browserName": "chrome",
            // Coordinators of tests have certificates of their own authorities.
            "acceptInsecureCerts": true,
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let address = format!("127.0.0.1:{port}");
        let window = json!({ "capabilities": { "alwaysMatch": wishes } });
        let window = ask(&address, "POST", "/session", &window).expect("a window");
        let session = format!("/session/{}", window["sessionId"].as_str().expect("a window has a name"));
        Some(Self { address, session, _driver: driver, _profile: profile, site: site.to_owned() })
    }

    /// Makes it show the pages at another address from now on.
    ///
    /// # Panics
    /// Panics if the browser does not answer.
    pub fn visit(&mut self, site: &str) {
        self.post("/url", &json!({ "url": "about:blank" })).expect("an empty page");
        site.clone_into(&mut self.site);
    }

    /// Goes to a page.
    ///
    /// # Panics
    /// Panics if it can't be loaded.
    #[track_caller]
    pub fn go(&self, path: &str) {
        self.post("/url", &json!({ "url": format!("{}{path}", self.site) })).expect("the page");
    }

    /// Evaluates a JavaScript expression in the page.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    #[must_use]
    pub fn eval(&self, expression: &str) -> Value {
        let script = json!({ "script": format!("return ({expression});"), "args": [] });
        self.post("/execute/sync", &script).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Runs a script in the page.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    pub fn run(&self, script: &str) {
        let script = json!({ "script": script, "args": [] });
        self.post("/execute/sync", &script).unwrap_or_else(|error| panic!("a script: {error}"));
    }

    /// Returns the visible text of an element; empty if there is no such element.
    #[track_caller]
    #[must_use]
    pub fn text(&self, css: &str) -> String {
        let text = self.eval(&format!("document.querySelector({css:?})?.innerText ?? ''"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an element's text contains a text.
    ///
    /// # Panics
    /// Panics if that does not happen in time.
    #[track_caller]
    pub fn wait_for(&self, css: &str, part: &str) {
        let mut shown = String::new();
        let found = poll_until(|| {
            shown = self.text(css);
            shown.contains(part).then_some(())
        });
        assert!(found.is_some(), "waited for '{part}' in {css}, which shows '{shown}'");
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// Panics if that does not happen in time.
    #[track_caller]
    pub fn wait_until(&self, what: &str, expression: &str) {
        wait_for(what, || self.eval(expression) == json!(true));
    }

    /// Clicks an element with the mouse, as a user does: it must be visible, and nothing may cover it.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    pub fn click(&self, css: &str) {
        self.act(css, "click", &json!({}));
    }

    /// Types into an element.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    pub fn keys(&self, css: &str, keys: &str) {
        self.act(css, "value", &json!({ "text": keys }));
    }

    /// Acts on an element, once it is there and takes part.
    #[track_caller]
    fn act(&self, css: &str, action: &str, how: &Value) {
        let mut acted = Err(String::new());
        poll_until(|| {
            acted = self.find(css).and_then(|element| self.post(&format!("{element}/{action}"), how));
            acted.is_ok().then_some(())
        });
        acted.unwrap_or_else(|error| panic!("{action} on {css}: {error}"));
    }

    /// Changes the width and the colour scheme of the window.
    ///
    /// # Panics
    /// Panics if that fails.
    pub fn look(&self, Viewport { width, dark }: Viewport) {
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.tools("Emulation.setEmulatedMedia", media);
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.tools("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Sets the preference for reduced motion for all pages from now on.
    ///
    /// # Panics
    /// Panics if that fails.
    pub fn still(&self) {
        let feature = json!({ "name": "prefers-reduced-motion", "value": "reduce" });
        self.tools("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Checks that the page fits windows of these widths. With `QUEENS_GENERATE`, saves a picture of it in each, light
    /// and dark.
    ///
    /// # Panics
    /// Panics if the page is wider than a window, or a picture can't be saved.
    #[track_caller]
    pub fn keep(&self, name: &str, widths: &[u32]) {
        let saves = env::var_os("QUEENS_GENERATE").is_some();
        let schemes = if saves { &[false, true][..] } else { &[false] };
        for (&width, &dark) in widths.iter().flat_map(|width| schemes.iter().map(move |dark| (width, dark))) {
            self.look(Viewport { width, dark });
            self.wait_until("the page to be drawn", "document.readyState === 'complete'");
            // Curves are redrawn when the width changes.
            let wide = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => \
                        done(document.documentElement.scrollWidth - document.documentElement.clientWidth))))";
            assert_eq!(self.eval(wide), 0, "{name} at {width}: the page has to be scrolled sideways");
            if saves {
                self.screenshot(&format!("{name}-{width}-{}", if dark { "dark" } else { "light" }));
            }
        }
    }

    /// Returns what breaks axe-core's rules of these impacts, light or dark; `None` if the rules are not installed, and
    /// says so.
    ///
    /// # Panics
    /// Panics if the rules can't be run.
    #[must_use]
    pub fn violations(&self, impacts: &[&str]) -> Option<Vec<String>> {
        let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/axe.min.js");
        let Ok(rules) = fs::read_to_string(rules) else {
            skipped("whether pages keep nobody out, as there is no axe-core");
            return None;
        };
        self.run(&rules);
        let found = format!(
            "axe.run(document, {{ resultTypes: ['violations'] }}).then(({{ violations }}) => violations \
             .filter(({{ impact }}) => {}.includes(impact)) \
             .flatMap(({{ id, nodes }}) => nodes.map(({{ html, failureSummary }}) => `${{id}}: ${{html}}: ${{failureSummary}}`)))",
            json!(impacts)
        );
        let found = [false, true].map(|dark| {
            self.look(Viewport { width: 1280, dark });
            serde_json::from_value::<Vec<String>>(self.eval(&found)).expect("texts")
        });
        Some(found.concat())
    }

    /// Saves a picture of the whole page, whatever its length.
    fn screenshot(&self, name: &str) {
        let picture = self.tools("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        let encoded = picture["data"].as_str().expect("a picture");
        let decoded = self.eval(&format!("Array.from(atob('{encoded}'), (c) => c.charCodeAt(0))"));
        let bytes: Vec<u8> = serde_json::from_value(decoded).expect("bytes");
        let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/screenshots"));
        fs::create_dir_all(dir).expect("a directory");
        fs::write(dir.join(format!("{name}.png")), bytes).expect("a file");
    }

    /// Returns the browser's complaints since the last call: script errors and violations of the content policy, but
    /// not broken connections, from which pages recover.
    ///
    /// # Panics
    /// Panics if the browser does not answer.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({ "type": "browser" })).expect("a log");
        let message = |entry: &Value| entry["message"].as_str().expect("entries have messages").to_owned();
        let all = entries.as_array().expect("a log is a list").iter().map(message);
        let of_connections = ["net::ERR_", "the coordinator can't be reached"];
        all.filter(|line| !of_connections.iter().any(|text| line.contains(text))).collect()
    }

    fn tools(&self, command: &str, arguments: Value) -> Value {
        let result = self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": arguments }));
        result.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Returns the path of an element.
    fn find(&self, css: &str) -> Result<String, String> {
        let element = self.post("/element", &json!({ "using": "css selector", "value": css }))?;
        let name = element.as_object().and_then(|names| names.values().next()).and_then(Value::as_str);
        Ok(format!("/element/{}", name.expect("an element has a name")))
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        ask(&self.address, "POST", &format!("{}{path}", self.session), body)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser, which would outlive its driver.
        _ = ask(&self.address, "DELETE", &self.session, &json!({}));
    }
}

/// Returns the driver's answer, or its error. The driver insists on HTTP/1.1 and keeps the connection, unlike the
/// services that [`http`](crate::http) asks.
fn ask(address: &str, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(Duration::from_secs(900))).expect("a timeout");
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len());
    write!(stream, "{head}Content-Type: application/json\r\n\r\n{body}")
        .map_err(|error| error.to_string())?;
    let mut answer = BufReader::new(stream);
    let mut status = String::new();
    answer.read_line(&mut status).map_err(|error| error.to_string())?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).map_err(|error| error.to_string())?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().expect("a number");
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut text = vec![0; length];
    answer.read_exact(&mut text).map_err(|error| error.to_string())?;
    let mut said: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let value = said["value"].take();
    if status.contains(" 200 ") { Ok(value) } else { Err(value["message"].to_string()) }
}
