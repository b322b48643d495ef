//! Holds the promises of the method by 20,000 simulated campaigns each, and prints what came of them.

mod simulation;

use std::time::Instant;

/// Campaigns behind every line; `FIELDTRIAL_CAMPAIGNS` sets another number.
const CAMPAIGNS: u32 = 20_000;

fn main() {
    let campaigns = std::env::var("FIELDTRIAL_CAMPAIGNS").ok().map_or(CAMPAIGNS, |number| {
        number.parse().unwrap_or_else(|_| panic!("FIELDTRIAL_CAMPAIGNS: expected a number, found {number}"))
    });
    let began = Instant::now();
    let checks = simulation::checks(campaigns, &[6, 8, 10]);
    println!("| {campaigns} campaigns each | found | has to lie within | |\n|---|---|---|---|");
    for check in &checks {
        let verdict = if check.holds() { "holds" } else { "BROKEN" };
        println!(
            "| {} | {:.2} % | {:.2} to {:.2} % | {verdict} |",
            check.what,
            100.0 * check.found,
            100.0 * check.low.max(0.0),
            100.0 * check.high.min(1.0)
        );
    }
    let broken = checks.iter().filter(|check| !check.holds()).count();
    println!("\n{} promises, {broken} broken, {:.0} s", checks.len(), began.elapsed().as_secs_f64());
    std::process::exit(i32::from(broken > 0));
}
