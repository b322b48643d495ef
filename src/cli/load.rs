//! Reads the campaign and hosts files that a command names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::failure::{Failure, print_complaints, unreadable};
use crate::campaign::{self, Campaign};
use crate::conduct::local_file;
use crate::dead_end::{self, DeadEnd};
use crate::design::audit::{Fault, audit};
use crate::design::plan::{Decision, Plan};
use crate::evidence::fold::Evidence;
use crate::inventory;
use crate::model::facts::Facts;
use crate::model::hosts::{Hosts, Transport};
use crate::model::role::Source as ArtifactSource;
use crate::model::workload::Work;
use crate::record::Folder;
use crate::yaml::{Complaint, Severity, Source, has_errors};

/// Files as read, and what they mean.
pub struct Loaded {
    pub campaign_source: Source,
    pub hosts_source: Source,
    /// Absolute; relative paths in the hosts file start here.
    pub hosts_folder: PathBuf,
    /// Absolute; paths of artifacts start here.
    pub campaign_folder: PathBuf,
    pub campaign: Campaign,
    /// Known dead ends, and the file that they are from where the campaign names one.
    pub dead_ends: Vec<DeadEnd>,
    pub dead_ends_source: Option<Source>,
    pub hosts: Hosts,
    /// `quiet` where the hosts are to be quieted first; else empty.
    pub condition: String,
    /// Warnings about the campaign; they do not stop anything.
    pub warnings: Vec<Complaint>,
}

/// What a hosts file that is not on the disk is called.
const NO_FILE: &str = "hosts of this machine";

/// Reads both files. Complaints about both are printed before this fails, so that a user sees all
/// of them at once.
pub fn load(campaign_path: &Path, hosts_override: Option<&Path>) -> Result<Loaded, Failure> {
    load_from(source(campaign_path)?, campaign_path, hosts_override, None, None)
}

/// The same for a campaign that is not on the disk; relative paths in it start from the current folder.
pub fn load_text(campaign: Source) -> Result<Loaded, Failure> {
    load_from(campaign, Path::new(""), None, None, None)
}

/// The same for a campaign that was made of the one in `path`, where relative paths start.
pub fn load_as(campaign: Source, path: &Path, hosts_override: Option<&Path>) -> Result<Loaded, Failure> {
    load_from(campaign, path, hosts_override, None, None)
}

/// Reads the files of a record; relative paths in its hosts file start from the folder that the
/// original lay in.
pub fn load_record(folder: &Folder, evidence: &Evidence) -> Result<Loaded, Failure> {
    let base = evidence.opening.as_ref().map(|o| PathBuf::from(&o.hosts_folder));
    let path = folder.file(Folder::CAMPAIGN);
    let mut loaded =
        load_from(source(&path)?, &path, Some(&folder.file(Folder::HOSTS)), base.as_deref(), Some(folder))?;
    if let Some(opening) = &evidence.opening {
        loaded.condition.clone_from(&opening.condition);
        if !opening.campaign_folder.is_empty() {
            loaded.campaign_folder = PathBuf::from(&opening.campaign_folder);
        }
        unchanged(&loaded.campaign_source, &opening.campaign_sha256)?;
        unchanged(&loaded.hosts_source, &opening.hosts_sha256)?;
        if let Some(source) = &loaded.dead_ends_source {
            unchanged(source, &opening.dead_ends_sha256)?;
        }
    }
    Ok(loaded)
}

/// Runs of two campaigns in one record would be compared as if they were of one.
fn unchanged(source: &Source, expected: &str) -> Result<(), Failure> {
    let found = digest(source);
    if expected.is_empty() || found == expected {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{} was changed after this record was begun: expected sha256 {expected}, found {found}\n\
         next: put the original back; for a changed campaign start a new trial with `fieldtrial run`",
        source.name
    )))
}

/// SHA-256 of a file as read, in hex digits.
pub fn digest(source: &Source) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(source.text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn load_from(
    campaign_source: Source,
    campaign_path: &Path,
    hosts_override: Option<&Path>,
    hosts_folder: Option<&Path>,
    record: Option<&Folder>,
) -> Result<Loaded, Failure> {
    let parsed = campaign::parse(&campaign_source);
    let named = parsed.campaign.as_ref().map(|campaign| campaign.hosts.as_deref());
    let hosts_path = match (hosts_override, named) {
        (Some(path), _) => Some(path.to_owned()),
        (None, named) => named.flatten().map(|hosts| beside(campaign_path, hosts)),
    };
    let hosts = match hosts_path {
        None if parsed.campaign.is_some() => {
            let text = Source::new(NO_FILE, campaign::LOCAL_HOSTS);
            Some(read_hosts(text, folder_of(campaign_path)))
        }
        Some(path) if path.is_file() => Some(load_hosts_from(&path, hosts_folder)),
        Some(path) => Some(Err(Failure::Input(match hosts_override {
            Some(_) => format!("there is no hosts file {}\nnext: write it, or name another", path.display()),
            None => format!(
                "{} names the hosts file {}, which is not there\nnext: write it, or give another with --hosts FILE",
                campaign_path.display(),
                path.display()
            ),
        }))),
        None => None,
    };
    let (errors, warnings): (Vec<_>, Vec<_>) =
        parsed.complaints.into_iter().partition(|c| c.severity == Severity::Error);
    match (parsed.campaign, hosts) {
        (Some(campaign), Some(Ok((hosts_source, hosts, hosts_folder)))) if errors.is_empty() => {
            let named = campaign.dead_ends.as_deref();
            let file = named.map(|named| match record {
                Some(folder) => folder.file(Folder::DEAD_ENDS),
                None => beside(campaign_path, named),
            });
            let (dead_ends, dead_ends_source) = match file {
                Some(path) => {
                    load_dead_ends(&path, campaign_path).map(|(source, known)| (known, Some(source)))?
                }
                None => (vec![], None),
            };
            Ok(Loaded {
                campaign_source,
                hosts_source,
                hosts_folder,
                campaign_folder: folder_of(campaign_path),
                campaign,
                dead_ends,
                dead_ends_source,
                hosts,
                condition: String::new(),
                warnings,
            })
        }
        (_, hosts) => {
            if let Some(Err(failure)) = hosts {
                if errors.is_empty() {
                    return Err(failure);
                }
                failure.print();
            }
            let complaints = errors.into_iter().chain(warnings).collect();
            Err(Failure::Complaints { complaints, source: campaign_source })
        }
    }
}

fn load_dead_ends(path: &Path, campaign: &Path) -> Result<(Source, Vec<DeadEnd>), Failure> {
    if !path.is_file() {
        return Err(Failure::Input(format!(
            "{} names the dead-ends file {}, which is not there\nnext: write it, or take `dead_ends` out",
            campaign.display(),
            path.display()
        )));
    }
    let source = source(path)?;
    let dead_end::Parsed { dead_ends, complaints } = dead_end::parse(&source);
    match dead_ends {
        Some(dead_ends) => Ok((source, dead_ends)),
        None => Err(Failure::Complaints { complaints, source }),
    }
}

/// Reads a hosts file alone.
pub fn load_hosts(path: &Path) -> Result<(Source, Hosts), Failure> {
    load_hosts_from(path, None).map(|(source, hosts, _)| (source, hosts))
}

fn load_hosts_from(path: &Path, folder: Option<&Path>) -> Result<(Source, Hosts, PathBuf), Failure> {
    read_hosts(source(path)?, folder.map_or_else(|| folder_of(path), Path::to_owned))
}

fn read_hosts(source: Source, folder: PathBuf) -> Result<(Source, Hosts, PathBuf), Failure> {
    let parsed = inventory::parse(&source);
    let failed = has_errors(&parsed.complaints);
    match parsed.hosts {
        Some(mut hosts) if !failed => {
            if !parsed.complaints.is_empty() {
                print_complaints(&parsed.complaints, &source);
            }
            for host in hosts.hosts.values_mut() {
                if let Transport::Ssh { config: Some(config), .. } = &mut host.transport {
                    *config = match (config.strip_prefix("~"), std::env::var_os("HOME")) {
                        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
                        _ => folder.join(&config),
                    };
                }
            }
            Ok((source, hosts, folder))
        }
        _ => Err(Failure::Complaints { complaints: parsed.complaints, source }),
    }
}

impl Loaded {
    /// The plan, after the last look at it.
    pub fn plan(&self, facts: &BTreeMap<String, Facts>) -> Result<Plan, Failure> {
        let plan = self.unchecked_plan(facts);
        let mut faults = audit(&plan);
        faults.extend(missing_artifacts(&plan, &self.campaign_folder));
        if faults.is_empty() {
            return Ok(plan);
        }
        let complaint = |fault: Fault| {
            let complaint = Complaint::error(self.campaign.places.of(&fault.at), fault.message);
            if fault.help.is_empty() { complaint } else { complaint.help(fault.help) }
        };
        let complaints = faults.into_iter().map(complaint).collect();
        Err(Failure::Complaints { complaints, source: self.campaign_source.clone() })
    }

    /// The plan without another look at it, once it was found good.
    pub fn unchecked_plan(&self, facts: &BTreeMap<String, Facts>) -> Plan {
        Plan::new(self.campaign.clone(), self.hosts.clone(), facts)
            .knowing(self.dead_ends.clone())
            .under(&self.condition)
    }

    pub fn print_warnings(&self) {
        if !self.warnings.is_empty() {
            print_complaints(&self.warnings, &self.campaign_source);
        }
    }
}

/// Artifacts of this workstation that are not there, each told once.
fn missing_artifacts(plan: &Plan, folder: &Path) -> Vec<Fault> {
    /// A larger grid finds out when it runs.
    const MOST_CELLS: u64 = 100_000;
    let mut seen = BTreeSet::new();
    let mut faults = vec![];
    for cell in 0..plan.cells().min(MOST_CELLS) {
        if matches!(plan.decision(cell), Decision::Excluded(_)) {
            continue;
        }
        let Ok(Work::Command(work)) = plan.work(cell) else { break };
        let mut any = false;
        for role in &work.roles {
            let Some(artifact) = role.artifact.as_ref().filter(|it| it.from != ArtifactSource::Build) else {
                continue;
            };
            any = true;
            if seen.insert(artifact.place.clone())
                && let Err(message) = local_file(folder, artifact)
            {
                let at = format!("workload.roles.{}.artifact", role.name);
                let help = "paths of artifacts start from the folder of the campaign".to_owned();
                faults.push(Fault { at, message, help });
            }
        }
        if !any {
            break;
        }
    }
    faults
}

fn source(path: &Path) -> Result<Source, Failure> {
    let bytes = std::fs::read(path).map_err(|e| unreadable(path, &e))?;
    let text = String::from_utf8(bytes)
        .map_err(|e| Failure::Input(format!("{} is not UTF-8 text: {e}", path.display())))?;
    Ok(Source::new(path.display().to_string(), text))
}

fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::path::absolute(folder.join(".")).unwrap_or_else(|_| folder.to_owned())
}

fn beside(campaign: &Path, named: &str) -> PathBuf {
    campaign.parent().unwrap_or(Path::new(".")).join(named)
}

/// Where facts last seen are kept.
pub fn cache() -> PathBuf {
    let home = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    home.unwrap_or_else(std::env::temp_dir).join("fieldtrial")
}
