//! The connectors that the configuration names, ready to be called.

use std::sync::Arc;

use tidegate_connect::files::pdf::PdfReader;
use tidegate_connect::openapi::{self, Api};
use tidegate_connect::sql::{self, Database};
use tidegate_connect::{Connector, files};
use tidegate_core::{ControlList, DuplicateTool};
use tidegate_engine::{Engine, Policy};
use tidegate_gateway::Connectors;
use tidegate_gateway::mcp::Pins;

use crate::config::{self, Config, DatabasePlace, DocumentPlace};
use crate::failure::Failure;
use crate::terminal::note;

/// Makes every connector ready. Databases are not spoken to yet; documents of APIs are read now.
pub(crate) async fn open(config: &Config) -> Result<Connectors, Failure> {
    let mut all: Vec<Arc<dyn Connector>> = Vec::new();
    for database in &config.catalog.databases {
        all.push(Arc::new(open_database(database)?));
    }
    for directory in &config.catalog.directories {
        let settings = files_settings(directory)?;
        all.push(Arc::new(
            files::Directory::new(settings).map_err(Failure::environment)?,
        ));
    }
    for api in &config.catalog.apis {
        all.push(Arc::new(open_api(api).await?));
    }
    Connectors::new(all).map_err(Failure::usage)
}

/// Those whose words are what they were when they were first seen.
pub(crate) async fn trusted(
    connectors: Connectors,
    engine: &Engine,
    config: &Config,
) -> Result<Arc<Connectors>, Failure> {
    let pins = Pins::in_directory(&config.data_dir);
    let (trusted, held) = connectors
        .keep_trusted(engine, &pins)
        .await
        .map_err(Failure::environment)?;
    for name in held {
        note(format_args!(
            "the tool {name} is held: its description changed since it was first seen, or gives orders; look at it \
             and approve it with `tidegate pins approve`"
        ));
    }
    Ok(Arc::new(trusted))
}

/// Has somebody look at the classes of what is new or changed, also where an earlier start ended before it asked.
pub(crate) async fn open_reviews(connectors: &Connectors, engine: &Engine, config: &Config) {
    let pins = Pins::in_directory(&config.data_dir);
    connectors.open_reviews(engine, &pins).await;
}

/// The policy with the connectors' tools in it. A tool that the file declares stays as it is declared.
pub(crate) fn policy(config: &Config, connectors: &Connectors) -> Result<Policy, DuplicateTool> {
    if connectors.is_empty() {
        return Ok(config.policy.clone());
    }
    let declared = &config.policy.control;
    let offered = connectors
        .tools()
        .filter(|tool| declared.find(tool.name.as_str()).is_none());
    let tools = ControlList::new(declared.iter().cloned().chain(offered))?;
    Ok(config.policy.with_control(tools))
}

fn open_database(database: &config::Database) -> Result<Database, Failure> {
    let place = match &database.place {
        DatabasePlace::File(path) => sql::Place::File(path.clone()),
        DatabasePlace::Variable(variable) => sql::Place::Url(read_variable(variable)?),
    };
    let settings = sql::Settings {
        name: database.name.clone(),
        place,
        classes: database.classes.clone(),
        names: database.names,
        ceiling: database.ceiling,
        bounds: database.bounds,
        ca_file: database.ca_file.clone(),
    };
    Database::new(settings).map_err(Failure::usage)
}

fn files_settings(directory: &config::Directory) -> Result<files::Settings, Failure> {
    let pdf = match directory.pdf {
        true => Some(PdfReader {
            program: std::env::current_exe().map_err(Failure::environment)?,
            args: vec!["pdf-text".into()],
        }),
        false => None,
    };
    Ok(files::Settings {
        name: directory.name.clone(),
        root: directory.root.clone(),
        classes: directory.classes.clone(),
        names: directory.names,
        fields: directory.fields.clone(),
        ceiling: directory.ceiling,
        hard_links: directory.hard_links,
        bounds: directory.bounds,
        pdf,
    })
}

async fn open_api(api: &config::Api) -> Result<Api, Failure> {
    let headers = api
        .headers_env
        .iter()
        .map(|(header, variable)| Ok((header.clone(), read_variable(variable)?)));
    let settings = openapi::Settings {
        name: api.name.clone(),
        document: match &api.document {
            DocumentPlace::File(path) => openapi::Place::File(path.clone()),
            DocumentPlace::Url(url) => openapi::Place::Url(url.clone()),
        },
        base_url: api.base_url.clone(),
        headers: headers.collect::<Result<_, Failure>>()?,
        tags: api.tags.clone(),
        paths: api.paths.clone(),
        fields: api.fields.clone(),
        operations: api.operations.clone(),
        external: api.external,
        ceiling: api.ceiling,
        bounds: api.bounds,
        ca_file: api.ca_file.clone(),
    };
    Api::open(settings).await.map_err(Failure::environment)
}

fn read_variable(variable: &str) -> Result<String, Failure> {
    std::env::var(variable).map_err(|_| {
        Failure::environment(format_args!(
            "the variable {variable} that the catalog names is not set"
        ))
    })
}
