//! `steer`: which receive queue each stream is put on, by rules in the receiving card.

use super::draft::{Draft, Preset};
use super::work::{Field, filled};
use super::workload::blank;
use crate::model::setting::{STREAM_QUEUES, stream_queues};
use crate::yaml::{Complaint, Entry, Fields};

pub(super) const STEER_KEYS: [&str; 3] = ["by", "streams", "queues"];

/// Stream n goes to the n-th queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steer {
    /// Template of the number of streams; None is all that the workload has.
    pub streams: Option<String>,
    /// Templates of queues.
    pub queues: Vec<String>,
}

pub(super) fn read<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<Steer> {
    draft.note("steer", &entry.key);
    if draft.preset == Some(Preset::Command) {
        let message = "`steer` is about the streams of `packets`, and this workload has none";
        draft.out.push(Complaint::error(entry.key.span, message).help("take it out"));
    }
    let fields = Fields::open(&entry.value, entry.key.span, "`steer`", &STEER_KEYS, &mut draft.out)?;
    let by = fields.need("by", "`steer`", &mut draft.out);
    let by = by.and_then(|by| by.value.choice("`steer.by`", &[("ethertype", ())], &mut draft.out));
    let streams =
        fields.get("streams").map(|entry| blank(&entry.value, "steer.streams", Field::Streams, draft));
    let queues = fields.need("queues", "`steer`", &mut draft.out)?;
    let items = queues.value.items("`steer.queues`", &mut draft.out)?;
    if items.is_empty() {
        queues.value.expected("`steer.queues`", "at least one queue", &mut draft.out);
    }
    let one = |item| blank(item, "steer.queues", Field::Held(STREAM_QUEUES), draft);
    // Every item is read before the first failure counts, so that all are complained about.
    let queues: Vec<Option<String>> = items.iter().map(one).collect();
    by?;
    Some(Steer {
        streams: streams.map_or(Some(None), |streams| streams.map(Some))?,
        queues: queues.into_iter().collect::<Option<_>>()?,
    })
}

impl Steer {
    /// The value of the setting `stream_queues` for a workload of so many streams.
    ///
    /// # Errors
    /// A sentence: a template that cannot be filled in, or too few queues.
    pub fn value<'a>(
        &self,
        streams: u16,
        lookup: &dyn Fn(&str) -> Option<&'a str>,
    ) -> Result<String, String> {
        if let Some(template) = &self.streams {
            let declared = filled(template, lookup)?;
            if declared != streams.to_string() {
                return Err(format!(
                    "steer: the workload has {streams} streams, found `streams: {declared}`"
                ));
            }
        }
        let queues = self.queues.iter().map(|template| filled(template, lookup));
        let queues: Vec<String> = queues.collect::<Result<_, _>>()?;
        let Some(used) = queues.get(..usize::from(streams)) else {
            return Err(format!(
                "steer: {streams} streams need a queue each, found {} queues; name more, exclude these cells, or name a queue twice on purpose",
                queues.len()
            ));
        };
        let value = used.join(",");
        stream_queues(&value).map(|_| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(streams: u16, declared: Option<&str>) -> Result<String, String> {
        let lookup = |name: &str| (name == "n").then_some("2");
        let queues = ["1", "${n}", "3"].map(String::from).to_vec();
        Steer { streams: declared.map(String::from), queues }.value(streams, &lookup)
    }

    #[test]
    fn each_stream_has_the_queue_of_its_place() {
        assert_eq!(value(2, Some("${n}")), Ok("1,2".to_owned()));
        assert_eq!(value(3, None), Ok("1,2,3".to_owned()));
        assert!(value(4, None).unwrap_err().contains("4 streams need a queue each, found 3"));
        assert!(value(3, Some("${n}")).unwrap_err().contains("the workload has 3 streams"));
    }
}
