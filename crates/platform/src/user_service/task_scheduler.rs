//! Tasks of Windows' task scheduler, of one user.

use super::description::{UserService, xml};

/// Returns the description of a task that runs these words when this user logs on.
pub(super) fn task(service: &UserService, words: &[&str], user: &str) -> String {
    let UserService { description, mark, .. } = service;
    let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let arguments: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    let [program, arguments, user] = [program, &arguments.join(" "), user].map(xml);
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-16\"?>
<!-- {mark} It is replaced by the next 'install', and removed by 'uninstall'. -->
<Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">
  <RegistrationInfo>
    <Description>{description}</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <UserId>{user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id=\"Author\">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>10</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>20</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context=\"Author\">
    <Exec>
      <Command>{program}</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"
    )
}

/// Quotes an argument as programs on Windows split their command lines. No path there has a quote.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains([' ', '\t', '"']);
    if is_plain {
        return word.to_owned();
    }
    // Backslashes before a quote escape it.
    let end = word.len() - word.trim_end_matches('\\').len();
    format!("\"{}{}\"", word.replace('"', "\\\""), "\\".repeat(end))
}
