//! Files that only their owner may read.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(windows)]
pub(crate) mod access_list;

/// The users whose access to a secret is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner; on Windows also the system and the administrators, who can read any file.
    Owner,
    /// Also its group and, on Windows, other named users: container engines give secrets a group. Never all users of
    /// the machine.
    Named,
    /// Everybody, but only its owner and the system write it. On Unix its group may be one of the owner's own or the
    /// system's.
    Everybody,
}

/// Access to a file by users other than the accepted [`Readers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// What the file has, such as "mode 644".
    pub cause: String,
    /// A command that takes it away.
    pub remedy: String,
}

/// Makes files and directories that this process creates from now on accessible to its user alone.
///
/// On Windows nothing changes: a new file takes its directory's access list, which within a user's profile is of that
/// user.
pub fn keep_files_private() {
    #[cfg(unix)]
    {
        use rustix::fs::Mode;

        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
}

/// Creates an empty file that only its owner may read: with mode 600, on Windows with an access list of its own. Until
/// the returned file is closed, nobody else can open it on Windows. What an elevated process creates there belongs to
/// the administrators.
///
/// # Errors
/// If the file exists, or the system fails; then no file is left.
pub fn new_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        options.mode(0o600).open(path)
    }
    #[cfg(windows)]
    {
        let file = access_list::open_alone(&mut options, path)?;
        if let Err(error) = access_list::make_private(&file) {
            drop(file);
            _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(file)
    }
}

/// Returns why others may read or write a file: by its mode, on Windows by its access list. `found` describes the file
/// at `path`.
///
/// # Errors
/// If Windows does not tell its access list. No error on Unix.
pub fn exposure(path: &Path, found: &Metadata, readers: Readers) -> io::Result<Option<Exposure>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;

        _ = path;
        let mode = found.mode() & 0o777;
        // Many systems give each user a group of the same number, and let it write all that is new.
        let has_own_group = [found.uid(), 0].contains(&found.gid());
        let nobody = match readers {
            Readers::Owner => 0o077,
            Readers::Named => 0o007,
            Readers::Everybody if has_own_group => 0o002,
            Readers::Everybody => 0o022,
        };
        let remedy = if readers == Readers::Everybody { "chmod go-w" } else { "chmod 600" };
        let exposure = Exposure { cause: format!("mode {mode:03o}"), remedy: remedy.to_owned() };
        Ok((mode & nobody != 0).then_some(exposure))
    }
    #[cfg(windows)]
    {
        _ = found;
        let list = access_list::read(path)?;
        let trustee = open_to(&list, readers).map(str::to_owned);
        Ok(trustee.map(|trustee| Exposure {
            cause: format!("access for {trustee}"),
            remedy: format!(
                r#"icacls "{0}" /reset & icacls "{0}" /inheritance:r /grant:r "%USERNAME%:F""#,
                path.display()
            ),
        }))
    }
}

/// Returns why others than its owner may change a file, or put another in its place on Unix: which file or directory
/// has which access, and the whole command that takes it away. Mounted read-only, as in containers, nothing is changed.
///
/// # Errors
/// If the file or its directory can't be looked at.
pub fn changeable(path: &Path) -> io::Result<Option<Exposure>> {
    let (given, real) = (std::path::absolute(path)?, path.canonicalize()?);
    // A link can be replaced where it is.
    let places =
        if cfg!(unix) { [Some(&*real), real.parent(), given.parent()] } else { [Some(&*given), None, None] };
    for place in places.into_iter().flatten() {
        let found = place.metadata()?;
        if is_out_of_reach(place, &found)? {
            continue;
        }
        if let Some(Exposure { cause, remedy }) = exposure(place, &found, Readers::Everybody)? {
            let remedy = if cfg!(unix) { format!("{remedy} '{}'", place.display()) } else { remedy };
            return Ok(Some(Exposure { cause: format!("'{}' has {cause}", place.display()), remedy }));
        }
    }
    Ok(None)
}

/// Whether nobody may change a file or directory, or others only add to it.
fn is_out_of_reach(path: &Path, found: &Metadata) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;

        use rustix::fs::{StatVfsMountFlags, statvfs};

        let is_sticky = found.is_dir() && found.mode() & 0o1000 != 0;
        Ok(is_sticky || statvfs(path)?.f_flag.contains(StatVfsMountFlags::RDONLY))
    }
    #[cfg(windows)]
    {
        _ = (path, found);
        Ok(false)
    }
}

/// Returns who else has access by an access list: the owner and the list in Microsoft's security descriptor definition
/// language, such as `O:S-1-5-21-1D:P(A;;FA;;;S-1-5-21-1)`.
#[cfg(any(windows, test))]
fn open_to(descriptor: &str, readers: Readers) -> Option<&str> {
    // The system, the administrators and the owner, by their short names and by their numbers.
    const RULERS: [&str; 6] = ["SY", "BA", "OW", "S-1-5-18", "S-1-5-32-544", "S-1-3-4"];
    // The groups of all users and guests of a domain, and a machine's own group of all users; and its guest.
    const EVERYBODY_OF: [&str; 3] = ["501", "513", "514"];
    let (owner, list) = descriptor.split_once("D:").unwrap_or((descriptor, "NO_ACCESS_CONTROL"));
    if list.contains("NO_ACCESS_CONTROL") {
        return Some("everybody");
    }
    let owner = owner.trim_start_matches("O:").split("G:").next().unwrap_or_default();
    list.split('(').skip(1).find_map(|entry| {
        let mut fields = entry.split(')').next().unwrap_or_default().split(';');
        let kind = fields.next().unwrap_or_default();
        let rights = fields.nth(1).unwrap_or_default();
        let trustee = fields.nth(2).unwrap_or("everybody");
        // Denials give nobody access.
        if !matches!(kind, "A" | "OA" | "XA" | "ZA") || trustee == owner || RULERS.contains(&trustee) {
            return None;
        }
        if readers == Readers::Everybody && only_reads(rights) {
            return None;
        }
        let is_of_all = trustee
            .strip_prefix("S-1-5-21-")
            .and_then(|rest| rest.rsplit('-').next())
            .is_some_and(|group| EVERYBODY_OF.contains(&group));
        everybody(trustee).or_else(|| (readers != Readers::Named || is_of_all).then_some(trustee))
    })
}

/// Names all users of some kind, by their short name or their number in an access list; `None` for anybody else.
#[cfg(any(windows, test))]
fn everybody(trustee: &str) -> Option<&'static str> {
    Some(match trustee {
        "WD" | "S-1-1-0" => "everybody",
        "AU" | "BU" | "IU" | "RU" | "S-1-5-4" | "S-1-5-11" | "S-1-5-32-545" | "S-1-5-32-554" => "all users",
        "DU" | "AS" | "S-1-18-1" => "all users of the domain",
        "AN" | "S-1-5-7" => "anonymous users",
        "BG" | "LG" | "S-1-5-32-546" => "guests",
        "DG" => "guests of the domain",
        "NU" | "S-1-5-2" | "S-1-5-64-10" => "users of the network",
        "S-1-2-0" | "S-1-2-1" => "all users at this machine",
        "S-1-5-3" => "all batch jobs",
        "S-1-5-13" | "S-1-5-14" => "all users from afar",
        "S-1-5-15" => "all users of the organisation",
        "S-1-5-113" => "all local users",
        "S-1-5-1000" => "all users of other organisations",
        "AC" | "S-1-15-2-1" | "S-1-15-2-2" => "all apps",
        _ => return None,
    })
}

/// Whether rights of an access list let nobody change a file, its owner or its list, nor delete it.
#[cfg(any(windows, test))]
fn only_reads(rights: &str) -> bool {
    // To read and run, also as bits: data, attributes, list, and to wait.
    const READ: u32 = 0x8012_00a9;
    const READ_NAMES: [&str; 8] = ["FR", "FX", "GR", "GX", "RC", "CC", "SW", "WP"];
    match rights.strip_prefix("0x") {
        Some(bits) => u32::from_str_radix(bits, 16).is_ok_and(|bits| bits & !READ == 0),
        None => rights.as_bytes().chunks(2).all(|name| READ_NAMES.iter().any(|read| read.as_bytes() == name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_list_tells_who_else_has_access() {
        let others = |list: &str| {
            let descriptor = format!("O:S-1-5-21-7G:S-1-5-21-513D:{list}");
            [Readers::Owner, Readers::Named]
                .map(|readers| open_to(&descriptor, readers).unwrap_or("").to_owned())
        };
        assert_eq!(others("P(A;;FA;;;S-1-5-21-7)(A;;FA;;;SY)(A;;FA;;;BA)"), ["", ""]);
        assert_eq!(others("PAI(D;;FA;;;WD)(A;;FA;;;OW)"), ["", ""]);
        assert_eq!(others("AI(A;ID;FA;;;S-1-5-21-7)(A;ID;0x1200a9;;;BU)"), ["all users", "all users"]);
        assert_eq!(others("(A;;FR;;;WD)"), ["everybody", "everybody"]);
        assert_eq!(others("(A;;FR;;;S-1-5-21-8)"), ["S-1-5-21-8", ""]);
        assert_eq!(others("NO_ACCESS_CONTROL"), ["everybody", "everybody"]);
        assert_eq!(others("(A;;FR;;;S-1-5-21-9-9-9-513)"), ["S-1-5-21-9-9-9-513", "S-1-5-21-9-9-9-513"]);
        assert_eq!(others("(A;;FR;;;S-1-2-1)"), ["all users at this machine"; 2]);
        assert_eq!(others("(A;;FA"), ["everybody", ""]);
        assert_eq!(open_to("O:BA", Readers::Named), Some("everybody"));
    }

    #[test]
    fn an_access_list_tells_who_else_may_write() {
        let writer =
            |list: &str| open_to(&format!("O:S-1-5-21-7D:{list}"), Readers::Everybody).map(str::to_owned);
        assert_eq!(writer("P(A;;FA;;;S-1-5-21-7)(A;;FA;;;SY)(A;ID;0x1200a9;;;BU)(A;;FR;;;WD)"), None);
        assert_eq!(writer("(A;;FRFX;;;S-1-5-21-8)(D;;FA;;;WD)"), None);
        assert_eq!(writer("(A;;0x1301bf;;;AU)").as_deref(), Some("all users"));
        assert_eq!(writer("(A;;FRSD;;;S-1-5-21-8)").as_deref(), Some("S-1-5-21-8"));
        assert_eq!(writer("(A;;FW;;;WD)").as_deref(), Some("everybody"));
        assert_eq!(writer("NO_ACCESS_CONTROL").as_deref(), Some("everybody"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_changed_by_those_who_write_it_or_its_directory() {
        use std::fs::{self, Permissions};
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

        let home = tempfile::tempdir().expect("a temporary directory");
        let [dir, links] = ["dir", "links"].map(|name| home.path().join(name));
        let (file, link) = (dir.join("file"), links.join("link"));
        [&dir, &links].into_iter().for_each(|dir| fs::create_dir(dir).expect("created"));
        fs::write(&file, "").expect("written");
        symlink(&file, &link).expect("created");
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
        let check = |path: &Path, modes: [u32; 3], expected: &str| {
            [&dir, &links, &file].into_iter().zip(modes).for_each(|(path, mode)| set(path, mode));
            let found = changeable(path).expect("known");
            assert_eq!(found.map_or(String::new(), |found| found.remedy), expected, "{path:?} {modes:?}");
        };
        let chmod = |path: &Path| format!("chmod go-w '{}'", path.display());
        check(&file, [0o755, 0o777, 0o644], "");
        check(&file, [0o755, 0o755, 0o666], &chmod(&file));
        check(&file, [0o777, 0o755, 0o644], &chmod(&dir));
        check(&file, [0o1777, 0o755, 0o644], "");
        check(&link, [0o755, 0o755, 0o600], "");
        check(&link, [0o755, 0o777, 0o644], &chmod(&links));
        let found = fs::metadata(&file).expect("it is there");
        let of_group = if [found.uid(), 0].contains(&found.gid()) { String::new() } else { chmod(&file) };
        check(&file, [0o755, 0o755, 0o664], &of_group);
    }

    #[cfg(unix)]
    #[test]
    fn a_private_file_is_its_owners_alone() {
        use std::fs::{self, Permissions};
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("secret");
        drop(new_private_file(&path).expect("created"));
        assert_eq!(new_private_file(&path).expect_err("it is there").kind(), io::ErrorKind::AlreadyExists);
        let causes = |mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
            let found = fs::metadata(&path).expect("it is there");
            [Readers::Owner, Readers::Named].map(|readers| {
                exposure(&path, &found, readers).expect("known").map_or(String::new(), |found| found.cause)
            })
        };
        let found = fs::metadata(&path).expect("it is there");
        assert_eq!(exposure(&path, &found, Readers::Owner).expect("known"), None);
        assert_eq!(causes(0o440), ["mode 440", ""]);
        assert_eq!(causes(0o604), ["mode 604", "mode 604"]);
    }

    #[cfg(windows)]
    #[test]
    fn a_private_file_is_its_owners_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("secret");
        drop(new_private_file(&path).expect("created"));
        assert_eq!(new_private_file(&path).expect_err("it is there").kind(), io::ErrorKind::AlreadyExists);
        let found = std::fs::metadata(&path).expect("it is there");
        let list = access_list::read(&path).expect("readable");
        assert_eq!(exposure(&path, &found, Readers::Owner).expect("known"), None, "{list}");
        let usual = dir.path().join("usual");
        std::fs::write(&usual, "text").expect("written");
        println!("private {list}, usual {}", access_list::read(&usual).expect("readable"));
        std::fs::read(&path).expect("its owner reads it");
    }
}
