//! Programs made and brought to hosts before anything is proven: builds, uploads, and what they say of themselves.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::lab::{Lab, LabError};
use super::pass::{self, Trouble};
use super::role::Role;
use super::watch::Stop;
use crate::evidence::event::{ArtifactNote, Event, RoleNote};
use crate::evidence::fold::Evidence;
use crate::model::digest;
use crate::model::job::{FileId, JobSpec, Program};
use crate::model::path_pattern::expand;
use crate::model::role::{Artifact, RoleWork, Source};
use crate::model::workload::Work;
use crate::verify::Difference;

/// Why a cell cannot have its programs.
pub enum Unequipped {
    /// The stage that decides against it.
    Refused(&'static str, Difference),
    Lost(String),
    Interrupted,
}

/// Programs of a session, by host.
#[derive(Debug, Default)]
pub struct Workshop {
    /// Folder of the campaign, which paths of artifacts start from.
    pub(super) campaign: PathBuf,
    /// Folder of the record, for logs; None keeps none.
    pub(super) record: Option<PathBuf>,
    /// What each build on a host came to, by its key.
    pub(super) built: HashMap<(String, String), Result<Option<FileId>, String>>,
    /// What builds of earlier sessions kept.
    pub(super) earlier: HashMap<(String, String), FileId>,
    /// Artifacts on hosts, by host, digest and arguments for the version.
    brought: HashMap<(String, String, Option<Vec<String>>), String>,
    /// Digests of files of this workstation.
    known: HashMap<PathBuf, String>,
}

pub(super) type Noting<'a> = dyn FnMut(Event) -> io::Result<()> + 'a;
type Equipped<T> = io::Result<Result<T, Unequipped>>;

/// How long a program may take to tell its version.
const VERSION_MS: u64 = 10_000;

impl Workshop {
    /// Of a campaign in this folder, whose record lies in that one.
    pub(super) fn new(campaign: &Path, record: &Path) -> Workshop {
        Workshop { campaign: campaign.to_owned(), record: Some(record.to_owned()), ..Workshop::default() }
    }

    /// What earlier sessions built is not built again where its product is still there.
    pub(super) fn recall(&mut self, before: &Evidence) {
        for (_, note) in &before.builds {
            if let (None, Some(output)) = (&note.failure, &note.output) {
                self.earlier.insert((note.host.clone(), note.key.clone()), output.clone());
            }
        }
    }

    /// The same work, every artifact of it being on its host.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn equip(
        &mut self,
        lab: &mut dyn Lab,
        work: Work,
        note: &mut Noting<'_>,
        stop: &dyn Fn() -> Stop,
    ) -> Equipped<Work> {
        let Work::Command(mut command) = work else { return Ok(Ok(work)) };
        let mut roles = vec![];
        for role in command.roles {
            match self.one(lab, role, note, stop)? {
                Ok(role) => roles.push(role),
                Err(why) => return Ok(Err(why)),
            }
        }
        command.roles = roles;
        Ok(Ok(Work::Command(command)))
    }

    fn one(
        &mut self,
        lab: &mut dyn Lab,
        role: RoleWork,
        note: &mut Noting<'_>,
        stop: &dyn Fn() -> Stop,
    ) -> Equipped<RoleWork> {
        let built = match &role.build {
            Some(build) => match self.build(lab, &role, build, note, stop)? {
                Ok(built) => built,
                Err(why) => return Ok(Err(why)),
            },
            None => None,
        };
        let Some(artifact) = &role.artifact else { return Ok(Ok(role)) };
        let found = match (artifact.from, built) {
            (Source::Build, Some(file)) => Ok((file, None)),
            (Source::Build, None) => Err("its build kept nothing".to_owned()),
            _ => self.local(artifact).map(|(path, file)| (file, Some(path))),
        };
        let (mut file, local) = match found {
            Ok(found) => found,
            Err(why) => return Ok(Err(refused(why))),
        };
        if let Some(wanted) =
            artifact.sha256.as_ref().filter(|wanted| !wanted.eq_ignore_ascii_case(&file.sha256))
        {
            let why = format!("{} has the sha256 {}, expected {wanted}", artifact.shown(), file.sha256);
            return Ok(Err(refused(why)));
        }
        let key = (role.host.clone(), file.sha256.clone(), artifact.version.clone());
        if let Some(path) = self.brought.get(&key).cloned() {
            return Ok(Ok(role.equipped(&path)));
        }
        let mut uploaded = false;
        if let Some(local) = local {
            match bring(lab, &role.host, &local, &file.sha256) {
                Ok((path, sent)) => (file.path, uploaded) = (path, sent),
                Err(why) => return Ok(Err(why)),
            }
        }
        let version = match version(lab, &role, artifact, &file.path, stop) {
            Ok(version) => version,
            Err(why) => return Ok(Err(why)),
        };
        let path = file.path.clone();
        note(Event::Artifact(ArtifactNote {
            host: role.host.clone(),
            from: artifact.shown(),
            file,
            version,
            uploaded,
        }))?;
        self.brought.insert(key, path.clone());
        Ok(Ok(role.equipped(&path)))
    }

    /// The file of this workstation that an artifact means, with its digest.
    fn local(&mut self, artifact: &Artifact) -> Result<(PathBuf, FileId), String> {
        let path = local_file(&self.campaign, artifact)?;
        let failed = |e: io::Error| format!("the artifact {} cannot be read: {e}", path.display());
        let mut file = File::open(&path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let sha256 = match self.known.get(&path) {
            Some(known) => known.clone(),
            None => digest::of_all(&mut file).map_err(failed)?.0,
        };
        self.known.insert(path.clone(), sha256.clone());
        Ok((path.clone(), FileId { path: path.display().to_string(), bytes, sha256 }))
    }
}

/// The one file of this workstation that an artifact by path or pattern means.
///
/// # Errors
/// A sentence: none is there, or several fit.
pub fn local_file(campaign: &Path, artifact: &Artifact) -> Result<PathBuf, String> {
    let place = &artifact.place;
    if artifact.from == Source::Path {
        let path = campaign.join(place);
        let why = || format!("the artifact `{place}` is not there: no file {}", path.display());
        return if path.is_file() { Ok(path) } else { Err(why()) };
    }
    let names = |below: &str| -> Vec<String> {
        let entries = fs::read_dir(campaign.join(below)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let mut found = expand(place, &names);
    found.retain(|path| campaign.join(path).is_file());
    match &found[..] {
        [only] => Ok(campaign.join(only)),
        [] => Err(format!("no file fits the artifact `{place}` in {}", campaign.display())),
        several => {
            let shown = several[..several.len().min(5)].join(", ");
            Err(format!(
                "expected one file that fits the artifact `{place}`, found {}: {shown}",
                several.len()
            ))
        }
    }
}

/// Uploads a file to a host that lacks it: its path there, and whether it had to be sent.
fn bring(lab: &mut dyn Lab, host: &str, local: &Path, sha256: &str) -> Result<(String, bool), Unequipped> {
    let name = local.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // A name with a leading dot is none that a store takes.
    let name = name.trim_start_matches('.').to_owned();
    if let Some(path) = lab.have(host, sha256, &name).map_err(of_lab)? {
        return Ok((path, false));
    }
    lab.upload(host, local, sha256, &name).map(|path| (path, true)).map_err(of_lab)
}

/// The first line that an artifact says of its version; a program that cannot tell it is not what was meant.
fn version(
    lab: &mut dyn Lab,
    role: &RoleWork,
    artifact: &Artifact,
    path: &str,
    stop: &dyn Fn() -> Stop,
) -> Result<Option<String>, Unequipped> {
    let Some(args) = &artifact.version else { return Ok(None) };
    let argv = [path.to_owned()].into_iter().chain(args.iter().cloned()).collect();
    let spec = JobSpec { env: role.env.clone(), ..spec(Program::Argv(argv), VERSION_MS) };
    first_line(lab, &role.host, spec, stop)
        .map_err(|why| why.about(&format!("the artifact {} does not tell its version", artifact.shown())))
}

/// The first line that a command prints, on either stream.
pub(super) fn first_line(
    lab: &mut dyn Lab,
    host: &str,
    spec: JobSpec,
    stop: &dyn Fn() -> Stop,
) -> Result<Option<String>, Unequipped> {
    let end = pass::run(lab, &[Role::new("version", host, spec)], stop);
    match end.trouble {
        None => {
            let text = |note: &RoleNote| format!("{}\n{}", note.stdout_head, note.stderr_head);
            let text = end.roles.first().map(text).unwrap_or_default();
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            line.map(|line| Some(line.to_owned())).ok_or_else(|| refused("it printed nothing".into()))
        }
        Some(Trouble::Lost(why)) => Err(Unequipped::Lost(why)),
        Some(Trouble::Interrupted(_)) => Err(Unequipped::Interrupted),
        Some(Trouble::Failed(why) | Trouble::Refused(why) | Trouble::TimedOut(why)) => Err(refused(why)),
    }
}

/// A job of the workshop.
pub(super) fn spec(program: Program, deadline_ms: u64) -> JobSpec {
    JobSpec { keep_bytes: 64 * 1024, ..JobSpec::new(program, deadline_ms) }
}

pub(super) fn refused(reason: String) -> Unequipped {
    Unequipped::Refused("build", Difference { reason, evidence: vec![] })
}

pub(super) fn of_lab(error: LabError) -> Unequipped {
    match error {
        LabError::Lost { .. } => Unequipped::Lost(error.to_string()),
        LabError::Refused { .. } => refused(error.to_string()),
    }
}

impl Unequipped {
    /// The same with what it is about in front.
    pub(super) fn about(self, what: &str) -> Unequipped {
        match self {
            Unequipped::Refused(stage, why) => {
                let reason = format!("{what}: {}", why.reason);
                Unequipped::Refused(stage, Difference { reason, ..why })
            }
            other => other,
        }
    }
}
