//! Agents of launchd, of one user.

use super::description::{UserService, xml};

/// Returns the property list of an agent that runs these words.
pub(super) fn agent(service: &UserService, words: &[&str]) -> String {
    let UserService { name, label, mark, .. } = service;
    let words: String =
        words.iter().map(|word| format!("        <string>{}</string>\n", xml(word))).collect();
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<!-- {mark} It is replaced by the next 'install', and removed by 'uninstall'. -->
<plist version=\"1.0\">
<dict>
    <key>Label</key>
    <string>{label}</string>
    <key>ProgramArguments</key>
    <array>
{words}    </array>
    <key>RunAtLoad</key>
    <true/>
    <!-- After a drain it has ended successfully, and stays stopped. -->
    <key>KeepAlive</key>
    <dict>
        <key>SuccessfulExit</key>
        <false/>
    </dict>
    <key>ThrottleInterval</key>
    <integer>60</integer>
    <!-- It reports its work before it ends. -->
    <key>ExitTimeOut</key>
    <integer>30</integer>
    <!-- All other work of the machine comes first. -->
    <key>ProcessType</key>
    <string>Background</string>
    <key>Nice</key>
    <integer>19</integer>
    <key>Umask</key>
    <integer>63</integer>
    <key>StandardErrorPath</key>
    <string>/tmp/{name}.log</string>
</dict>
</plist>
"
    )
}
