//! Files changed at random: an answer with places inside the file, and never a panic.

use proptest::prelude::*;

use super::tests::*;

/// One change: at a place (of 10,000), so many bytes are replaced by one of these.
fn mutated(changes: &[(usize, usize, &str)]) -> String {
    let mut text = PACKETS.to_owned()
        + "exclude: [{when: frame_size > 64 && batch == 1, because: x}]\nresponses: [{name: tx_rate, margin: 2%}]\n";
    for (at, length, with) in changes {
        let mut from = at * text.len() / 10_000;
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let mut to = (from + length).min(text.len());
        while !text.is_char_boundary(to) {
            to += 1;
        }
        text.replace_range(from..to, with);
    }
    text
}

const PIECES: [&str; 16] =
    ["", "[", "]", "{", "}", ": ", "\n", "  ", "- ", "&a ", "*a", "é", "\"", "${", "#", "combine: all\n"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_gets_an_answer(
        changes in prop::collection::vec((0_usize..10_000, 0_usize..12, prop::sample::select(&PIECES[..])), 1..5),
    ) {
        let text = mutated(&changes);
        let source = Source::new("c.yaml", text.as_str());
        let parsed = parse(&source);
        prop_assert_eq!(parsed.campaign.is_none(), yaml::has_errors(&parsed.complaints));
        for complaint in &parsed.complaints {
            prop_assert!(complaint.span.start <= complaint.span.end && complaint.span.end <= text.len());
        }
        let shown = yaml::render(&parsed.complaints, &source, true);
        prop_assert_eq!(shown.is_empty(), parsed.complaints.is_empty());
        yaml::to_json(&parsed.complaints, &source);
    }
}
