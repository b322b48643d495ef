//! Roles of one cell: every template of what programs are started, where and when, filled in.

use super::work::{
    Field, Lookup, cache, cpu, cpu_count, field, invocations, line, patience_ms, pattern, tcp_port,
};
use crate::model::job::{Cpus, Ready, ReadyWhen};
use crate::model::role::{
    ARTIFACT, Artifact, ArtifactDeclared, Build, BuildDeclared, CpusDeclared, Invocation, Phases,
    PhasesDeclared, ReadyDeclared, ReadyWhenDeclared, ResolvedProgram, RoleDeclared, RoleWork, Warmup,
    WarmupDeclared,
};
use crate::model::verify_rule::VerifyRule;
use crate::model::work_rule::{Units, WorkRule};
use crate::model::workload::{CommandDeclared, CommandWork};

/// Fails with a sentence that names the role and the field.
pub(super) fn resolve(declared: &CommandDeclared, lookup: Lookup<'_, '_>) -> Result<CommandWork, String> {
    let several = declared.roles.len() > 1;
    let named = |role: &RoleDeclared, why| if several { format!("{}: {why}", role.name) } else { why };
    let roles = declared.roles.iter().map(|role| one(role, lookup).map_err(|why| named(role, why)));
    Ok(CommandWork {
        roles: roles.collect::<Result<_, _>>()?,
        verify: verify(&declared.verify, lookup)?,
        work: declared.work.as_ref().map(|rule| work(rule, lookup)).transpose()?,
    })
}

fn verify(declared: &VerifyRule, lookup: Lookup<'_, '_>) -> Result<VerifyRule, String> {
    Ok(VerifyRule {
        output: declared.output.clone(),
        of: declared.of.clone(),
        files: each("verify.files", &declared.files, |_| Field::Below, lookup)?,
        effects: each("verify.effects", &declared.effects, |_| Field::Effect, lookup)?,
    })
}

fn work(declared: &WorkRule, lookup: Lookup<'_, '_>) -> Result<WorkRule, String> {
    let units = match &declared.units {
        Units::Declared(units) => Units::Declared(text("work.units", units, Field::Units, lookup)?),
        Units::Counted { by, extract } => {
            let by = by.as_ref().map(|argv| each("work.counted.run", argv, |_| Field::Text, lookup));
            Units::Counted { by: by.transpose()?, extract: extract.clone() }
        }
    };
    Ok(WorkRule { units, ..declared.clone() })
}

fn one<'a>(declared: &RoleDeclared, outer: Lookup<'_, 'a>) -> Result<RoleWork, String> {
    let has_artifact = declared.artifact.is_some();
    let own = move |name: &str| (has_artifact && name == "artifact").then_some(ARTIFACT);
    let lookup: Lookup<'_, 'a> = &|name: &str| own(name).or_else(|| outer(name));
    let maybe = |what: &str, template: &Option<String>| {
        template.as_deref().map(|template| text(what, template, Field::Words, lookup)).transpose()
    };
    let env = declared.env.iter();
    let env = env.map(|(name, value)| Ok((name.clone(), text("env", value, Field::Text, lookup)?)));
    let cache = declared.cache.as_deref().map(|template| field("cache", template, lookup, cache));
    Ok(RoleWork {
        name: declared.name.clone(),
        host: text("on", &declared.on, Field::Host, lookup)?,
        program: program(&declared.program, lookup)?,
        env: env.collect::<Result<_, String>>()?,
        cwd: maybe("cwd", &declared.cwd)?,
        stdin: maybe("stdin", &declared.stdin)?,
        inputs: each("inputs", &declared.inputs, |_| Field::Words, lookup)?,
        cpus: declared.cpus.as_ref().map(|cpus| self::cpus(cpus, lookup)).transpose()?,
        cache: cache.transpose()?,
        after: declared.after.clone(),
        ready: declared.ready.as_ref().map(|ready| self::ready(ready, lookup)).transpose()?,
        ends: declared.ends.clone(),
        timed: declared.timed,
        values: declared.values.clone(),
        phases: phases(&declared.phases, lookup)?,
        build: declared.build.as_ref().map(|build| self::build(build, outer)).transpose()?,
        artifact: declared.artifact.as_ref().map(|artifact| self::artifact(artifact, outer)).transpose()?,
    })
}

fn phases(declared: &PhasesDeclared, lookup: Lookup<'_, '_>) -> Result<Phases, String> {
    let setup = declared.setup.as_ref().map(|(setup, time)| Ok((program(setup, lookup)?, *time)));
    let warmup = declared.warmup.as_ref().map(|warmup| match warmup {
        WarmupDeclared::Invocations(count) => {
            field("warmup", count, lookup, invocations).map(Warmup::Invocations)
        }
        WarmupDeclared::Program(warmup) => program(warmup, lookup).map(Warmup::Program),
    });
    let teardown = declared.teardown.as_ref().map(|teardown| program(teardown, lookup));
    Ok(Phases {
        setup: setup.transpose().map_err(|why: String| format!("setup: {why}"))?,
        warmup: warmup.transpose()?,
        invocations: field("invocations", &declared.invocations, lookup, invocations)?,
        teardown: teardown.transpose().map_err(|why| format!("teardown: {why}"))?,
    })
}

fn build(declared: &BuildDeclared, lookup: Lookup<'_, '_>) -> Result<Build, String> {
    let maybe = |what: &str, template: &Option<String>| {
        template.as_deref().map(|template| text(what, template, Field::Words, lookup)).transpose()
    };
    let toolchain = declared.toolchain.as_ref();
    let env = declared.env.iter();
    let env = env.map(|(name, value)| Ok((name.clone(), text("build.env", value, Field::Text, lookup)?)));
    Ok(Build {
        program: program(&declared.program, lookup).map_err(|why| format!("build: {why}"))?,
        env: env.collect::<Result<_, String>>()?,
        cwd: maybe("build.cwd", &declared.cwd)?,
        toolchain: toolchain
            .map(|words| each("build.toolchain", words, |_| Field::Words, lookup))
            .transpose()?,
        target: maybe("build.target", &declared.target)?,
        profile: maybe("build.profile", &declared.profile)?,
        timeout_ms: field("build.timeout", &declared.timeout, lookup, patience_ms)?,
    })
}

fn artifact(declared: &ArtifactDeclared, lookup: Lookup<'_, '_>) -> Result<Artifact, String> {
    let sha256 = declared.sha256.as_deref();
    let version = declared.version.as_ref();
    Ok(Artifact {
        from: declared.from,
        place: text("artifact", &declared.place, Field::Words, lookup)?,
        sha256: sha256.map(|digest| text("artifact.sha256", digest, Field::Digest, lookup)).transpose()?,
        version: version
            .map(|words| each("artifact.version", words, |_| Field::Words, lookup))
            .transpose()?,
        on_host: None,
    })
}

fn program(declared: &Invocation, lookup: Lookup<'_, '_>) -> Result<ResolvedProgram, String> {
    Ok(match declared {
        Invocation::Shell(script) => ResolvedProgram::Shell(text("shell", script, Field::Words, lookup)?),
        Invocation::Argv(argv) => {
            let kind = |at: usize| if at == 0 { Field::Words } else { Field::Text };
            ResolvedProgram::Argv(each("run", argv, kind, lookup)?)
        }
        Invocation::Line(template) => ResolvedProgram::Argv(field("run", template, lookup, line)?),
        Invocation::Tool(args) => {
            let kind = |at: usize| if at == 0 { Field::Words } else { Field::Text };
            ResolvedProgram::Tool(each("tool", args, kind, lookup)?)
        }
    })
}

fn cpus(declared: &CpusDeclared, lookup: Lookup<'_, '_>) -> Result<Cpus, String> {
    match declared {
        CpusDeclared::Count(count) => field("cpus", count, lookup, cpu_count).map(Cpus::Count),
        CpusDeclared::List(list) => {
            let list = list.iter().map(|each| field("cpus", each, lookup, cpu));
            Ok(Cpus::List(list.collect::<Result<_, _>>()?))
        }
    }
}

fn ready(declared: &ReadyDeclared, lookup: Lookup<'_, '_>) -> Result<Ready, String> {
    let when = match &declared.when {
        ReadyWhenDeclared::Event => ReadyWhen::Event,
        ReadyWhenDeclared::Port(port) => ReadyWhen::Port(field("ready.port", port, lookup, tcp_port)?),
        ReadyWhenDeclared::Line(line) => ReadyWhen::Line(field("ready.line", line, lookup, pattern)?),
    };
    Ok(Ready { when, within_ms: field("ready.within", &declared.within, lookup, patience_ms)? })
}

fn text(what: &str, template: &str, kind: Field, lookup: Lookup<'_, '_>) -> Result<String, String> {
    field(what, template, lookup, |text| kind.check(text).map(|()| text.to_owned()))
}

fn each(
    what: &str,
    templates: &[String],
    kind: impl Fn(usize) -> Field,
    lookup: Lookup<'_, '_>,
) -> Result<Vec<String>, String> {
    templates.iter().enumerate().map(|(at, each)| text(what, each, kind(at), lookup)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::role::Ends;

    fn declared() -> RoleDeclared {
        RoleDeclared {
            name: "run".into(),
            on: "tx".into(),
            program: Invocation::Argv(vec!["work".into(), "a b".into(), "".into(), "--size=${size}".into()]),
            env: [("SIZE".to_owned(), "${size}".to_owned())].into(),
            cwd: None,
            stdin: Some("/etc/hosts".into()),
            inputs: vec!["/data/${size}".into()],
            cpus: Some(CpusDeclared::Count("${size}".into())),
            cache: Some("cold".into()),
            after: vec![],
            ready: Some(ReadyDeclared {
                when: ReadyWhenDeclared::Port("52${size}".into()),
                within: "5s".into(),
            }),
            ends: Ends::ByItself,
            timed: true,
            values: vec![],
            phases: PhasesDeclared {
                setup: None,
                warmup: Some(WarmupDeclared::Invocations("2".into())),
                invocations: "${size}".into(),
                teardown: None,
            },
            build: None,
            artifact: None,
        }
    }

    fn resolved(roles: Vec<RoleDeclared>) -> Result<CommandWork, String> {
        let lookup = |name: &str| (name == "size").then_some("64");
        resolve(&CommandDeclared { roles, verify: VerifyRule::default(), work: None }, &lookup)
    }

    #[test]
    fn a_role_keeps_its_arguments_apart_and_as_typed() {
        let work = resolved(vec![declared()]).unwrap().roles.remove(0);
        let argv = ["work", "a b", "", "--size=64"].map(String::from);
        assert_eq!(work.program, ResolvedProgram::Argv(argv.to_vec()));
        assert_eq!((work.env["SIZE"].as_str(), work.inputs[0].as_str()), ("64", "/data/64"));
        assert_eq!(work.cpus, Some(Cpus::Count(64)));
        assert_eq!((work.phases.warmup, work.phases.invocations), (Some(Warmup::Invocations(2)), 64));
        assert_eq!(work.ready, Some(Ready { when: ReadyWhen::Port(5264), within_ms: 5000 }));
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_role_where_there_are_several() {
        let empty = RoleDeclared { program: Invocation::Argv(vec![" ".into()]), ..declared() };
        let error = resolved(vec![empty.clone()]).unwrap_err();
        assert!(error.starts_with("run: expected text that is not empty"), "{error}");
        let error = resolved(vec![declared(), RoleDeclared { name: "server".into(), ..empty }]).unwrap_err();
        assert!(error.starts_with("server: run: expected"), "{error}");
        let bad = RoleDeclared { cache: Some("hot".into()), ..declared() };
        assert!(resolved(vec![bad]).unwrap_err().contains("`cold` or `warm`"));
    }
}
