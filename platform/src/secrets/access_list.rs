//! Access lists of Windows, as texts in the security descriptor definition language.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::null_mut;
use std::slice;

use windows_sys::Win32::Foundation::{GENERIC_WRITE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW,
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetNamedSecurityInfoW, GetSecurityInfo,
    SDDL_REVISION_1, SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, OBJECT_SECURITY_INFORMATION, OWNER_SECURITY_INFORMATION,
    PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, SetKernelObjectSecurity,
};
use windows_sys::Win32::Storage::FileSystem::{READ_CONTROL, WRITE_DAC};

/// Memory that the system has allocated, or null.
struct Allocated(*mut core::ffi::c_void);

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: the system's functions below allocate it by LocalAlloc, and only this frees it. Null is allowed.
        unsafe { LocalFree(self.0) };
    }
}

/// Opens a file for writing and for changes of its access list; until it is closed, nobody else can open it.
pub(super) fn open_alone(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.access_mode(GENERIC_WRITE | READ_CONTROL | WRITE_DAC).share_mode(0).open(path)
}

/// Gives a file an access list with its owner, the system and its administrators, which inherits nothing.
pub(super) fn make_private(file: &File) -> io::Result<()> {
    let handle = file.as_raw_handle();
    let mut found = Allocated(null_mut());
    // SAFETY: the handle is open. The parts that are not asked for may be null, and `found` is freed once.
    let code = unsafe {
        GetSecurityInfo(
            handle,
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
            &mut found.0,
        )
    };
    succeeded(code)?;
    let owner = text(&found, OWNER_SECURITY_INFORMATION)?;
    let owner = owner.trim_start_matches("O:");
    let wanted = format!("D:P(A;;FA;;;{owner})(A;;FA;;;SY)(A;;FA;;;BA)");
    let wanted: Vec<u16> = wanted.encode_utf16().chain([0]).collect();
    let mut descriptor = Allocated(null_mut());
    // SAFETY: the text ends with a zero, and `descriptor` is freed once.
    let is_made = unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            wanted.as_ptr(),
            SDDL_REVISION_1,
            &mut descriptor.0,
            null_mut(),
        )
    };
    if is_made == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is open with the right to change the list, and the descriptor is valid.
    let is_set = unsafe {
        SetKernelObjectSecurity(
            handle,
            DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
            descriptor.0,
        )
    };
    if is_set == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns a file's owner and access list.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let name: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let wanted = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    let mut found = Allocated(null_mut());
    // SAFETY: the name ends with a zero. The parts that are not asked for may be null, and `found` is freed once.
    let code = unsafe {
        GetNamedSecurityInfoW(
            name.as_ptr(),
            SE_FILE_OBJECT,
            wanted,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
            &mut found.0,
        )
    };
    succeeded(code)?;
    text(&found, wanted)
}

/// Returns parts of a security descriptor as a text.
fn text(descriptor: &Allocated, parts: OBJECT_SECURITY_INFORMATION) -> io::Result<String> {
    let descriptor: PSECURITY_DESCRIPTOR = descriptor.0;
    let (mut written, mut length) = (null_mut(), 0);
    // SAFETY: the descriptor is valid; `written` is freed below.
    let is_made = unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor,
            SDDL_REVISION_1,
            parts,
            &mut written,
            &mut length,
        )
    };
    if is_made == 0 {
        return Err(io::Error::last_os_error());
    }
    let written = Allocated(written.cast());
    // SAFETY: the text has `length` units, of which zeros at the end are cut off below.
    let units = unsafe { slice::from_raw_parts(written.0.cast::<u16>(), length as usize) };
    Ok(String::from_utf16_lossy(units).trim_end_matches('\0').to_owned())
}

fn succeeded(code: u32) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code.cast_signed())) }
}
