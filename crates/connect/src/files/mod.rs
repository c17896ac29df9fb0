//! Directories: files are listed, read and searched below a root, and each has the class of its path.
//!
//! The kernel keeps a path inside: every open is one call that resolves beneath the root's descriptor and follows no link,
//! so nothing can be swapped in between a check and a use. What is opened is then looked at through its descriptor, and
//! only plain files are read.

mod content;
mod inside;
pub mod pdf;
mod root;
mod search;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tidegate_core::{Class, Cleared, FieldClasses, FieldPattern, Ident, MAX_RAW, Name};
use tokio::sync::Semaphore;

use crate::{Bounds, Brought, Connector, Failure, Offer, PathClasses};
use inside::Inside;
use pdf::PdfReader;
use root::Root;

/// What is configured of a directory.
pub struct Settings {
    /// What it is called.
    pub name: Ident,
    /// Where it is.
    pub root: PathBuf,
    /// The classes of its files by path.
    pub classes: PathClasses,
    /// The class of the names of its files.
    pub names: Class,
    /// The classes of parts of its tables and documents.
    pub fields: Vec<(FieldPattern, Class)>,
    /// The highest class that a call may hold; nothing where all may.
    pub ceiling: Option<Class>,
    /// Whether files with several names are read; another of them may lie anywhere.
    pub hard_links: bool,
    /// How much one call may cost.
    pub bounds: Bounds,
    /// What reads PDF files; nothing where they are not read.
    pub pdf: Option<PdfReader>,
}

/// A directory that cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the root of \"{name}\" cannot be opened as a directory: {why}")]
pub struct OpenError {
    name: Ident,
    why: std::io::ErrorKind,
}

/// A directory.
pub struct Directory {
    name: Ident,
    shared: Arc<Shared>,
    offers: Vec<Offer>,
    places: Semaphore,
    pdf: Option<PdfReader>,
}

/// What a thread needs that reads.
struct Shared {
    root: Root,
    dataset: Name,
    classes: PathClasses,
    names: Class,
    fields: Vec<(FieldPattern, Class)>,
    bounds: Bounds,
}

impl Directory {
    /// A directory as it is configured. Its root is opened now: what is put in its place later is another directory.
    ///
    /// # Errors
    /// When the root cannot be opened.
    pub fn new(settings: Settings) -> Result<Self, OpenError> {
        let failed = |why| OpenError {
            name: settings.name.clone(),
            why,
        };
        let root = Root::open(&settings.root, settings.hard_links).map_err(|error| failed(error.kind()))?;
        let dataset = Name::parse(&format!("file:{}", settings.name))
            .map_err(|_| failed(std::io::ErrorKind::InvalidFilename))?;
        Ok(Self {
            offers: offers(&settings),
            places: Semaphore::new(settings.bounds.at_once),
            name: settings.name,
            pdf: settings.pdf,
            shared: Arc::new(Shared {
                root,
                dataset,
                classes: settings.classes,
                names: settings.names,
                fields: settings.fields.into_iter().map(in_document).collect(),
                bounds: settings.bounds,
            }),
        })
    }

    async fn read(&self, path: Inside, offset: u64) -> Result<Brought, Failure> {
        let shared = Arc::clone(&self.shared);
        if content::Sort::of(path.as_str()) != content::Sort::Pdf {
            return on_thread(move || shared.read(&path, offset)).await;
        }
        let reader = self
            .pdf
            .as_ref()
            .ok_or_else(|| Failure::Refused("PDF files are not read here".to_owned()))?;
        let (inner, place) = (Arc::clone(&shared), path.clone());
        let file = on_thread(move || inner.root.file(&place)).await?;
        let text = reader.text_of(file, shared.bounds).await?;
        Ok(shared.brought(&path, content::of_pdf(path.as_str(), text, shared.bounds.bytes)))
    }
}

#[async_trait]
impl Connector for Directory {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn offers(&self) -> &[Offer] {
        &self.offers
    }

    async fn call(&self, tool: &str, arguments: Cleared<Value>) -> Result<Brought, Failure> {
        let arguments = arguments.into_inner();
        let work = async {
            let busy = |_| Failure::Unavailable("the gateway is stopping".to_owned());
            let _place = self.places.acquire().await.map_err(busy)?;
            let shared = Arc::clone(&self.shared);
            match tool {
                "list" => {
                    let path = Inside::directory(text(&arguments, "path")?.unwrap_or_default())?;
                    on_thread(move || shared.list(&path)).await
                }
                "read" => {
                    let path = text(&arguments, "path")?.ok_or_else(|| wrong("path is needed, as a text"))?;
                    self.read(Inside::file(path)?, offset(&arguments)?).await
                }
                "search" => {
                    let wanted =
                        text(&arguments, "text")?.ok_or_else(|| wrong("text is needed, as a text"))?;
                    let wanted = search::Wanted::new(wanted)?;
                    let path = Inside::directory(text(&arguments, "path")?.unwrap_or_default())?;
                    on_thread(move || shared.search(&wanted, &path)).await
                }
                _ => Err(Failure::Missing("there is no such tool".to_owned())),
            }
        };
        let limit = self.shared.bounds.timeout;
        tokio::time::timeout(limit, work)
            .await
            .unwrap_or(Err(Failure::TimedOut(limit.as_millis())))
    }
}

impl Shared {
    fn list(&self, path: &Inside) -> Result<Brought, Failure> {
        let (entries, is_cut) = self.root.entries(path, self.bounds.rows)?;
        let shown = entries.iter().map(|entry| {
            let below = path.join(&entry.name);
            json!({"name": entry.name, "kind": entry.kind, "size": entry.size, "class": self.classes.of(&below).as_str()})
        });
        let mut content = json!({
            "path": path.as_str(),
            "entries": shown.collect::<Vec<_>>(),
            "truncated": is_cut,
        });
        if let (true, Some(content)) = (is_cut, content.as_object_mut()) {
            let note = format!("only {} entries are here; there are more", self.bounds.rows);
            content.insert("note".to_owned(), note.into());
        }
        Ok(Brought {
            content,
            class: self.names,
            fields: FieldClasses::NONE,
            dataset: self.dataset.clone(),
        })
    }

    fn read(&self, path: &Inside, offset: u64) -> Result<Brought, Failure> {
        let file = self.root.file(path)?;
        let content = content::of_file(path.as_str(), file, offset, self.bounds.bytes)?;
        Ok(self.brought(path, content))
    }

    /// What was read, with its class. Parts are told apart where the content has parts; otherwise the highest counts.
    fn brought(&self, path: &Inside, read: content::Read) -> Brought {
        let own = self.classes.of(path.as_str());
        let said = ["path", "note", "truncated"].map(|part| (part, Class::Public));
        let count = [("row_count", own.min(MAX_RAW))];
        let said = said.into_iter().chain(count);
        let said =
            said.filter_map(|(part, class)| part.parse::<FieldPattern>().ok().map(|part| (part, class)));
        let (class, parts) = if self.tells_apart(&read.parts) {
            (own, self.fields.as_slice())
        } else {
            let declared = self.fields.iter().map(|(_, class)| *class);
            (declared.fold(own, Class::join), [].as_slice())
        };
        Brought {
            content: read.content,
            class,
            fields: FieldClasses::new(parts.iter().cloned().chain(said)),
            dataset: self.dataset.clone(),
        }
    }

    /// Whether what is declared of parts says which of these they are. Where columns are declared and a table has none of them,
    /// its first line may hold no names, or other names for the same; and a name that holds a declared one between other separators
    /// is several that were not told apart.
    fn tells_apart(&self, parts: &content::Parts) -> bool {
        let columns = match parts {
            content::Parts::Nothing => return false,
            content::Parts::Members => return true,
            content::Parts::Columns(columns) => columns,
        };
        let declared = FieldClasses::new(self.fields.iter().cloned());
        let is_declared = |name: &str| declared.column(name).is_some();
        let is_joined = |name: &String| {
            let parts = name.split(content::SEPARATORS);
            !is_declared(name) && parts.into_iter().any(|part| is_declared(part.trim_matches('"')))
        };
        let has_declared = columns.iter().any(|name| is_declared(name));
        !declared.has_columns() || (has_declared && !columns.iter().any(is_joined))
    }
}

/// A part of a document, where the document lies in what is brought.
fn in_document((field, class): (FieldPattern, Class)) -> (FieldPattern, Class) {
    let text = field.to_string();
    let is_named = text.starts_with("column:") || text.starts_with("header:");
    let below = format!("document.{text}").parse().ok().filter(|_| !is_named);
    (below.unwrap_or(field), class)
}

async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let worked = tokio::task::spawn_blocking(work).await;
    worked.map_err(|_| Failure::Unavailable("reading was interrupted".to_owned()))?
}

fn wrong(why: &str) -> Failure {
    Failure::Arguments(why.to_owned())
}

fn text<'a>(arguments: &'a Value, name: &str) -> Result<Option<&'a str>, Failure> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong("path and text are texts")),
    }
}

fn offset(arguments: &Value) -> Result<u64, Failure> {
    match arguments.get("offset") {
        None | Some(Value::Null) => Ok(0),
        Some(offset) => offset
            .as_u64()
            .ok_or_else(|| wrong("offset is a number of bytes, from 0 on")),
    }
}

fn offers(settings: &Settings) -> Vec<Offer> {
    let name = &settings.name;
    let Bounds { rows, bytes, .. } = settings.bounds;
    let offer = |tool: &str, title: String, description: String, input: Value, returns: Class| Offer {
        tool: tool.to_owned(),
        title,
        description,
        input,
        writes: false,
        external: false,
        returns,
        ceiling: settings.ceiling,
    };
    let declared = settings.fields.iter().map(|(_, class)| *class);
    let most = declared.fold(settings.classes.most(), Class::join);
    let path = |what: &str| json!({"type": "string", "description": what});
    let below = "a directory below the root, such as \"reports/2024\"; left out: the root";
    vec![
        offer(
            "list",
            format!("List {name}"),
            format!(
                "Lists a directory of the files \"{name}\": names, sizes, and the class that a session takes when it \
                 reads each. At most {rows} entries."
            ),
            json!({"type": "object", "properties": {"path": path(below)}, "additionalProperties": false}),
            settings.names,
        ),
        offer(
            "read",
            format!("Read from {name}"),
            format!(
                "Reads a file of \"{name}\": text, CSV (as columns and rows), JSON, or the text of a PDF. At most {bytes} \
                 bytes; a longer file is cut and says so, and offset reads on. The session takes the class of the file."
            ),
            json!({
                "type": "object",
                "properties": {
                    "path": path("the file below the root, such as \"reports/2024/q1.csv\"; no .. and no links"),
                    "offset": {"type": "integer", "minimum": 0, "description": "the byte to begin at; for texts only"},
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
            most,
        ),
        offer(
            "search",
            format!("Search {name}"),
            format!(
                "Finds the lines of text files of \"{name}\" that hold a text, whatever its case. Files above confidential \
                 are left out; the session takes the highest class of the files that were looked into."
            ),
            json!({
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "what to look for, 2 to 200 characters"},
                    "path": path(below),
                },
                "required": ["text"],
                "additionalProperties": false,
            }),
            settings.classes.most().min(MAX_RAW),
        ),
    ]
}
