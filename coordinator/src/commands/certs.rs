//! A private authority, and the TLS certificates it makes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use queens_access::Pin;
use queens_process::print;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

#[derive(Debug, Args)]
pub(crate) struct CertsArgs {
    /// Directory for the files; made if it is not there. One that has an authority goes on with it
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Names and addresses that the coordinator is reached by; may be given several times
    #[arg(long = "host", value_name = "HOST", default_values_t = ["localhost".to_owned(), "127.0.0.1".to_owned()])]
    hosts: Vec<String>,
}

/// Makes an authority if there is none, and a TLS certificate for the coordinator.
pub(crate) fn certs(args: &CertsArgs) -> anyhow::Result<()> {
    let dir = &args.dir;
    fs::create_dir_all(dir).with_context(|| format!("failed to make '{}'", dir.display()))?;
    for name in ["server.pem", "server.key"] {
        let path = dir.join(name);
        if path.exists() {
            bail!("'{}' is there already: remove it first to make another", path.display());
        }
    }
    let authority = authority(dir)?;
    let key = KeyPair::generate().context("failed to make a key")?;
    let mut params = CertificateParams::new(args.hosts.clone()).context("failed to take the hosts")?;
    params.distinguished_name.push(DnType::CommonName, "queens-coordinator");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let server = params.signed_by(&key, &authority).context("failed to sign")?;
    write(&dir.join("server.pem"), &server.pem(), 0o644)?;
    write(&dir.join("server.key"), &key.serialize_pem(), 0o600)?;
    let pin = pin_of(&server)?;
    let shown = dir.display();
    print(&format!(
        "start:  queens-coordinator --tls-cert '{shown}/server.pem' --tls-key '{shown}/server.key'\n\
         clients: --pin {pin}, or --ca FILE with a copy of '{shown}/ca.pem'"
    ))
    .context("failed to write the answer")
}

fn pin_of(certificate: &Certificate) -> anyhow::Result<Pin> {
    Pin::of(certificate.der()).context("failed to read what was made")
}

/// The authority of a directory, which is made if there is none.
fn authority(dir: &Path) -> anyhow::Result<Issuer<'static, KeyPair>> {
    let (certificate, key) = (dir.join("ca.pem"), dir.join("ca.key"));
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "queens authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    if key.exists() {
        let shown = key.display();
        let pem = fs::read_to_string(&key).with_context(|| format!("failed to read '{shown}'"))?;
        let own_key = KeyPair::from_pem(&pem).with_context(|| format!("'{shown}' holds no key"))?;
        return Ok(Issuer::new(params, own_key));
    }
    let own_key = KeyPair::generate().context("failed to make a key")?;
    let made = params.self_signed(&own_key).context("failed to sign")?;
    write(&certificate, &made.pem(), 0o644)?;
    write(&key, &own_key.serialize_pem(), 0o600)?;
    Ok(Issuer::new(params, own_key))
}

/// Writes a file that was not there.
fn write(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| format!("failed to write '{}'", path.display()))
}
