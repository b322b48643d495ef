//! The campaign that `fieldtrial ladder` makes of another one: every release an arm of the same work.

use crate::yaml::{self, Complaint, Entry, Kind, Node, Source};

/// Releases of one setting.
#[derive(Debug, Clone)]
pub struct Rungs {
    /// The setting of the control whose level names the release.
    pub setting: String,
    /// Name and level of every release, oldest first.
    pub releases: Vec<(String, String)>,
    /// Which of them the others are proven against.
    pub control: usize,
    pub blocks: u32,
    /// How it was asked for, for the first line.
    pub made_by: String,
}

/// Keys that are about comparing treatments and not about the work.
const LEFT_OUT: [&str; 9] =
    ["campaign", "question", "control", "treatments", "combine", "anchors", "aa", "blocks", "expect"];

/// Responses that gave the clue when a release read whole files.
const CLUES: [&str; 2] = ["peak_rss", "bytes_read"];

/// The text of the campaign; it goes through the same parser as any other. Releases are anchors: proven to
/// give the control's answer, measured in the same blocks, and no family of tests.
///
/// # Errors
/// All that is wrong with the campaign as far as it decides the text.
pub fn rungs(source: &Source, asked: &Rungs) -> Result<String, Vec<Complaint>> {
    let mut complaints = vec![];
    let Some(root) = yaml::read(source, &mut complaints) else { return Err(complaints) };
    let Kind::Mapping(entries) = &root.kind else {
        return Err(vec![Complaint::error(root.span, "expected a campaign, found no keys")]);
    };
    let get = |key: &str| entries.iter().find(|entry| entry.key.value == key);
    let settings = settings(get("control"));
    if !settings.iter().any(|entry| entry.key.value == asked.setting) {
        let at = get("control").map_or(root.span, |entry| entry.key.span);
        let message = format!("the control has no setting `{}`, which the ladder is to climb", asked.setting);
        let help = format!(
            "write `control: {{set: {{{0}: releases/app-1.0}}}}` and use `${{{0}}}` in the workload, for example as \
             `artifact: {{path: \"${{{0}}}\"}}`; --setting names another",
            asked.setting
        );
        return Err(vec![Complaint::error(at, message).help(help)]);
    }
    let name = get("campaign").map_or_else(|| "campaign".to_owned(), |entry| text(&entry.value));
    let mut out = format!("# Made by: {}\n", asked.made_by.replace(char::is_control, " "));
    let mut line = |key: &str, value: String| out.push_str(&format!("{key}: {value}\n"));
    line("campaign", quoted(&format!("{name}-ladder")));
    line("question", quoted(&format!("In which release did {name} change?")));
    for entry in entries.iter().filter(|entry| !LEFT_OUT.contains(&entry.key.value.as_str())) {
        if entry.key.value != "responses" {
            line(&quoted(&entry.key.value), flow(&entry.value));
        }
    }
    line("responses", responses(get("responses"), get("workload")));
    let (control, level) = &asked.releases[asked.control];
    let mut set: Vec<String> = settings
        .iter()
        .filter(|entry| entry.key.value != asked.setting)
        .map(|entry| format!("{}: {}", quoted(&entry.key.value), flow(&entry.value)))
        .collect();
    set.push(format!("{}: {}", quoted(&asked.setting), quoted(level)));
    line("control", format!("{{name: {}, set: {{{}}}}}", quoted(control), set.join(", ")));
    let others = asked.releases.iter().enumerate().filter(|(at, _)| *at != asked.control);
    let anchors: Vec<String> = others
        .map(|(_, (name, level))| {
            format!(
                "\n  - {{name: {}, set: {{{}: {}}}}}",
                quoted(name),
                quoted(&asked.setting),
                quoted(level)
            )
        })
        .collect();
    line("anchors", anchors.concat());
    line("blocks", format!("{{count: {}, order: mirrored, seed: 1}}", asked.blocks));
    Ok(out)
}

/// The settings of the control, as declared.
fn settings(control: Option<&Entry>) -> &[Entry] {
    let Some(Kind::Mapping(keys)) = control.map(|entry| &entry.value.kind) else { return &[] };
    match keys.iter().find(|entry| entry.key.value == "set").map(|entry| &entry.value.kind) {
        Some(Kind::Mapping(set)) => set,
        _ => &[],
    }
}

/// The declared responses, and beside those of a program its memory and what it read.
fn responses(declared: Option<&Entry>, workload: Option<&Entry>) -> String {
    let programs = match workload.map(|entry| &entry.value.kind) {
        Some(Kind::Mapping(keys)) => keys.iter().any(|key| key.key.value != "packets"),
        _ => false,
    };
    let own = match declared.map(|entry| &entry.value.kind) {
        Some(Kind::Sequence(items)) => items.clone(),
        _ => vec![],
    };
    let names: Vec<String> = own
        .iter()
        .filter_map(|item| match &item.kind {
            Kind::Mapping(keys) => {
                keys.iter().find(|key| key.key.value == "name").map(|key| text(&key.value))
            }
            _ => None,
        })
        .collect();
    let mut all: Vec<String> = own.iter().map(flow).collect();
    if all.is_empty() && programs {
        all.push("{name: wall_time}".to_owned());
    }
    all.extend(
        CLUES
            .iter()
            .filter(|clue| programs && !names.iter().any(|name| name == **clue))
            .map(|clue| format!("{{name: {clue}}}")),
    );
    format!("[{}]", all.join(", "))
}

fn text(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar { text, .. } => text.clone(),
        _ => String::new(),
    }
}

/// A node in flow style. Plain scalars stay plain where that style can hold them, so that numbers stay numbers.
fn flow(node: &Node) -> String {
    match &node.kind {
        Kind::Null => "null".to_owned(),
        Kind::Scalar { text, quoted: false } if plain(text) => text.clone(),
        Kind::Scalar { text, .. } => quoted(text),
        Kind::Sequence(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Kind::Mapping(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|entry| format!("{}: {}", quoted(&entry.key.value), flow(&entry.value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Whether a plain scalar means the same in flow style.
fn plain(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '%' | '/' | '+') || c == '-')
        && !text.starts_with(['-', '%'])
}

/// Text as a YAML string in double quotes, of which JSON's are a part.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAMPAIGN: &str = "\
campaign: scan
question: Is it fast?
hosts: hosts.yaml
variables: {cores: [1, 4]}
control: {name: now, set: {release: r/app-0.5.121, mode: '1.10'}}
treatments: [{name: other, change: {mode: 2}}]
workload:
  command:
    on: here
    run: ['${artifact}', --cores, '${cores}', '${mode}', '-5', \"a, b\"]
    artifact: {path: '${release}'}
timeout: 20s
blocks: {count: 10}
responses: [{name: wall_time, margin: 5%, primary: true}]
";

    fn asked() -> Rungs {
        let release = |name: &str| (name.to_owned(), format!("/r/app-{name}"));
        Rungs {
            setting: "release".into(),
            releases: ["0.5.117", "0.5.118", "0.5.121"].map(release).to_vec(),
            control: 2,
            blocks: 4,
            made_by: "fieldtrial ladder\u{1b}".into(),
        }
    }

    #[test]
    fn every_release_becomes_an_arm_of_the_same_work() {
        let text = rungs(&Source::new("c.yaml", CAMPAIGN.to_owned()), &asked()).unwrap();
        let parsed = crate::campaign::parse(&Source::new("ladder", text.clone()));
        let campaign = parsed.campaign.unwrap_or_else(|| panic!("{:?}\n{text}", parsed.complaints));
        assert_eq!((campaign.name.as_str(), campaign.blocks.count), ("scan-ladder", 4));
        let arms: Vec<&str> = campaign.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(arms, ["0.5.121", "0.5.117", "0.5.118"]);
        assert_eq!(campaign.arms[1].settings["release"].text, "/r/app-0.5.117");
        assert_eq!(campaign.arms[1].settings["mode"].text, "1.10", "levels keep their text");
        let responses: Vec<&str> = campaign.responses.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(responses, ["wall_time", "peak_rss", "bytes_read"]);
        assert_eq!(campaign.variables["cores"].len(), 2);
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn a_campaign_whose_control_names_no_release_is_told_how_to() {
        let text = CAMPAIGN.replace("release: r/app-0.5.121, ", "");
        let complaints = rungs(&Source::new("c.yaml", text), &asked()).unwrap_err();
        assert!(format!("{complaints:?}").contains("the control has no setting `release`"), "{complaints:?}");
    }
}
