//! Why a table of flow rules cannot become the desired one.

/// Why there is no way, found before the driver is asked for anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "`{rule}`: the port has queues 0 to {last}; next step: name one of them, or ask for more with `ethtool -L`"
    )]
    Queue { rule: String, last: u32 },
    #[error(
        "`{rule}`: the card's table has places 0 to {last}; next step: leave `loc` out, and a free one is taken"
    )]
    Place { rule: String, last: u32 },
    #[error("the driver keeps no places for flow rules at all (table size 0), so `{rule}` fits nowhere")]
    NoPlaces { rule: String },
    #[error(
        "`{rule}`: somebody else's rule stands there: `{holder}`; next step: leave `loc` out, or remove that one \
         by `fieldtrial tool flow-rules clear --loc {location}`"
    )]
    Taken { rule: String, holder: String, location: u32 },
    #[error(
        "the table is full: {rules} rules in {capacity} places leave none for `{rule}`; next step: remove some by `fieldtrial tool flow-rules clear`"
    )]
    Full { rule: String, rules: usize, capacity: u32 },
    #[error(
        "`{first}` and `{second}` contradict each other; expected one rule for the same frames and one for each place"
    )]
    Contradiction { first: String, second: String },
    #[error(
        "`{first}`{foreign} and `{second}` look at different fields, and the driver {driver} has one input set \
         (one choice of fields and masks) {per}; next step: use the same fields in both, or remove one of them"
    )]
    InputSet { driver: String, per: &'static str, first: String, second: String, foreign: &'static str },
    #[error(
        "`{first}` and `{second}` have the same addresses and ethertype, and the driver {driver} does not compare \
         the rest, so it takes the second for a copy of the first; next step: keep one of them"
    )]
    SameHeader { driver: String, first: String, second: String },
    #[error(
        "`{rule}`: the driver {driver} takes `proto` together with `vlan` only where `vlan-etype` is given too, as in `vlan-etype 0x8100`"
    )]
    VlanAlone { driver: String, rule: String },
    #[error(
        "no rule stands at place {location}; `fieldtrial tool flow-rules list` shows those that are there"
    )]
    NothingThere { location: u32 },
}
