//! A directory and those who want out of it: every way that is known, and what is read when nobody does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod cleared;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cleared::cleared;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, makedev, mknodat, renameat_with};
use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate_connect::files::{Directory, Settings, pdf};
use tidegate_connect::{Bounds, Brought, Connector, Failure, PathClasses};
use tidegate_core::{Class, Ident};

const SECRET: &str = "canary outside";

struct Stand {
    place: TempDir,
    directory: Directory,
}

fn stand(prepare: impl FnOnce(&Path)) -> Stand {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("root")).unwrap();
    fs::create_dir(place.path().join("outside")).unwrap();
    fs::write(place.path().join("outside/secret.txt"), SECRET).unwrap();
    let root = place.path().join("root");
    fs::write(root.join("plain.txt"), "hello").unwrap();
    prepare(&root);
    let classes = [
        ("open/**", Class::Public),
        ("people/**", Class::Internal),
        ("hr/**", Class::Pii),
    ];
    let directory = Directory::new(Settings {
        name: Ident::parse("docs").unwrap(),
        root,
        classes: PathClasses::new(classes, Class::Confidential).unwrap(),
        names: Class::Internal,
        fields: vec![
            ("column:email".parse().unwrap(), Class::Pii),
            ("**.email".parse().unwrap(), Class::Pii),
        ],
        ceiling: None,
        hard_links: false,
        bounds: Bounds {
            bytes: 64 << 10,
            rows: 50,
            ..Bounds::STANDARD
        },
        pdf: None,
    });
    Stand {
        place,
        directory: directory.unwrap(),
    }
}

impl Stand {
    async fn call(&self, tool: &str, arguments: Value) -> Result<Brought, Failure> {
        self.directory.call(tool, cleared(arguments)).await
    }

    async fn read(&self, path: &str) -> Result<Brought, Failure> {
        self.call("read", json!({"path": path})).await
    }
}

#[tokio::test]
async fn nothing_leads_out_and_nothing_but_a_plain_file_is_read() {
    let stand = stand(|root| {
        let outside = root.parent().unwrap().join("outside");
        symlink(outside.join("secret.txt"), root.join("link.txt")).unwrap();
        symlink("plain.txt", root.join("inner-link.txt")).unwrap();
        symlink(&outside, root.join("linked")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        fs::hard_link(outside.join("secret.txt"), root.join("hard.txt")).unwrap();
        mknodat(CWD, root.join("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _listener = UnixListener::bind(root.join("socket")).unwrap();
        // Only root may make a device; elsewhere there is none, and the answer is that it is missing.
        let _ = mknodat(
            CWD,
            root.join("zero"),
            FileType::CharacterDevice,
            Mode::RUSR,
            makedev(1, 5),
        );
        fs::write(root.join("binary"), [0xff, 0xfe, 0x00]).unwrap();
        fs::create_dir(root.join("directory")).unwrap();
    });
    let absolute = stand.place.path().join("outside/secret.txt");
    for path in [
        "../outside/secret.txt",
        "directory/../../outside/secret.txt",
        "directory/../plain.txt",
        absolute.to_str().unwrap(),
        "link.txt",
        "inner-link.txt",
        "linked/secret.txt",
        "magic/etc/passwd",
        "hard.txt",
        "fifo",
        "socket",
        "zero",
        "binary",
        "directory",
        "missing.txt",
        "",
    ] {
        let failure = stand.read(path).await.unwrap_err();
        assert!(!failure.to_string().contains("canary"), "{path}: {failure}");
    }
    for path in ["linked", "../outside", "magic", "plain.txt"] {
        assert!(stand.call("list", json!({"path": path})).await.is_err(), "{path}");
    }
    assert_eq!(stand.read("plain.txt").await.unwrap().content["text"], "hello");
    let found = stand.call("search", json!({"text": "canary"})).await.unwrap();
    assert_eq!(found.content["hits"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_swapped_in_while_reading_is_never_followed() {
    let stand = stand(|root| {
        fs::create_dir(root.join("swap")).unwrap();
        fs::write(root.join("swap/secret.txt"), "inside").unwrap();
        symlink(root.parent().unwrap().join("outside"), root.join("other")).unwrap();
        fs::write(root.join("file"), "inside").unwrap();
        symlink("../outside/secret.txt", root.join("file-other")).unwrap();
    });
    let root = stand.place.path().join("root");
    let done = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&done);
    let swapping = std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            for (one, other) in [("swap", "other"), ("file", "file-other")] {
                renameat_with(CWD, root.join(one), CWD, root.join(other), RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    let (mut read, mut refused) = (0, 0);
    for turn in 0..2_000 {
        let path = if turn % 2 == 0 { "swap/secret.txt" } else { "file" };
        match stand.read(path).await {
            Ok(brought) => {
                assert_eq!(brought.content["text"], "inside");
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    done.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(read + refused, 2_000);
}

#[tokio::test]
async fn a_file_of_five_gigabytes_is_cut_and_says_so() {
    let stand = stand(|root| {
        let file = File::create(root.join("huge.txt")).unwrap();
        file.set_len(5 << 30).unwrap();
    });
    let brought = stand.read("huge.txt").await.unwrap();
    let content = &brought.content;
    assert_eq!(content["truncated"], true);
    assert_eq!(content["text"].as_str().unwrap().len(), 64 << 10);
    assert_eq!(
        content["note"],
        "only bytes 0 to 65536 of 5368709120 are here; read on with offset 65536"
    );
    let end = stand
        .call("read", json!({"path": "huge.txt", "offset": (5u64 << 30) - 10}))
        .await
        .unwrap();
    assert_eq!(end.content["text"].as_str().unwrap().len(), 10);
    assert_eq!(end.content["truncated"], false);
}

#[tokio::test]
async fn files_have_the_class_of_their_path_and_parts_their_own() {
    let stand = stand(|root| {
        for directory in ["open", "people", "hr"] {
            fs::create_dir(root.join(directory)).unwrap();
        }
        let table = "name,email\nAda,ada@example.org\n";
        fs::write(root.join("open/table.csv"), table).unwrap();
        fs::write(root.join("people/table.csv"), table).unwrap();
        fs::write(
            root.join("people/one.json"),
            r#"{"guest": {"name": "Ada", "email": "a@example.org"}}"#,
        )
        .unwrap();
        fs::write(
            root.join("people/broken.json"),
            r#"{"guest": {"email": "a@example.org""#,
        )
        .unwrap();
        fs::write(root.join("people/notes.txt"), "nothing special").unwrap();
        fs::write(root.join("hr/notes.txt"), "pay").unwrap();
    });
    for (path, class, part) in [
        ("open/table.csv", Class::Public, Some(Class::Pii)),
        ("people/table.csv", Class::Internal, Some(Class::Pii)),
        ("people/one.json", Class::Internal, Some(Class::Pii)),
        // Where parts cannot be told apart, the highest of them counts for all.
        ("people/broken.json", Class::Pii, None),
        ("people/notes.txt", Class::Pii, None),
        ("hr/notes.txt", Class::Pii, None),
        ("plain.txt", Class::Pii, None),
    ] {
        let brought = stand.read(path).await.unwrap();
        assert_eq!(brought.class, class, "{path}");
        assert_eq!(brought.fields.column("Email"), part, "{path}");
        assert_eq!(brought.dataset.as_str(), "file:docs");
        let document = brought.fields.root().descend("document").descend("guest");
        assert_eq!(document.descend("email").class(), part, "{path}");
        assert_eq!(document.descend("name").class(), None, "{path}");
    }
    let table = stand.read("people/table.csv").await.unwrap().content;
    assert_eq!(table["columns"], json!(["name", "email"]));
    assert_eq!(table["rows"], json!([["Ada", "ada@example.org"]]));

    let list = stand.call("list", json!({})).await.unwrap();
    assert_eq!(list.class, Class::Internal);
    let names: Vec<_> = list.content["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["hr", "open", "people", "plain.txt"]);

    let found = stand.call("search", json!({"text": "NOTHING"})).await.unwrap();
    assert_eq!(found.content["hits"][0]["path"], "people/notes.txt");
    assert_eq!(found.class, Class::Confidential);
    assert_eq!(
        found.content["note"],
        "5 files that may not be searched were left out; read them one by one"
    );
}

#[tokio::test]
async fn a_table_has_parts_only_where_a_declared_column_is_found() {
    let stand = stand(|root| {
        fs::create_dir(root.join("people")).unwrap();
        for (name, text) in [
            ("comma.csv", "name,email\nAda,a@x\n"),
            ("marked.csv", "\u{feff}email,name\na@x,Ada\n"),
            ("semicolon.csv", "name;email\nAda;a@x\n"),
            ("tab.csv", "name\temail\nAda\ta@x\n"),
            ("bar.csv", "name|email\nAda|a@x\n"),
            ("semicolon.tsv", "name;email\nAda;a@x\n"),
            ("unnamed.csv", "Ada,a@x\nGrace,b@x\n"),
            ("other.csv", "name,mail\nAda,a@x\n"),
            ("joined.csv", "a,b,name;email\n1,2,Ada;a@x\n"),
            ("mixed.csv", "email,name;place,email;age\na,b;c,d;e\n"),
        ] {
            fs::write(root.join("people").join(name), text).unwrap();
        }
    });
    for (name, columns, class) in [
        ("comma.csv", json!(["name", "email"]), Class::Internal),
        ("marked.csv", json!(["email", "name"]), Class::Internal),
        ("semicolon.csv", json!(["name", "email"]), Class::Internal),
        ("tab.csv", json!(["name", "email"]), Class::Internal),
        ("bar.csv", json!(["name", "email"]), Class::Internal),
        ("semicolon.tsv", json!(["name", "email"]), Class::Internal),
        ("unnamed.csv", json!(["Ada", "a@x"]), Class::Pii),
        ("other.csv", json!(["name", "mail"]), Class::Pii),
        ("joined.csv", json!(["a", "b", "name;email"]), Class::Pii),
        (
            "mixed.csv",
            json!(["email", "name;place", "email;age"]),
            Class::Pii,
        ),
    ] {
        let brought = stand.read(&format!("people/{name}")).await.unwrap();
        assert_eq!(brought.content["columns"], columns, "{name}");
        assert_eq!(brought.class, class, "{name}");
        // What stands in the first line counts like the rest: nobody knows that it holds names.
        let first = brought.fields.root().descend("columns").class();
        assert_eq!(first, None, "{name}");
    }
}

#[test]
fn the_text_of_a_pdf_is_read_and_what_is_none_is_refused() {
    use lopdf::content::{Content, Operation};
    use lopdf::{Document, Object, Stream, dictionary};
    let mut document = Document::with_version("1.5");
    let pages = document.new_object_id();
    let font =
        document.add_object(dictionary! {"Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier"});
    let resources = document.add_object(dictionary! {"Font" => dictionary! {"F1" => font}});
    let operations = vec![
        Operation::new("BT", vec![]),
        Operation::new("Tf", vec!["F1".into(), 12.into()]),
        Operation::new("Tj", vec![Object::string_literal("rooms are full")]),
        Operation::new("ET", vec![]),
    ];
    let content = Content { operations }.encode().unwrap();
    let stream = document.add_object(Stream::new(dictionary! {}, content));
    let page = document.add_object(
        dictionary! {"Type" => "Page", "Parent" => pages, "Contents" => stream, "Resources" => resources},
    );
    let tree = dictionary! {"Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1};
    document.objects.insert(pages, Object::Dictionary(tree));
    let catalog = document.add_object(dictionary! {"Type" => "Catalog", "Pages" => pages});
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    assert!(pdf::text_of(&bytes).unwrap().contains("rooms are full"));
    for broken in [b"".as_slice(), b"%PDF-1.5", bytes.get(..bytes.len() / 3).unwrap()] {
        assert_eq!(pdf::text_of(broken), Err(pdf::NoText));
    }
}
