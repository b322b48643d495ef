//! Cases K01 to K10 and both languages, each with its right answer.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::calendar::Schedule;
use super::dates::{Kind, account, between, missed_by_systemd, next, remarks};
use super::{cron_line, parse, quote};

fn schedule(text: &str) -> Schedule {
    parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

fn new_york() -> TimeZone {
    TimeZone::get("America/New_York").expect("the zones are bundled")
}

fn utc(text: &str, zone: &TimeZone, after: &str, count: usize) -> Vec<String> {
    next(&schedule(text), zone, at(after), count).iter().map(|due| due.at.to_string()).collect()
}

#[test]
fn a_local_time_that_does_not_exist_runs_once_at_the_end_of_the_gap() {
    // Case K01.
    for text in ["30 2 * * *", "*-*-* 02:30"] {
        assert_eq!(
            utc(text, &new_york(), "2027-03-13T00:00:00Z", 3),
            ["2027-03-13T07:30:00Z", "2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z"],
            "{text}"
        );
        let told = remarks(&schedule(text), &new_york(), at("2027-01-01T00:00:00Z"));
        assert!(
            told.iter().any(|t| t.contains("2027-03-14 02:30 does not exist") && t.contains("03:00")),
            "{told:?}"
        );
    }
    // A quarter-hour schedule has its 03:00 already: the four that do not exist add nothing.
    assert_eq!(
        utc("*:0/15", &new_york(), "2027-03-14T06:40:00Z", 3),
        ["2027-03-14T06:45:00Z", "2027-03-14T07:00:00Z", "2027-03-14T07:15:00Z"]
    );
}

#[test]
fn a_local_time_that_occurs_twice_runs_once_and_a_frequent_schedule_goes_on() {
    // Case K02.
    let found = next(&schedule("30 1 * * *"), &new_york(), at("2027-11-07T00:00:00Z"), 2);
    assert_eq!(found[0].at, at("2027-11-07T05:30:00Z"));
    assert_eq!((found[0].kind, found[1].at), (Kind::First, at("2027-11-08T06:30:00Z")));
    let quarters = between(
        &schedule("*/15 * * * *"),
        &new_york(),
        at("2027-11-07T04:59:59Z"),
        at("2027-11-07T06:59:59Z"),
    );
    assert_eq!(quarters.len(), 8, "four in each of the two hours");
    let told = remarks(&schedule("30 1 * * *"), &new_york(), at("2027-06-01T00:00:00Z"));
    assert!(told.iter().any(|t| t.contains("2027-11-07 01:30 occurs twice")), "{told:?}");
    assert_eq!(missed_by_systemd(&schedule("*:0/15"), &new_york(), at("2027-06-01T00:00:00Z"), 1).len(), 4);
    assert_eq!(missed_by_systemd(&schedule("04:30"), &new_york(), at("2027-06-01T00:00:00Z"), 5), []);
}

#[test]
fn both_days_of_cron_mean_either_and_the_hint_says_how_to_have_both() {
    // Case K04.
    let both = schedule("30 4 1,15 * 5");
    let december = between(&both, &TimeZone::UTC, at("2026-11-30T23:59:00Z"), at("2026-12-31T23:59:00Z"));
    let days: Vec<i8> = december.iter().map(|due| due.local.day()).collect();
    assert_eq!(days, [1, 4, 11, 15, 18, 25]);
    assert!(both.hints[0].contains("either"), "{:?}", both.hints);
    let strict = schedule("Fri *-*-01,15 04:30");
    assert_eq!(between(&strict, &TimeZone::UTC, at("2026-11-30T23:59:00Z"), at("2026-12-31T23:59:00Z")), []);
    assert_eq!(strict.hints, Vec::<String>::new());
}

#[test]
fn what_was_missed_while_the_machine_was_off_is_counted_and_made_up_for_once() {
    // Case K07: hourly, off from 01:10 to 05:20.
    let hourly = schedule("0 * * * *");
    let (kept, missed) =
        account(&hourly, &TimeZone::UTC, at("2026-12-01T01:00:05Z"), at("2026-12-01T05:20:00Z"), 900);
    assert_eq!(kept, None, "a start at 05:20 is none for 05:00");
    let missed: Vec<String> = missed.iter().map(Timestamp::to_string).collect();
    let expected = ["02", "03", "04", "05"].map(|hour| format!("2026-12-01T{hour}:00:00Z"));
    assert_eq!(missed, expected);
    let (kept, missed) =
        account(&hourly, &TimeZone::UTC, at("2026-12-01T05:20:00Z"), at("2026-12-01T06:00:09Z"), 900);
    assert_eq!((kept, missed), (Some(at("2026-12-01T06:00:00Z")), vec![]));
}

#[test]
fn dates_that_never_or_seldom_come_are_said_at_once() {
    // Case K10.
    let from = "2026-11-30T12:00:00Z";
    assert_eq!(utc("0 0 30 2 *", &TimeZone::UTC, from, 1), Vec::<String>::new());
    assert_eq!(
        utc("0 0 31 * *", &TimeZone::UTC, from, 4),
        ["2026-12-31", "2027-01-31", "2027-03-31", "2027-05-31"].map(|day| format!("{day}T00:00:00Z"))
    );
    let told = remarks(&schedule("0 0 31 * *"), &TimeZone::UTC, at(from));
    assert!(told.iter().any(|t| t.contains("5 of 12 months")), "{told:?}");
    assert_eq!(utc("0 0 29 2 *", &TimeZone::UTC, from, 1), ["2028-02-29T00:00:00Z"]);
    let told = remarks(&schedule("0 0 29 2 *"), &TimeZone::UTC, at(from));
    assert!(told.iter().any(|t| t.contains("more than a year away")), "{told:?}");
    for (wrong, expected) in [
        ("61 * * * *", "a minute from 0 to 59, found `61`"),
        ("*/0 * * * *", "a step of at least 1"),
        ("Fnord 02:00", "a weekday"),
        ("25:00", "an hour"),
        ("02:00 tomorrow", "found `tomorrow`"),
        ("", "a calendar expression"),
        ("*:*:*", "one second"),
        ("5-3 * * * *", "goes up"),
        ("@sometimes", "@daily"),
    ] {
        let why = parse(wrong).expect_err(wrong);
        assert!(why.contains(expected), "{wrong}: {why}");
    }
}

#[test]
fn both_languages_say_the_same_and_cron_says_what_it_cannot() {
    for (systemd, cron) in [
        ("Mon..Fri 02:00", "0 2 * * 1-5"),
        ("*-*-01 04:30", "30 4 1 * *"),
        ("Sun 00:00", "0 0 * * 7"),
        ("hourly", "@hourly"),
        ("*-01,07-01 00:00", "0 0 1 jan,jul *"),
    ] {
        let from = "2026-11-30T12:00:00Z";
        assert_eq!(utc(systemd, &TimeZone::UTC, from, 9), utc(cron, &TimeZone::UTC, from, 9), "{cron}");
        let line = cron_line(&schedule(systemd), "run").expect(systemd);
        assert_eq!(
            utc(line.trim_end_matches(" run"), &TimeZone::UTC, from, 9),
            utc(cron, &TimeZone::UTC, from, 9)
        );
    }
    assert_eq!(cron_line(&schedule("02:00"), "a 5%").unwrap(), "0 2 * * * a 5\\%");
    assert_eq!(cron_line(&schedule("30 4 1,15 * 5"), "x").unwrap().lines().count(), 2);
    assert!(cron_line(&schedule("Fri *-*-13 02:00"), "x").is_err());
    assert!(cron_line(&schedule("2027-01-01 02:00"), "x").is_err());
}

#[test]
fn words_are_quoted_so_that_systemd_reads_them_as_they_are() {
    for (text, quoted) in [
        ("/usr/bin/x", "/usr/bin/x"),
        ("a b", "\"a b\""),
        ("100%", "100%%"),
        ("$HOME", "$$HOME"),
        ("say \"hi\" \\", "\"say \\\"hi\\\" \\\\\""),
        (";", "\";\""),
        ("", "\"\""),
    ] {
        assert_eq!(quote::argument(text), quoted);
    }
    assert_eq!(quote::unit_name("rx path/ä"), "fieldtrial-rx-path--");
}
