//! The files that a configuration names and a start reads.

use std::path::{Path, PathBuf};

use crate::config::{Citation, Config, DocumentPlace, Model, Reach, Record, Source, Store};

/// Every file by which a start is told what to believe, to trust or to load. What lies in a source that the gateway reads for
/// others is data, and no part of it.
pub(super) fn named_files(config: &Config) -> impl Iterator<Item = &Path> {
    let model = config.detect.model.iter().flat_map(of_model);
    let lists = config.citations.iter().filter_map(of_citation);
    let documents = config.catalog.apis.iter().filter_map(|api| match &api.document {
        DocumentPlace::File(file) => Some(file),
        DocumentPlace::Url(_) => None,
    });
    model
        .chain(lists)
        .chain(documents)
        .chain(authorities(config))
        .map(PathBuf::as_path)
}

/// Whom connections believe.
fn authorities(config: &Config) -> impl Iterator<Item = &PathBuf> {
    let store = match &config.store {
        Store::Shared { remote, .. } => remote.ca_file.as_ref(),
        Store::Embedded => None,
    };
    let servers = config.servers.iter().filter_map(|server| match &server.reach {
        Reach::Url { ca_file, .. } => ca_file.as_ref(),
        Reach::Command { .. } => None,
    });
    let databases = config.catalog.databases.iter();
    let apis = config.catalog.apis.iter();
    let oidc = config.console.as_ref().and_then(|console| console.oidc.as_ref());
    servers
        .chain(databases.filter_map(|database| database.ca_file.as_ref()))
        .chain(apis.filter_map(|api| api.ca_file.as_ref()))
        .chain(store)
        .chain(oidc.and_then(|oidc| oidc.settings.ca_file.as_ref()))
        .chain(&config.egress.ca_file)
}

fn of_model(model: &Model) -> Vec<&PathBuf> {
    match &model.source {
        Source::Onnx(files) => vec![&files.model, &files.tokenizer, &files.library],
        Source::Endpoint { .. } => Vec::new(),
    }
}

fn of_citation(citation: &Citation) -> Option<&PathBuf> {
    match &citation.record {
        Record::List(file) => Some(file),
        Record::Url { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Overrides, check};

    #[test]
    fn every_file_that_a_configuration_names_is_known() {
        let text = r#"
            [detect.model]
            onnx = { model = "m.onnx", tokenizer = "t.json", library = "l.so" }
            [citations.case]
            pattern = "C-[0-9]+"
            list = "cases.txt"
            [store]
            url = "postgres://u@db.example/x"
            ca_file = "store.pem"
            [servers.a]
            url = "https://a.example/mcp"
            ca_file = "/conf/server.pem"
            [catalog.sql.b]
            url_env = "B"
            ca_file = "sql.pem"
            [catalog.openapi.c]
            document = "api.json"
            ca_file = "api.pem"
            [egress]
            ca_file = "egress.pem"
            [console.oidc]
            public_url = "https://gate.example"
            issuer = "https://id.example"
            client_id = "tidegate"
            ca_file = "oidc.pem"
            [console.oidc.roles]
            staff = "auditor"
        "#;
        let overrides = Overrides {
            data_dir: Some("/state".into()),
            ..Overrides::default()
        };
        let checked = check(text, Path::new("/conf"), &overrides);
        let config = checked.config.unwrap_or_else(|| panic!("{:?}", checked.problems));
        let mut found: Vec<_> = named_files(&config)
            .map(|file| file.strip_prefix("/conf").unwrap().to_str().unwrap())
            .collect();
        found.sort_unstable();
        let named = text.split('"').filter(|word| {
            let ending = Path::new(word).extension().and_then(|ending| ending.to_str());
            matches!(ending, Some("onnx" | "json" | "so" | "txt" | "pem"))
        });
        let mut named: Vec<_> = named.map(|word| word.trim_start_matches("/conf/")).collect();
        named.sort_unstable();
        assert_eq!(found, named);
        assert_eq!(found.len(), 11);
    }
}
