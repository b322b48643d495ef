//! Certified and textbook tables, and what holds for any data.

use proptest::prelude::*;
use serde_json::Value;

use super::anova::{Anova, Line, analyse};
use super::factor::Factor;

/// Columns of a CSV text without quotes.
fn columns(text: &str) -> Vec<(String, Vec<String>)> {
    let mut lines = text.lines();
    let mut columns: Vec<(String, Vec<String>)> =
        lines.next().expect("header").split(',').map(|name| (name.to_owned(), vec![])).collect();
    for line in lines {
        for (column, cell) in columns.iter_mut().zip(line.split(',')) {
            column.1.push(cell.to_owned());
        }
    }
    columns
}

/// Response and factors of a CSV text.
pub fn read(text: &str, response: &str, names: &[&str]) -> (Vec<f64>, Vec<Factor>) {
    let columns = columns(text);
    let find = |name: &str| &columns.iter().find(|c| c.0 == name).expect("column").1;
    let y = find(response).iter().map(|v| v.parse().expect("number")).collect();
    (y, names.iter().map(|name| Factor::of(name, find(name))).collect())
}

fn digits(found: f64, right: f64) -> f64 {
    if found == right { 16.0 } else { -((found - right) / right).abs().log10() }
}

/// Holds found to be right to `digits` digits, and 0 to be nearly 0.
fn hold(what: &str, found: f64, right: f64, asked: f64) {
    let close = if right == 0.0 { found.abs() < 1e-9 } else { digits(found, right) >= asked };
    assert!(close, "{what}: found {found:e}, right {right:e}: {} digits", digits(found, right));
}

#[test]
fn certified_one_way_tables_hold_to_the_digits_that_doubles_allow() {
    let certified: Value =
        serde_json::from_str(include_str!("../../tests/data/nist/anova_certified.shared.json"))
            .expect("JSON");
    let sets = [
        ("SiRstv", include_str!("../../tests/data/nist/SiRstv.csv"), 13.0),
        ("SmLs01", include_str!("../../tests/data/nist/SmLs01.csv"), 13.0),
        ("SmLs02", include_str!("../../tests/data/nist/SmLs02.csv"), 13.0),
        ("SmLs03", include_str!("../../tests/data/nist/SmLs03.csv"), 13.0),
        ("SmLs04", include_str!("../../tests/data/nist/SmLs04.csv"), 10.0),
        ("SmLs05", include_str!("../../tests/data/nist/SmLs05.csv"), 10.0),
    ];
    for (name, text, asked) in sets {
        let header: Vec<&str> = text.lines().next().expect("header").split(',').collect();
        let (y, factors) = read(text, header[1], &header[..1]);
        let anova = analyse(&y, &factors, None, 1).expect("anova");
        let right = |key: &str| -> f64 {
            let value = &certified[name][key];
            value.as_f64().unwrap_or_else(|| value.as_str().expect("text").parse().expect("number"))
        };
        let line = &anova.terms[0].type3;
        hold(name, line.f.expect("F"), right("F"), asked);
        hold(name, line.ss.expect("SS"), right("ss_between"), asked - 0.1);
        hold(name, anova.residual.ss, right("ss_within"), asked - 0.1);
        hold(name, anova.residual.ms.expect("MS").sqrt(), right("residual_sd"), asked);
        hold(name, anova.r_squared.expect("r²"), right("r_squared"), asked.min(12.5));
        assert_eq!(
            (line.df, anova.residual.df as f64),
            (Some(right("df_between") as u64), right("df_within"))
        );
        match line.p {
            Some(p) => hold(name, p, right("p_value_from_certified_F"), asked - 4.0),
            None => assert_eq!((name, line.p_below), ("SmLs03", Some(1e-300))),
        }
    }
}

#[test]
fn the_certified_sets_with_the_largest_offsets_keep_what_their_doubles_keep() {
    // SmLs06 to SmLs09 are SmLs03, 01, 02 and 03 with 10^6 or 10^12 in place of the 1 before the point, and have the
    // same certified table. Beside 10^12 doubles are 0.00012 apart, so the data themselves keep three digits.
    let certified: Value =
        serde_json::from_str(include_str!("../../tests/data/nist/anova_certified.shared.json"))
            .expect("JSON");
    let sets = [
        ("SmLs06", "SmLs03", include_str!("../../tests/data/nist/SmLs03.csv"), "1000000", 10.0),
        ("SmLs07", "SmLs01", include_str!("../../tests/data/nist/SmLs01.csv"), "1000000000000", 2.5),
        ("SmLs08", "SmLs02", include_str!("../../tests/data/nist/SmLs02.csv"), "1000000000000", 2.5),
        ("SmLs09", "SmLs03", include_str!("../../tests/data/nist/SmLs03.csv"), "1000000000000", 2.5),
    ];
    for (name, of, text, offset, asked) in sets {
        let text = text.replace(",1.", &format!(",{offset}."));
        let (y, factors) = read(&text, "y", &["group"]);
        let anova = analyse(&y, &factors, None, 1).expect("anova");
        let right =
            |key: &str| -> f64 { certified[of][key].as_str().expect("text").parse().expect("number") };
        hold(name, anova.terms[0].type3.f.expect("F"), right("F"), asked);
        hold(name, anova.residual.ms.expect("MS").sqrt(), right("residual_sd"), asked);
        hold(name, anova.r_squared.expect("r²"), right("r_squared"), asked);
    }
}

/// Certified sets that are made by rule: group i has the values offset + 0.1·i-th level ± 0.1 (and one
/// in the middle), so the certified tables of SmLs06 to SmLs09 are known without their files.
#[test]
fn an_offset_of_ten_to_the_twelfth_costs_only_what_the_data_themselves_have_lost() {
    let certified: Value =
        serde_json::from_str(include_str!("../../tests/data/nist/anova_certified.shared.json"))
            .expect("JSON");
    let (y, factors) = {
        let text = include_str!("../../tests/data/nist/SmLs01.csv");
        let header: Vec<&str> = text.lines().next().expect("header").split(',').collect();
        read(text, header[1], &header[..1])
    };
    // 2^-4 instead of 0.1 makes every value exact beside 10^12, and the F the same but for the unit.
    let exact = |offset: f64| -> Vec<f64> { y.iter().map(|v| (v * 10.0).round() / 16.0 + offset).collect() };
    let near = analyse(&exact(0.0), &factors, None, 1).expect("anova");
    let far = analyse(&exact(1e12), &factors, None, 1).expect("anova");
    let f = |anova: &Anova| anova.terms[0].type2.f.expect("F");
    assert_eq!(f(&near), f(&far));
    hold("F", f(&far), certified["SmLs01"]["F"].as_str().expect("text").parse().expect("number"), 14.0);
}

fn hold_table(name: &str, found: &[(String, &Line)], right: &Value, anova: &Anova) {
    for (term, line) in found {
        let row = &right[term.as_str()];
        assert!(row.is_object(), "{name}: no {term} in {right}");
        for (key, value) in
            [("df", line.df.map(|df| df as f64)), ("ss", line.ss), ("F", line.f), ("p", line.p)]
        {
            hold(&format!("{name} {term} {key}"), value.expect(key), row[key].as_f64().expect(key), 9.0);
        }
    }
    hold(name, anova.residual.ss, right["Residual"]["ss"].as_f64().expect("ss"), 9.0);
    hold(name, anova.residual.df as f64, right["Residual"]["df"].as_f64().expect("df"), 16.0);
}

#[test]
fn textbook_factorials_hold_to_nine_digits() {
    let books = [
        (
            "battery",
            include_str!("../../tests/data/factorial/battery.csv"),
            include_str!("../../tests/data/factorial/battery.expected.json"),
        ),
        (
            "warpbreaks",
            include_str!("../../tests/data/factorial/warpbreaks.csv"),
            include_str!("../../tests/data/factorial/warpbreaks.expected.json"),
        ),
        (
            "plasma",
            include_str!("../../tests/data/factorial/plasma_etch_2x2x2_r2.csv"),
            include_str!("../../tests/data/factorial/plasma_etch_2x2x2_r2.expected.json"),
        ),
    ];
    for (name, text, right) in books {
        let right: Value = serde_json::from_str(right).expect("JSON");
        let names: Vec<&str> =
            right["factors"].as_array().expect("factors").iter().filter_map(Value::as_str).collect();
        let (y, factors) = read(text, "y", &names);
        let anova = analyse(&y, &factors, None, names.len()).expect("anova");
        assert!(anova.balanced);
        let found: Vec<_> = anova.terms.iter().map(|row| (row.term.clone(), &row.type2)).collect();
        assert_eq!(found.len(), right["anova"].as_object().expect("table").len() - 1);
        hold_table(name, &found, &right["anova"], &anova);
    }
}

#[test]
fn unequal_cells_give_the_right_type_two_and_three() {
    let (y, factors) = read(include_str!("../../tests/data/factorial/unbalanced_2x2.csv"), "y", &["A", "B"]);
    let right: Value =
        serde_json::from_str(include_str!("../../tests/data/factorial/unbalanced_2x2.expected.json"))
            .expect("JSON");
    let anova = analyse(&y, &factors, None, 2).expect("anova");
    assert!(!anova.balanced);
    let lines = |kind: fn(&super::anova::Row) -> &Line| -> Vec<(String, &Line)> {
        anova.terms.iter().map(|row| (row.term.clone(), kind(row))).collect()
    };
    hold_table("type II", &lines(|row| &row.type2), &right["type2"], &anova);
    hold_table("type III", &lines(|row| &row.type3), &right["type3_sum_to_zero_coding_RIGHT"], &anova);
    assert!(anova.notes[0].contains("kind of sum of squares matters"));
}

#[test]
fn a_missing_cell_leaves_its_interaction_without_an_answer() {
    // Case A29: 10, 12, 20 and no fourth, three replicates each.
    let a = Factor::of("A", &["a1", "a1", "a1", "a1", "a1", "a1", "a2", "a2", "a2"]);
    let b = Factor::of("B", &["b1", "b1", "b1", "b2", "b2", "b2", "b1", "b1", "b1"]);
    let y = [9.0, 10.0, 11.0, 11.0, 12.0, 13.0, 19.0, 20.0, 21.0];
    let anova = analyse(&y, &[a, b], None, 2).expect("anova");
    let both = &anova.terms[2];
    assert_eq!((both.type2.ss, both.type3.ss, both.type2.p), (None, None, None));
    assert_eq!(both.type2.absent["ss"], "not estimable: cell (A=a2, B=b2) is empty");
    assert!(anova.terms[0].type3.absent["p"].starts_with("not estimable: cell (A=a2, B=b2) is empty"));
    // Inside the complete row of b1, A moves 10 to 20: SS = 3·3/6·10².
    hold("A", anova.terms[0].type2.ss.expect("SS"), 150.0, 12.0);
    assert_eq!(anova.residual.df, 6);
}

#[test]
fn an_interaction_keeps_the_degrees_of_freedom_that_empty_cells_leave() {
    let a = Factor::of("A", &["1", "1", "1", "2", "2", "1", "1", "1", "2", "2"]);
    let b = Factor::of("B", &["1", "2", "3", "1", "2", "1", "2", "3", "1", "2"]);
    let y = [1.0, 2.0, 4.0, 3.0, 9.0, 1.5, 2.5, 4.5, 3.5, 9.5];
    let anova = analyse(&y, &[a, b], None, 2).expect("anova");
    let both = &anova.terms[2];
    assert_eq!((both.full_df, both.type2.df, both.type3.df), (2, Some(1), None));
    // The 2×2 part: contrast 9.25 − 3.25 − 2.25 + 1.25 = 5 of four means of two: SS = 25·2/4.
    hold("A:B", both.type2.ss.expect("SS"), 12.5, 12.0);
    assert!(anova.notes.iter().any(|note| note.contains("(A=2, B=3)")), "{:?}", anova.notes);
}

#[test]
fn a_missing_run_of_one_block_leaves_every_term_estimable() {
    let label = |n: usize| n.to_string();
    let rows: Vec<(usize, usize, usize)> = (0..5)
        .flat_map(|block| (0..2).flat_map(move |a| (0..3).map(move |b| (block, a, b))))
        .filter(|row| *row != (2, 1, 1))
        .collect();
    let y: Vec<f64> = rows
        .iter()
        .map(|(block, a, b)| (block * block + 3 * a + 2 * b + (block * 7 + a * 5 + b * 3) % 4) as f64)
        .collect();
    let factor = |name, pick: fn(&(usize, usize, usize)) -> usize| {
        Factor::of(name, &rows.iter().map(|row| label(pick(row))).collect::<Vec<_>>())
    };
    let factors = [factor("A", |r| r.1), factor("B", |r| r.2)];
    let anova = analyse(&y, &factors, Some(&factor("block", |r| r.0)), 2).expect("anova");
    assert_eq!(anova.residual.df, 29 - 1 - 4 - 5);
    assert!(anova.terms.iter().all(|row| row.type3.p.is_some() && row.type3.df == Some(row.full_df)));
    assert_eq!(anova.block.expect("block").full_df, 4);
}

#[test]
fn without_replicates_or_without_spread_there_is_no_p_and_no_nan() {
    let (y, factors) =
        read(include_str!("../../tests/data/factorial/memory_cache_2x2_r1.csv"), "y", &["A", "B"]);
    let anova = analyse(&y, &factors, None, 2).expect("anova");
    let ss: Vec<f64> = anova.terms.iter().filter_map(|row| row.type2.ss).collect();
    assert_eq!(ss, [1600.0, 400.0, 100.0]);
    assert_eq!((anova.total.ss, anova.residual.df, anova.terms[0].type2.p), (2100.0, 0, None));
    assert!(anova.terms[0].type2.absent["p"].contains("0 degrees of freedom"));
    // Case A03: constant but different, and constant altogether.
    let arm = [Factor::of("arm", &["a", "a", "b", "b"])];
    let split = analyse(&[0.1, 0.1, 0.7, 0.7], &arm, None, 1).expect("anova");
    assert_eq!((split.terms[0].type2.f, split.terms[0].type2.p), (None, None));
    let flat = analyse(&[0.1; 4], &arm, None, 1).expect("anova");
    assert_eq!((flat.r_squared, flat.terms[0].type2.f), (None, None));
    let text = serde_json::to_string(&[split, flat]).expect("JSON");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    assert!(
        analyse(&[1.0, 2.0], &[Factor::of("a", &["x", "x"])], None, 1).unwrap_err().contains("two levels")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn projection_and_sweeping_agree_on_balanced_data(
        values in prop::collection::vec(-50i32..50, 24), shift in -3i32..3
    ) {
        // Two blocks of a 2×3×2; one more run in one cell of a copy makes the other path take it.
        let label = |pick: fn(usize) -> usize| -> Vec<String> { (0..24).map(|i| pick(i).to_string()).collect() };
        let factors = [
            Factor::of("A", &label(|i| i % 2)), Factor::of("B", &label(|i| i / 2 % 3)), Factor::of("C", &label(|i| i / 6 % 2)),
        ];
        let block = Factor::of("block", &label(|i| i / 12));
        let y: Vec<f64> = values.iter().map(|v| f64::from(*v) / 7.0 + f64::from(shift) * 1e3).collect();
        let all: Vec<&Factor> = [&block].into_iter().chain(&factors).collect();
        let table = super::factor::Table::gather(&y, &all).unwrap();
        let terms = vec![vec![0], vec![1], vec![2], vec![3], vec![1, 2], vec![1, 3], vec![2, 3]];
        let (sums, lack) = super::balanced::sums(&table, &terms);
        let model = super::unbalanced::Model::of(&table, &terms).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-10 * table.squares.max(1e-3);
        for (i, sum) in sums.iter().enumerate() {
            let added = model.added(i, (0..terms.len()).filter(|other| *other != i));
            prop_assert!(close(added.squares, *sum), "{}: {} and {}", i, added.squares, sum);
        }
        prop_assert!(close(model.lack().0, lack));
        prop_assert!(close(sums.iter().sum::<f64>() + lack, table.squares));
    }

    #[test]
    fn the_order_of_rows_changes_no_bit_and_a_unit_no_f(
        values in prop::collection::vec(1i32..1000, 20), turn in 1usize..19
    ) {
        let label = |pick: fn(usize) -> usize| -> Vec<String> { (0..20).map(|i| pick(i).to_string()).collect() };
        let (a, b) = (label(|i| i * i % 3), label(|i| i % 2));
        let y: Vec<f64> = values.iter().map(|v| f64::from(*v) / 3.0).collect();
        let table = |y: &[f64], a: &[String], b: &[String]| {
            analyse(y, &[Factor::of("A", a), Factor::of("B", b)], None, 2).unwrap()
        };
        let straight = table(&y, &a, &b);
        let turned = |list: &[String]| [&list[turn..], &list[..turn]].concat();
        let rotated = table(&[&y[turn..], &y[..turn]].concat(), &turned(&a), &turned(&b));
        prop_assert_eq!(&straight, &rotated);
        let scaled = table(&y.iter().map(|v| v * 1024.0).collect::<Vec<_>>(), &a, &b);
        for (one, other) in straight.terms.iter().zip(&scaled.terms) {
            if let (Some(f), Some(g)) = (one.type2.f, other.type2.f) {
                prop_assert!((f - g).abs() <= 1e-9 * f.max(1.0));
            }
        }
    }
}
