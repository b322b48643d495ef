//! The campaign that `fieldtrial versus` makes from command lines.

use std::fmt::Write as _;

use super::starter::HERE;

/// Several command lines that shall do the same, the first of which is the control.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub name: String,
    pub question: String,
    /// Name and command line of every arm.
    pub arms: Vec<(String, String)>,
    /// Whether `/bin/sh` is given the lines; without it they are words.
    pub shell: bool,
    /// Hosts file and host; None is this machine.
    pub on: Option<(String, String)>,
    pub env: Vec<(String, String)>,
    pub cwd: Option<String>,
    pub stdin: Option<String>,
    pub inputs: Vec<String>,
    /// Text for a shell, before every run and untimed.
    pub prepare: Option<String>,
    /// Untimed invocations before every run.
    pub warmup: Option<u32>,
    /// Timed invocations in every run.
    pub invocations: Option<u32>,
    /// How many processors, or their numbers.
    pub cpus: Option<Vec<u32>>,
    /// A word of `cache`.
    pub cache: Option<&'static str>,
    /// A word of `verify.output`.
    pub outputs: &'static str,
    pub aa: bool,
    pub blocks: u32,
    pub pilot: bool,
    pub timeout: String,
    pub margin: String,
    /// How it was asked for, for the first line.
    pub made_by: String,
}

/// The text of a commented campaign file, ready to be kept and changed. It goes through the same
/// parser as any other, which has the last word on what is in it.
pub fn comparison(asked: &Comparison) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("# Made by: {}", printable(&asked.made_by)));
    line("# All keys with their meaning: fieldtrial schema campaign\n".to_owned());
    line(format!("campaign: {}", quoted(&asked.name)));
    line(format!("question: {}\n", quoted(&asked.question)));
    match &asked.on {
        Some((hosts, _)) => line(format!("hosts: {}\n", quoted(hosts))),
        None => line("# There is no `hosts:`, so it runs on this machine.\n".to_owned()),
    }
    line("# The first command is the reference; the others are compared with it.".to_owned());
    let mut arms = asked.arms.iter();
    for (name, command) in arms.by_ref().take(1) {
        line(format!("control:\n  name: {}\n  set: {{command: {}}}", quoted(name), quoted(command)));
    }
    line("treatments:".to_owned());
    for (name, command) in arms {
        line(format!("  - name: {}\n    change: {{command: {}}}", quoted(name), quoted(command)));
    }
    if asked.aa {
        line(
            "# The reference a second time in every block: what the two differ by is noise.\naa: true"
                .to_owned(),
        );
    }
    line(workload(asked));
    line(format!("# exact, any_order (the same lines) or ignored.\nverify: {{output: {}}}\n", asked.outputs));
    line(format!("blocks: {{count: {}, order: mirrored, seed: 1}}", asked.blocks));
    if asked.pilot {
        line("pilot: true".to_owned());
    }
    line(format!("timeout: {}\n", quoted(&asked.timeout)));
    line(format!(
        "responses:\n  - {{name: wall_time, margin: {}, primary: true}}\n  - {{name: peak_rss}}\n  \
         - {{name: bytes_read}}\n  - {{name: cpu_time}}",
        quoted(&asked.margin)
    ));
    out
}

fn workload(asked: &Comparison) -> String {
    let mut out = "\nworkload:\n  command:\n".to_owned();
    let host = asked.on.as_ref().map_or(HERE, |(_, host)| host);
    // Writing to a text cannot fail.
    let _ = writeln!(out, "    on: {}", template(host));
    out.push_str(match asked.shell {
        true => "    # Text for /bin/sh -c. `run:` would start programs without a shell.\n    shell: \"${command}\"\n",
        false => "    # Split into words, without a shell. `shell:` would give it to /bin/sh -c.\n    run: \"${command}\"\n",
    });
    if !asked.env.is_empty() {
        out.push_str("    # The whole environment.\n    env:\n");
        for (name, value) in &asked.env {
            let _ = writeln!(out, "      {}: {}", quoted(name), template(value));
        }
    }
    match &asked.cwd {
        Some(cwd) => {
            let _ = writeln!(
                out,
                "    # Without `cwd` every run has a fresh empty folder.\n    cwd: {}",
                template(cwd)
            );
        }
        None => out.push_str("    # Every run has a fresh empty folder; `cwd:` names another.\n"),
    }
    if let Some(stdin) = &asked.stdin {
        let _ = writeln!(out, "    stdin: {}", template(stdin));
    }
    if let Some(prepare) = &asked.prepare {
        let _ = writeln!(out, "    setup: {{shell: {}, as: untimed}}", template(prepare));
    }
    for (key, count) in [("warmup", asked.warmup), ("invocations", asked.invocations)] {
        if let Some(count) = count {
            let _ = writeln!(out, "    {key}: {count}");
        }
    }
    match asked.cpus.as_deref() {
        Some([count]) => out.push_str(&format!("    cpus: {count}\n")),
        Some(list) => out.push_str(&format!("    cpus: {list:?}\n")),
        None => {}
    }
    if let Some(cache) = asked.cache {
        let _ = writeln!(out, "    cache: {cache}");
    }
    if !asked.inputs.is_empty() {
        let inputs: Vec<String> = asked.inputs.iter().map(|path| template(path)).collect();
        let _ = writeln!(out, "    inputs: [{}]", inputs.join(", "));
    }
    out
}

/// Text as a YAML string in double quotes, of which JSON's are a part.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The same where `${` would otherwise begin the name of a level.
fn template(text: &str) -> String {
    quoted(&text.replace("${", "$${"))
}

/// One line of a comment.
fn printable(text: &str) -> String {
    text.chars().map(|each| if each.is_control() { ' ' } else { each }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::parse;
    use crate::model::role::Invocation;
    use crate::model::verify_rule::OutputRule;
    use crate::model::workload::Workload;
    use crate::yaml::Source;

    fn asked() -> Comparison {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        Comparison {
            name: "a-vs-b".into(),
            question: "How: \"fast\"?".into(),
            arms: vec![pair("a", "printf '%s' \"x: #y\" ${HOME} \\ é"), pair("b", "on")],
            shell: true,
            on: None,
            env: vec![pair("PATH", "/a:${b}")],
            cwd: Some("/tmp/${x} y".into()),
            stdin: Some("/in".into()),
            inputs: vec!["/one, two".into()],
            prepare: Some("sync; echo ${x}".into()),
            warmup: None,
            invocations: None,
            cpus: None,
            cache: None,
            outputs: "exact",
            aa: false,
            blocks: 10,
            pilot: false,
            timeout: "5s".into(),
            margin: "2%".into(),
            made_by: "fieldtrial versus\nx".into(),
        }
    }

    #[test]
    fn whatever_stands_on_a_command_line_comes_through_the_parser_unchanged() {
        let parsed = parse(&Source::new("versus", comparison(&asked())));
        assert_eq!(parsed.complaints, []);
        let campaign = parsed.campaign.expect("a campaign");
        assert_eq!((campaign.hosts.as_deref(), campaign.question.as_str()), (None, "How: \"fast\"?"));
        let levels: Vec<&str> =
            campaign.arms.iter().map(|arm| arm.settings["command"].text.as_str()).collect();
        assert_eq!(levels, [asked().arms[0].1.as_str(), "on"]);
        let Workload::Command(command) = &campaign.workload else { panic!("no command") };
        assert_eq!(command.roles[0].program, Invocation::Shell("${command}".into()));
        let plain = |template: &str| super::super::fill(template, &|_| None).expect("a template");
        assert_eq!(command.roles[0].cwd.as_deref().map(plain).as_deref(), Some("/tmp/${x} y"));
        assert_eq!(plain(&command.roles[0].env["PATH"]), "/a:${b}");
        assert_eq!(command.roles[0].inputs, ["/one, two"]);
        assert_eq!(command.verify.output, OutputRule::Exact);
    }

    #[test]
    fn every_option_is_in_the_campaign() {
        let all = Comparison {
            on: Some(("lab/hosts.yaml".into(), "tx".into())),
            shell: false,
            outputs: "ignored",
            aa: true,
            blocks: 2,
            pilot: true,
            warmup: Some(3),
            invocations: Some(20),
            cpus: Some(vec![0, 1]),
            cache: Some("warm"),
            arms: vec![("a".into(), "true".into()), ("b".into(), "true x".into())],
            ..asked()
        };
        let parsed = parse(&Source::new("versus", comparison(&all)));
        assert_eq!(parsed.complaints, []);
        let campaign = parsed.campaign.expect("a campaign");
        let Workload::Command(command) = &campaign.workload else { panic!("no command") };
        assert_eq!(command.roles[0].program, Invocation::Line("${command}".into()));
        assert_eq!((command.roles[0].on.as_str(), &command.verify.output), ("tx", &OutputRule::Ignored));
        assert_eq!(campaign.hosts.as_deref(), Some("lab/hosts.yaml"));
        let role = &command.roles[0];
        assert_eq!((role.phases.invocations.as_str(), role.cache.as_deref()), ("20", Some("warm")));
        assert!(role.phases.warmup.is_some() && role.cpus.is_some());
        assert!(campaign.pilot && campaign.blocks.count == 2 && campaign.arms.len() == 3);
        assert_eq!(campaign.timeout_ms, 5000);
        let responses: Vec<&str> = campaign.responses.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(responses, ["wall_time", "peak_rss", "bytes_read", "cpu_time"]);
    }
}
