//! From a job as asked for to what will really be executed on this host.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::identity::Digests;
use super::page_cache;
use crate::model::job::{DEFAULT_PATH, FileId, JobSpec, Program, Stdin};
use crate::model::observed::Residency;

/// Every process of a job carries it; whoever looks for left-over processes looks for this name. Its value is the
/// same for every job, since a program that prints its environment must print the same in its proof and its runs.
pub const JOB_MARK: &str = "FIELDTRIAL_JOB";
const OWN_BINARY: &str = "/proc/self/exe";

/// A job whose program and inputs exist and are identified.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// Path handed to the kernel.
    pub execute: String,
    /// Arguments as executed; element 0 is the resolved path.
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub program: FileId,
    pub inputs: Vec<FileId>,
    /// What the page cache holds of the inputs, where the job asks for it.
    pub cache: Option<Residency>,
}

/// Why a job cannot start; `argv` as far as it was known.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub argv: Vec<String>,
    pub why: String,
}

/// What is executed and which files decide about it; nothing has been read yet.
struct Outline {
    execute: PathBuf,
    shown: String,
    argv: Vec<String>,
    inputs: Vec<Input>,
}

/// A file that decides what a job does.
struct Input {
    path: PathBuf,
    /// As declared, where it lies in the folder that the jobs of a run share: that has another name in every run.
    shown: Option<String>,
}

impl Input {
    fn named(&self, file: FileId) -> FileId {
        FileId { path: self.shown.clone().unwrap_or(file.path), ..file }
    }
}

/// Resolves without reading any file's content; None when a digest is not at hand yet, or the page cache
/// is to be prepared. `folder` is one that an earlier job of the run kept for this one.
///
/// # Errors
/// See `resolve`.
pub fn resolve_at_once(
    spec: &JobSpec,
    folder: Option<&Path>,
    digests: &Digests,
) -> Result<Option<Resolved>, Refusal> {
    let outline = outline(spec, folder)?;
    if spec.cache.is_some() {
        return Ok(None);
    }
    let Some(program) = digests.recall(&outline.execute) else { return Ok(None) };
    let Some(inputs) =
        outline.inputs.iter().map(|i| digests.recall(&i.path).map(|file| i.named(file))).collect()
    else {
        return Ok(None);
    };
    Ok(Some(outline.complete(spec, program, inputs, None)))
}

/// Resolves and hashes; may take as long as the files are big.
///
/// # Errors
/// The program, an input or the folder is missing or cannot be used.
pub fn resolve(spec: &JobSpec, folder: Option<&Path>, digests: &Digests) -> Result<Resolved, Refusal> {
    let outline = outline(spec, folder)?;
    let refuse =
        |what: &str, why: String| Refusal { argv: outline.argv.clone(), why: format!("{what} {why}") };
    let program = digests.identify(&outline.execute).map_err(|e| refuse("program", e))?;
    let inputs = outline
        .inputs
        .iter()
        .map(|input| {
            digests.identify(&input.path).map(|file| input.named(file)).map_err(|e| refuse("input", e))
        })
        .collect::<Result<Vec<_>, _>>()?;
    // After all of them are hashed, which reads them.
    let paths: Vec<&Path> = outline.inputs.iter().map(|input| input.path.as_path()).collect();
    let cache = spec.cache.map(|asked| page_cache::prepare(&paths, asked)).transpose();
    let cache = cache.map_err(|why| Refusal { argv: outline.argv.clone(), why })?;
    Ok(outline.complete(spec, program, inputs, cache))
}

impl Outline {
    fn complete(
        self,
        spec: &JobSpec,
        mut program: FileId,
        inputs: Vec<FileId>,
        cache: Option<Residency>,
    ) -> Resolved {
        program.path = self.shown;
        let mut env = spec.env.clone();
        env.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
        env.insert(JOB_MARK.into(), "1".into());
        let execute = self.execute.to_string_lossy().into_owned();
        Resolved { execute, argv: self.argv, env: env.into_iter().collect(), program, inputs, cache }
    }
}

fn outline(spec: &JobSpec, folder: Option<&Path>) -> Result<Outline, Refusal> {
    let asked = asked_argv(&spec.program);
    let refuse = |why: String| Refusal { argv: asked.clone(), why };
    if let Some(cwd) = &spec.cwd
        && !Path::new(cwd).is_dir()
    {
        return Err(refuse(format!("working folder {cwd}: no such folder on this host")));
    }
    let inputs = spec.inputs.iter().chain(match &spec.stdin {
        Stdin::File(path) if !spec.inputs.contains(path) => Some(path),
        _ => None,
    });
    let inputs = inputs.map(|declared| input(spec.cwd.as_deref(), folder, declared)).collect();
    if let Program::Tool(_) = spec.program {
        // The link leads to the very binary that runs now, even when its name is another's by then.
        let shown =
            std::fs::read_link(OWN_BINARY).map_or_else(|_| OWN_BINARY.into(), |p| p.display().to_string());
        let argv = [shown.clone()].into_iter().chain(asked.into_iter().skip(1)).collect();
        return Ok(Outline { execute: OWN_BINARY.into(), shown, argv, inputs });
    }
    let name = asked.first().filter(|n| !n.is_empty()).ok_or_else(|| refuse("no program is named".into()))?;
    let execute = find(name, spec.cwd.as_deref(), &spec.env).map_err(&refuse)?;
    let shown = execute.to_string_lossy().into_owned();
    let argv = [shown.clone()].into_iter().chain(asked.iter().skip(1).cloned()).collect();
    Ok(Outline { execute, shown, argv, inputs })
}

fn asked_argv(program: &Program) -> Vec<String> {
    match program {
        Program::Argv(argv) => argv.clone(),
        Program::Shell(text) => vec!["/bin/sh".into(), "-c".into(), text.clone()],
        Program::Tool(args) => {
            ["fieldtrial".into(), "tool".into()].into_iter().chain(args.iter().cloned()).collect()
        }
    }
}

/// Relative to the declared folder, else to the one that the jobs of the run share.
fn input(cwd: Option<&str>, folder: Option<&Path>, declared: &str) -> Input {
    let shown = folder.filter(|_| cwd.is_none() && Path::new(declared).is_relative());
    let base = cwd.map(Path::new).or(folder).unwrap_or(Path::new("/"));
    Input { path: base.join(declared), shown: shown.map(|_| declared.to_owned()) }
}

/// Finds a program as a shell would: a name with a slash is a path, any other is looked for in `PATH`.
///
/// # Errors
/// A text that says where was looked, or why the file found cannot be executed.
pub fn find(name: &str, cwd: Option<&str>, env: &BTreeMap<String, String>) -> Result<PathBuf, String> {
    if name.contains('/') {
        if cwd.is_none() && !name.starts_with('/') {
            return Err(format!(
                "program {name}: a relative path needs a `cwd`; a job without one runs in an empty folder"
            ));
        }
        let path = Path::new(cwd.unwrap_or("/")).join(name);
        return executable(&path).map(|()| path);
    }
    let search = env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
    let mut found_but = None;
    for dir in search.split(':').filter(|d| d.starts_with('/')) {
        let path = Path::new(dir).join(name);
        match executable(&path) {
            Ok(()) => return Ok(path),
            Err(why) if path.is_file() => found_but = Some(why),
            Err(_) => {}
        }
    }
    Err(found_but.unwrap_or_else(|| format!("program {name}: not found on this host in {search}")))
}

fn executable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("program {shown}: no such file on this host"))
        }
        Err(e) => Err(format!("program {shown}: {e}")),
        Ok(meta) if !meta.is_file() => Err(format!("program {shown}: not a file")),
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => {
            Err(format!("program {shown}: not executable; chmod +x it on this host"))
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(program: Program) -> JobSpec {
        JobSpec::new(program, 1000)
    }

    fn argv(words: &[&str]) -> Program {
        Program::Argv(words.iter().map(|w| (*w).to_owned()).collect())
    }

    #[test]
    fn a_bare_name_is_found_in_the_path_of_the_job_and_identified() {
        let resolved = resolve(&spec(argv(&["sh", "-c", "exit 0"])), None, &Digests::default()).unwrap();
        assert_eq!(resolved.argv, ["/usr/bin/sh", "-c", "exit 0"]);
        assert_eq!(resolved.program.path, "/usr/bin/sh");
        assert_eq!(resolved.program.sha256.len(), 64);
        assert!(resolved.env.contains(&(JOB_MARK.into(), "1".into())));
        assert!(resolved.env.contains(&("PATH".into(), DEFAULT_PATH.into())));
        assert_eq!(resolved.env.len(), 2, "nothing else is inherited");
    }

    #[test]
    fn a_missing_program_is_named_with_where_was_looked() {
        let missing = resolve(&spec(argv(&["no-such-program"])), None, &Digests::default()).unwrap_err();
        assert!(
            missing.why.contains("no-such-program") && missing.why.contains("/usr/bin"),
            "{}",
            missing.why
        );
        let text = resolve(&spec(argv(&["/etc/passwd"])), None, &Digests::default()).unwrap_err().why;
        assert!(text.contains("not executable"), "{text}");
        let text = resolve(&spec(argv(&["./x"])), None, &Digests::default()).unwrap_err().why;
        assert!(text.contains("needs a `cwd`"), "{text}");
        assert!(resolve(&spec(argv(&[])), None, &Digests::default()).is_err());
    }

    #[test]
    fn missing_inputs_and_folders_refuse_the_start() {
        let mut job = spec(argv(&["/bin/true"]));
        job.inputs = vec!["/nonexistent/corpus".into()];
        assert!(
            resolve(&job, None, &Digests::default()).unwrap_err().why.contains("input /nonexistent/corpus")
        );
        job.inputs.clear();
        job.cwd = Some("/nonexistent".into());
        assert!(
            resolve(&job, None, &Digests::default()).unwrap_err().why.contains("working folder /nonexistent")
        );
    }

    #[test]
    fn the_file_fed_to_standard_input_is_an_input() {
        let mut job = spec(argv(&["/bin/cat"]));
        job.stdin = Stdin::File("/bin/sh".into());
        let resolved = resolve(&job, None, &Digests::default()).unwrap();
        assert_eq!(resolved.inputs.len(), 1);
        assert_eq!(resolved.inputs[0].path, "/bin/sh");
    }

    #[test]
    fn a_file_that_an_earlier_job_of_the_run_made_is_an_input_by_the_name_that_was_declared() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("corpus"), "made").unwrap();
        let mut job = spec(argv(&["/bin/true"]));
        job.inputs = vec!["corpus".into(), "/bin/sh".into()];
        let resolved = resolve(&job, Some(folder.path()), &Digests::default()).unwrap();
        let names: Vec<(&str, u64)> =
            resolved.inputs.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
        assert_eq!(names[0], ("corpus", 4), "no path that differs from run to run");
        assert_eq!(names[1].0, "/bin/sh");
        assert!(resolve(&job, None, &Digests::default()).is_err());
    }

    #[test]
    fn known_files_need_no_reading() {
        let digests = Digests::default();
        let job = spec(argv(&["/bin/true"]));
        assert_eq!(resolve_at_once(&job, None, &digests), Ok(None));
        let read = resolve(&job, None, &digests).unwrap();
        assert_eq!(resolve_at_once(&job, None, &digests), Ok(Some(read)));
    }

    #[test]
    fn a_tool_is_this_very_binary() {
        let resolved =
            resolve(&spec(Program::Tool(vec!["packets".into()])), None, &Digests::default()).unwrap();
        assert_eq!(resolved.execute, OWN_BINARY);
        assert_eq!(&resolved.argv[1..], ["tool", "packets"]);
        assert_eq!(Some(resolved.argv[0].as_str()), std::env::current_exe().unwrap().to_str());
    }
}
