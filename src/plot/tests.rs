//! Figures hold what they were given, and nothing that is no number or acts.

use super::forest::{self, Block, Row};
use super::thin::extremes;
use super::*;

fn plain(v: f64) -> String {
    format!("{v}")
}

fn side(name: &str) -> Side<'static> {
    Side { name: name.into(), log: false, tick: &plain, holds: vec![], named: vec![] }
}

fn chart(layers: Vec<Layer>) -> Chart<'static> {
    Chart { told: "a chart".into(), x: side("x"), y: side("y"), layers, width: 340.0, height: 200.0 }
}

fn mark_at(x: f64, y: f64) -> Mark {
    Mark { x, y, label: String::new(), href: None }
}

#[test]
fn every_dot_is_drawn_where_its_value_is() {
    let marks = vec![mark_at(0.0, 10.0), mark_at(5.0, 20.0), mark_at(10.0, 15.0)];
    let svg = chart(vec![Layer::Dots { series: 0, marks }]).draw().expect("figure");
    let of = |name: &str| -> Vec<f64> {
        svg.split(&format!("{name}=\"")).skip(1).filter_map(|t| t.split('"').next()?.parse().ok()).collect()
    };
    let (xs, ys) = (of("cx"), of("cy"));
    assert_eq!((xs.len(), ys.len()), (3, 3), "{svg}");
    assert!((xs[1] - (xs[0] + xs[2]) / 2.0).abs() < 0.11, "the middle value stands in the middle");
    assert!(ys[1] < ys[2] && ys[2] < ys[0], "higher values stand higher");
    assert!((ys[2] - (ys[0] + ys[1]) / 2.0).abs() < 0.11, "{ys:?}");
}

#[test]
fn no_coordinate_is_ever_not_a_number() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 0.0, -1.0];
    for log in [false, true] {
        let points: Vec<(f64, f64)> = odd.iter().flat_map(|x| odd.iter().map(|y| (*x, *y))).collect();
        let mut chart = chart(vec![
            Layer::Band { from: f64::NAN, to: 1.0, name: "b".into() },
            Layer::Line { series: 1, points: points.clone() },
            Layer::Steps { series: 2, points: points.clone() },
            Layer::Dust { series: 3, points: points.clone() },
            Layer::Dots { series: 0, marks: points.iter().map(|(x, y)| mark_at(*x, *y)).collect() },
            Layer::Crosses(points.iter().map(|(x, y)| mark_at(*x, *y)).collect()),
            Layer::Level { at: f64::NAN, series: 0 },
        ]);
        (chart.x.log, chart.y.log) = (log, log);
        let svg = chart.draw().unwrap_or_default();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let blocks = odd.iter().map(|v| Block { value: *v, label: String::new(), href: None }).collect();
        let row = Row { blocks, interval: Some((f64::NEG_INFINITY, f64::NAN)), ..Row::default() };
        if let Some(axis) = forest::axis([&row], log) {
            let svg = forest::row(&row, &axis, 4) + &forest::scale(&axis, &|_| String::new());
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
    assert_eq!(chart(vec![]).draw(), None, "nothing to draw is no figure");
}

#[test]
fn ticks_are_round_and_inside() {
    let ticks =
        |low: f64, high: f64, log| Axis::between((low, high), log, (0.0, 1.0)).expect("axis").ticks(4);
    assert_eq!(ticks(0.0, 10.0, false), [0.0, 5.0, 10.0]);
    assert_eq!(
        ticks(0.93, 1.11, true).iter().map(|t| format!("{t:.2}")).collect::<Vec<_>>(),
        ["0.95", "1.00", "1.05", "1.10"]
    );
    assert_eq!(ticks(0.5, 2e6, true), [1.0, 100.0, 10_000.0, 1_000_000.0]);
    assert_eq!(Axis::between((1.0, 1.0), false, (0.0, 1.0)), None);
    let one = Axis::over([3.0], false, (0.0, 100.0)).expect("axis");
    assert_eq!(one.at(3.0), 50.0, "a single value stands in the middle");
    assert!(!one.ticks(4).is_empty() && one.ticks(4).len() <= 9);
}

#[test]
fn thinning_keeps_the_ends_and_whatever_stands_out() {
    let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
    points[41_234].1 = 900.0;
    points[77_777].1 = -900.0;
    let kept = extremes(&points, 200);
    assert!(kept.len() <= 200 && kept.is_sorted(), "{}", kept.len());
    for place in [0, 41_234, 77_777, 99_999] {
        assert!(kept.contains(&place), "{place}");
    }
    assert_eq!(extremes(&points[..150], 200).len(), 150, "few enough stay as they are");
    assert_eq!(extremes(&[], 10), Vec::<usize>::new());
}

#[test]
fn names_cannot_become_markup() {
    let nasty = "</title><script>alert(1)</script>\"onload='x'&\u{1b}";
    let mut all = chart(vec![
        Layer::Cuts(vec![(1.0, nasty.into())]),
        Layer::Band { from: 0.0, to: 1.0, name: nasty.into() },
        Layer::Note { x: 0.0, y: 0.0, text: nasty.into() },
        Layer::Dots {
            series: 1,
            marks: vec![Mark { x: 0.0, y: 1.0, label: nasty.into(), href: Some(format!("#{nasty}")) }],
        },
    ]);
    all.told = nasty.into();
    all.x.name = nasty.into();
    all.y.named = vec![(1.0, nasty.into())];
    let part = bar::Part {
        name: nasty.into(),
        count: 1,
        class: "a".into(),
        href: nasty.into(),
        filter: nasty.into(),
    };
    let row = Row {
        told: nasty.into(),
        blocks: vec![Block { value: 1.0, label: nasty.into(), href: Some(nasty.into()) }],
        ..Row::default()
    };
    let axis = forest::axis([&row], false).expect("axis");
    let svg = all.draw().expect("figure") + &bar(nasty, &[part]) + &forest::row(&row, &axis, 4);
    assert!(!svg.contains("<script") && !svg.contains("\"onload") && !svg.contains('\u{1b}'), "{svg}");
    assert!(svg.contains("role=\"group\""), "a figure with links can be walked into");
}

#[test]
fn a_small_part_of_a_sum_is_still_seen_and_the_bar_stays_as_wide() {
    let part = |count| bar::Part {
        name: "n".into(),
        count,
        class: "c".into(),
        href: "#x".into(),
        filter: String::new(),
    };
    let svg = bar("sum", &[part(99_990), part(0), part(9), part(1)]);
    let widths: Vec<f64> = svg
        .split("height=\"22\"/>")
        .filter_map(|t| t.rsplit("width=\"").next()?.trim_end_matches("\" ").parse().ok())
        .collect();
    assert_eq!(widths.len(), 3, "{svg}");
    assert!(widths.iter().all(|w| *w >= 12.0), "{widths:?}");
    assert!((widths.iter().sum::<f64>() - 597.0).abs() < 0.5, "{widths:?}");
}
