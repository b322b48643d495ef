//! The files that come with the program, and the schema.

use serde_json::Value;

use super::tests::*;
use super::{
    arms, artifact, exclusions, extracts, packets, parse, phases, responses, roles, schema, starter, useful,
    values, verify, workload,
};

const SHIPPED: [(&str, &str); 9] = [
    ("quickstart", include_str!("../../campaigns/quickstart.yaml")),
    ("e810-line-rate", include_str!("../../campaigns/e810-line-rate.yaml")),
    ("rx-path", include_str!("../../campaigns/rx-path.yaml")),
    ("commands", include_str!("../../campaigns/commands.yaml")),
    ("http", include_str!("../../campaigns/http.yaml")),
    ("http-pilot", include_str!("../../campaigns/http-pilot.yaml")),
    ("scanner", include_str!("../../campaigns/scanner.yaml")),
    ("iperf3", include_str!("../../campaigns/iperf3.yaml")),
    ("whole-file", include_str!("../../campaigns/whole-file.yaml")),
];

fn as_json(text: &str) -> Value {
    let node = yaml::read(&Source::new("c.yaml", text), &mut Vec::new()).expect("YAML");
    yaml::plain(&node)
}

#[test]
fn every_shipped_campaign_parses_without_complaints_and_fits_the_schema() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    for (name, text) in SHIPPED {
        let campaign = good(text);
        assert_eq!(campaign.name, name);
        let faults: Vec<String> =
            validator.iter_errors(&as_json(text)).map(|error| error.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{name}");
        assert!(text.starts_with("# yaml-language-server: $schema=../schemas/campaign.schema.json\n"));
    }
}

#[test]
fn the_starter_parses_without_complaints_and_fits_the_schema() {
    let text = starter("first", "../hosts/local.yaml");
    let campaign = good(&text);
    assert_eq!((campaign.name.as_str(), campaign.hosts.as_deref()), ("first", Some("../hosts/local.yaml")));
    assert!(jsonschema::is_valid(&schema(), &as_json(&text)));
}

#[test]
fn the_schema_file_is_in_step() {
    let expected = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    let found = include_str!("../../schemas/campaign.schema.json");
    assert!(found == expected, "run: fieldtrial schema campaign > schemas/campaign.schema.json");
}

#[test]
fn the_schema_knows_the_keys_that_the_parser_knows() {
    let schema = schema();
    let of = |definition: &str| -> Vec<String> {
        let place = if definition.is_empty() { &schema } else { &schema["definitions"][definition] };
        let mut keys: Vec<String> =
            place["properties"].as_object().expect(definition).keys().cloned().collect();
        keys.sort();
        keys
    };
    let sorted = |keys: &[&str]| {
        let mut keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        keys.sort();
        keys
    };
    let of_roles: Vec<&str> = roles::COMMAND_KEYS.into_iter().chain(roles::ROLE_KEYS).collect();
    let known: [(&str, &[&str]); 30] = [
        ("", &parse::KEYS),
        ("Control", &arms::CONTROL_KEYS),
        ("Treatment", &arms::TREATMENT_KEYS),
        ("Anchor", &arms::ANCHOR_KEYS),
        ("Workload", &workload::WORKLOAD_KEYS),
        ("Packets", &packets::PACKETS_KEYS),
        ("Load", &packets::LOAD_KEYS),
        ("Baseline", &parse::BASELINE_KEYS),
        ("Command", &roles::COMMAND_KEYS),
        ("Role", &of_roles),
        ("ReadyWhen", &roles::READY_KEYS),
        ("EndsWith", &roles::ENDS_KEYS),
        ("Verify", &verify::VERIFY_KEYS),
        ("OutputBy", &verify::OUTPUT_KEYS),
        ("FieldsBut", &verify::FIELDS_KEYS),
        ("JsonBut", &verify::JSON_KEYS),
        ("Extract", &extracts::EXTRACT_KEYS),
        ("FromFile", &extracts::FILE_KEYS),
        ("Value", &values::VALUE_KEYS),
        ("Work", &useful::WORK_KEYS),
        ("Counted", &useful::COUNTED_KEYS),
        ("Phase", &phases::PHASE_KEYS),
        ("Setup", &phases::SETUP_KEYS),
        ("Build", &artifact::BUILD_KEYS),
        ("Artifact", &artifact::ARTIFACT_KEYS),
        ("Exclusion", &exclusions::EXCLUDE_KEYS),
        ("Blocks", &parse::BLOCKS_KEYS),
        ("Until", &until::UNTIL_KEYS),
        ("Response", &responses::RESPONSE_KEYS),
        ("Expect", &parse::EXPECT_KEYS),
    ];
    for (definition, keys) in known {
        assert_eq!(of(definition), sorted(keys), "{definition}");
    }
}

#[test]
fn the_schema_refuses_what_the_parser_refuses() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    assert!(validator.is_valid(&as_json(PACKETS)));
    for (from, to) in [
        ("question:", "quesiton:"),
        ("frame_size: [64, 1518]", "frame_size: 64"),
        ("duration: 1s", "duration: 30"),
        ("campaign: links", "campaign: a/b"),
        ("batch: ${batch}", "batches: 1"),
        ("hosts: hosts.yaml", "hosts:"),
        ("    duration: 1s\n", ""),
    ] {
        let text = PACKETS.replace(from, to);
        assert!(!validator.is_valid(&as_json(&text)), "{text}");
        refused(&text);
    }
}
