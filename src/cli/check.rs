//! `check`: every complaint at once, no host touched.

use std::collections::BTreeMap;

use super::args::CampaignArgs;
use super::failure::{Failure, Outcome};
use super::load::{Loaded, load};
use super::voice::{answer, answer_json, counted};
use crate::yaml::to_json;

pub fn check(args: &CampaignArgs) -> Outcome {
    let checked = load(&args.campaign, args.hosts.as_deref())
        .and_then(|loaded| loaded.plan(&BTreeMap::new()).map(|plan| (loaded, plan)));
    match checked {
        Ok((loaded, plan)) => {
            if args.json {
                print_json(true, Some(&loaded), None)?;
            } else {
                loaded.print_warnings();
                answer(format_args!(
                    "{}: {} in {}; nothing to complain about{}",
                    args.campaign.display(),
                    counted(plan.cells(), "cell"),
                    plan.campaign.blocks.words(),
                    if loaded.warnings.is_empty() { "" } else { " beside the warnings above" }
                ))?;
            }
            Ok(vec![])
        }
        Err(failure) => {
            if args.json {
                print_json(false, None, Some(&failure))?;
            }
            Err(failure)
        }
    }
}

fn print_json(good: bool, loaded: Option<&Loaded>, failure: Option<&Failure>) -> Result<(), Failure> {
    let complaints = match (loaded, failure) {
        (Some(loaded), _) => to_json(&loaded.warnings, &loaded.campaign_source),
        (_, Some(Failure::Complaints { complaints, source })) => to_json(complaints, source),
        _ => serde_json::json!([]),
    };
    answer_json(&serde_json::json!({ "ok": good, "complaints": complaints }))
}
