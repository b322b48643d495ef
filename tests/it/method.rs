//! The promises of the method, held by simulated campaigns in the short form of `cargo bench --bench method`.

#[path = "../bench/simulation.rs"]
mod simulation;

#[test]
fn simulated_campaigns_hold_what_the_method_promises() {
    let checks = simulation::checks(1500, &[6, 10]);
    assert!(checks.len() > 40, "{} promises", checks.len());
    let told = |c: &simulation::Check| {
        format!("{}: found {}, has to lie in {} to {}", c.what, c.found, c.low, c.high)
    };
    let broken: Vec<_> = checks.iter().filter(|check| !check.holds()).map(told).collect();
    assert!(broken.is_empty(), "{} of {} promises:\n{}", broken.len(), checks.len(), broken.join("\n"));
}
