//! `init`: a commented campaign and hosts file to start from.

use std::fs::OpenOptions;
use std::io::Write;

use super::args::InitArgs;
use super::failure::{Failure, Outcome};
use super::voice::answer;
use crate::campaign::{LOCAL_HOSTS, starter};

pub fn init(args: &InitArgs) -> Outcome {
    let files = [
        ("campaigns", "first.yaml", starter("first", "../hosts/local.yaml")),
        ("hosts", "local.yaml", LOCAL_HOSTS.to_owned()),
    ];
    for (folder, name, _) in &files {
        let path = args.folder.join(folder).join(name);
        if path.exists() {
            return Err(Failure::Input(format!(
                "{} is there already, and nothing is overwritten\nnext: name another folder: `fieldtrial init DIR`",
                path.display()
            )));
        }
    }
    for (folder, name, text) in &files {
        let folder = args.folder.join(folder);
        let path = folder.join(name);
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path))
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| Failure::Workstation(format!("{} cannot be written: {e}", path.display())))?;
        answer(format_args!("wrote {}", path.display()))?;
    }
    let campaign = args.folder.join("campaigns/first.yaml");
    answer(format_args!("next: fieldtrial check {0}, then fieldtrial run {0}", campaign.display()))?;
    Ok(vec![])
}
