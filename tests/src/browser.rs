//! Drives a real browser: Debian's chromium through its chromedriver, by plain HTTP (the W3C's WebDriver).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use crate::TempDir;
use serde_json::{Value, json};

use crate::process::{Running, is_installed, poll_until, wait_until};

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
    screenshots: PathBuf,
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
    /// Returns the name of a program that is missing, if one is.
    #[must_use]
    pub fn missing() -> Option<String> {
        let missing = ["chromium", "chromedriver"].into_iter().find(|program| !is_installed(program));
        missing.map(|program| format!("there is no '{program}'"))
    }

    /// Opens a window for the pages at this address.
    ///
    /// # Panics
    /// Panics if that fails.
    #[must_use]
    pub fn open(site: &str) -> Self {
        let profile = TempDir::new().expect("a temporary directory");
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
        // Tests are TARGET/PROFILE/deps/NAME-HASH.
        let test = env::current_exe().expect("the running test has a path");
        let screenshots = test.ancestors().nth(3).expect("a target directory").join("screenshots");
        fs::create_dir_all(&screenshots).expect("a directory for screenshots");
        Self { address, session, _driver: driver, _profile: profile, site: site.to_owned(), screenshots }
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
        wait_until(what, || (self.eval(expression) == json!(true)).then_some(()));
    }

    /// Clicks an element with the mouse, as a user does: it must be visible, and nothing may cover it.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    pub fn click(&self, css: &str) {
        let click = self.find(css).and_then(|element| self.post(&format!("{element}/click"), &json!({})));
        click.unwrap_or_else(|error| panic!("click on {css}: {error}"));
    }

    /// Types into an element.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    pub fn keys(&self, css: &str, keys: &str) {
        let keys = json!({ "text": keys });
        let typed = self.find(css).and_then(|element| self.post(&format!("{element}/value"), &keys));
        typed.unwrap_or_else(|error| panic!("keys to {css}: {error}"));
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

    /// Saves a picture of the whole page, whatever its length.
    ///
    /// # Panics
    /// Panics if it can't be saved, or the page is wider than the window.
    #[track_caller]
    pub fn screenshot(&self, name: &str) {
        let wide = self.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(wide, 0, "{name}: the page has to be scrolled sideways");
        let picture = self.tools("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        let encoded = picture["data"].as_str().expect("a picture");
        let decoded = self.eval(&format!("Array.from(atob('{encoded}'), (c) => c.charCodeAt(0))"));
        let bytes: Vec<u8> = serde_json::from_value(decoded).expect("bytes");
        fs::write(self.screenshots.join(format!("{name}.png")), bytes).expect("a file");
    }

    /// Returns the directory of the saved pictures.
    #[must_use]
    pub fn screenshots(&self) -> &Path {
        &self.screenshots
    }

    /// Returns the browser's complaints since the last call: script errors and violations of the content policy.
    ///
    /// # Panics
    /// Panics if the browser does not answer.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({ "type": "browser" })).expect("a log");
        let message = |entry: &Value| entry["message"].as_str().expect("entries have messages").to_owned();
        entries.as_array().expect("a log is a list").iter().map(message).collect()
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
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
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
