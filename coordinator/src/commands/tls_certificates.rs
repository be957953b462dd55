//! The command that creates a private certificate authority, and TLS certificates signed by it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use queens_auth::Pin;
use queens_platform::{new_private_file, open_regular_file};
use queens_program::print;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

#[derive(Debug, Args)]
pub(crate) struct CertsArgs {
    /// Directory for the files; created if it does not exist. An existing authority in it is used
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Host names and addresses of the coordinator; may be repeated
    #[arg(long = "host", value_name = "HOST", default_values_t = ["localhost".to_owned(), "127.0.0.1".to_owned()])]
    hosts: Vec<String>,

    /// Create a TLS certificate for an invited user, in files of this name, instead of one for the coordinator
    #[arg(long, value_name = "NAME", value_parser = file_name, conflicts_with = "hosts")]
    client: Option<String>,
}

/// Parses a name that is safe as a file name in this directory.
fn file_name(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_ours = ["ca", "server"].contains(&text);
    if text.is_empty() || text.len() > 64 || text.starts_with('.') || is_ours || !text.chars().all(is_plain) {
        return Err(
            "expected a name of letters, digits, '-', '_' and '.', other than 'ca' and 'server'".to_owned()
        );
    }
    Ok(text.to_owned())
}

/// Creates an authority if there is none, and a TLS certificate for the coordinator or for a client.
pub(crate) fn certs(args: &CertsArgs) -> anyhow::Result<()> {
    let dir = &args.dir;
    fs::create_dir_all(dir).with_context(|| format!("failed to make '{}'", dir.display()))?;
    let shown = dir.display();
    let answer = match &args.client {
        None => {
            let params = CertificateParams::new(args.hosts.clone()).context("failed to take the hosts")?;
            let pin = make(dir, "server", params, "queens-coordinator", ExtendedKeyUsagePurpose::ServerAuth)?;
            format!(
                "start:  queens-coordinator --tls-cert '{shown}/server.pem' --tls-key '{shown}/server.key'\n\
                 clients: --pin {pin}, or --ca FILE with a copy of '{shown}/ca.pem'"
            )
        }
        Some(name) => {
            make(dir, name, CertificateParams::default(), name, ExtendedKeyUsagePurpose::ClientAuth)?;
            format!(
                "invite: queens-coordinator invite --role worker --certificate '{shown}/{name}.pem'\n\
                 client: --client-cert FILE --client-key FILE with copies of '{shown}/{name}.pem' and '{shown}/{name}.key'"
            )
        }
    };
    print(&answer)
}

/// Creates a TLS certificate and its key in new files; returns the key's pin.
fn make(
    dir: &Path,
    name: &str,
    mut params: CertificateParams,
    common_name: &str,
    usage: ExtendedKeyUsagePurpose,
) -> anyhow::Result<Pin> {
    let [certificate, own_key] = ["pem", "key"].map(|kind| dir.join(format!("{name}.{kind}")));
    for path in [&certificate, &own_key] {
        if path.exists() {
            bail!("'{}' is there already: remove it first to make another", path.display());
        }
    }
    let authority = authority(dir)?;
    let key = KeyPair::generate().context("failed to make a key")?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    let made = params.signed_by(&key, &authority).context("failed to sign")?;
    write(File::create_new(&certificate), &certificate, &made.pem())?;
    write(new_private_file(&own_key), &own_key, &key.serialize_pem())?;
    Pin::of(made.der()).context("failed to read the new certificate")
}

/// Returns the authority of a directory; creates it if there is none.
fn authority(dir: &Path) -> anyhow::Result<Issuer<'static, KeyPair>> {
    let (certificate, key) = (dir.join("ca.pem"), dir.join("ca.key"));
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "queens authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    if key.exists() {
        let shown = key.display();
        let pem = open_regular_file(&key)
            .and_then(io::read_to_string)
            .with_context(|| format!("failed to read '{shown}'"))?;
        let own_key = KeyPair::from_pem(&pem).with_context(|| format!("'{shown}' holds no key"))?;
        return Ok(Issuer::new(params, own_key));
    }
    let own_key = KeyPair::generate().context("failed to make a key")?;
    let made = params.self_signed(&own_key).context("failed to sign")?;
    write(File::create_new(&certificate), &certificate, &made.pem())?;
    write(new_private_file(&key), &key, &own_key.serialize_pem())?;
    Ok(Issuer::new(params, own_key))
}

fn write(made: io::Result<File>, path: &Path, text: &str) -> anyhow::Result<()> {
    let written = made.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| format!("failed to write '{}'", path.display()))
}
