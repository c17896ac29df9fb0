//! The rules for contexts that the configuration names, as the engine applies them.

use std::path::Path;
use std::sync::Arc;

use tidegate_engine::{CitationRule, Citations, ContextRules, SourceOfRecord, Sources};
use tidegate_gateway::records::{HttpRecord, ListRecord};

use crate::config::{Config, Record};
use crate::failure::Failure;

/// The largest list of citations.
const MAX_LIST_BYTES: u64 = 256 << 20;

/// Makes the rules ready. Lists are read now; a record behind an address is not asked before there is a citation.
pub(crate) fn rules(config: &Config) -> Result<ContextRules, Failure> {
    let citations = config.citations.iter().map(|citation| {
        let record: Arc<dyn SourceOfRecord> = match &citation.record {
            Record::List(path) => Arc::new(ListRecord::of(&read_list(path)?)),
            Record::Url {
                address,
                timeout,
                private,
            } => Arc::new(HttpRecord::new(address, *timeout, *private)),
        };
        Ok(CitationRule {
            kind: citation.kind.clone(),
            pattern: citation.pattern.clone(),
            ceiling: citation.ceiling,
            record,
        })
    });
    Ok(ContextRules {
        sources: Sources::new(config.sources.iter().cloned()),
        citations: Citations::new(citations.collect::<Result<_, Failure>>()?),
    })
}

fn read_list(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let size = std::fs::metadata(path).map(|meta| meta.len());
    if size.is_ok_and(|size| size > MAX_LIST_BYTES) {
        return Err(Failure::environment(format_args!(
            "the list {shown} is too large"
        )));
    }
    std::fs::read_to_string(path)
        .map_err(|error| Failure::environment(format_args!("cannot read the list {shown}: {error}")))
}
