//! Access lists of Windows, as texts in the security descriptor definition language.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::null_mut;
use std::slice;

use windows_sys::Win32::Foundation::{GENERIC_WRITE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW,
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo, SDDL_REVISION_1, SE_FILE_OBJECT,
};
#[cfg(feature = "local-sockets")]
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, OBJECT_SECURITY_INFORMATION, OWNER_SECURITY_INFORMATION,
    PROTECTED_DACL_SECURITY_INFORMATION, SetKernelObjectSecurity,
};
use windows_sys::Win32::Storage::FileSystem::{READ_CONTROL, WRITE_DAC};

/// Memory that the system has allocated, or null.
#[derive(Debug)]
struct Allocated(*mut core::ffi::c_void);

// SAFETY: the memory belongs to this value alone, and nothing changes it before it is freed.
unsafe impl Send for Allocated {}
// SAFETY: see above.
unsafe impl Sync for Allocated {}

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

/// The access list of something that only one user, the system and the administrators can use. It inherits nothing.
#[derive(Debug)]
pub(crate) struct Descriptor(Allocated);

impl Descriptor {
    /// Returns that of the owner of a file.
    pub(crate) fn of_owner(file: &File) -> io::Result<Self> {
        let owner = describe(file, OWNER_SECURITY_INFORMATION)?;
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
        if is_made == 0 { Err(io::Error::last_os_error()) } else { Ok(Self(descriptor)) }
    }

    /// Calls a function with a pointer to attributes of this access list, which are valid during the call.
    #[cfg(feature = "local-sockets")]
    pub(crate) fn with_attributes<T>(&self, call: impl FnOnce(*mut core::ffi::c_void) -> T) -> T {
        let mut attributes = SECURITY_ATTRIBUTES {
            nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or_default(),
            lpSecurityDescriptor: self.0.0,
            bInheritHandle: 0,
        };
        call((&raw mut attributes).cast())
    }
}

/// Gives a file an access list with its owner, the system and the administrators.
pub(super) fn make_private(file: &File) -> io::Result<()> {
    let Descriptor(descriptor) = Descriptor::of_owner(file)?;
    let parts = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    // SAFETY: the handle is open with the right to change the list, and the descriptor is valid.
    let is_set = unsafe { SetKernelObjectSecurity(file.as_raw_handle(), parts, descriptor.0) };
    if is_set == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns a file's owner and access list.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let file = OpenOptions::new().access_mode(READ_CONTROL).open(path)?;
    describe(&file, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION)
}

/// Returns parts of a file's security descriptor as a text.
fn describe(file: &File, parts: OBJECT_SECURITY_INFORMATION) -> io::Result<String> {
    let mut descriptor = Allocated(null_mut());
    // SAFETY: the handle is open. The parts that are not asked for may be null, and `descriptor` is freed once.
    let code = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            parts,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
            &mut descriptor.0,
        )
    };
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code.cast_signed()));
    }
    let (mut written, mut length) = (null_mut(), 0);
    // SAFETY: the descriptor is valid; `written` is freed below.
    let is_made = unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor.0,
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
    // SAFETY: the text has `length` units of 16 bits. The last ones may be zeros, which are removed below.
    let units = unsafe { slice::from_raw_parts(written.0.cast::<u16>(), length as usize) };
    Ok(String::from_utf16_lossy(units).trim_end_matches('\0').to_owned())
}
