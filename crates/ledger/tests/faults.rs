//! Whatever the disk does, what was acknowledged is there, what was refused is not, and nobody has to repair anything.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use house::{at, decision, session};
use tidegate_ledger::disk::{Disk, DiskFile, RealDisk};
use tidegate_ledger::{
    AppendError, Filter, Ledger, OpenError, Options, Reader, Receipt, Trust, VerifyError, What, verify,
};

/// What happens at the chosen operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It fails; a write or a sync may have done its work all the same.
    Once { done: Part },
    /// It fails and so does everything after it, as if the machine had stopped.
    FromThenOn { done: Part },
}

/// How much of a failing write reaches the file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Nothing,
    Half,
    Everything,
}

#[derive(Default)]
struct Plan {
    operations: AtomicU64,
    fault: Mutex<Option<(u64, Fault)>>,
}

impl Plan {
    /// Whether this operation fails, and how much of it happens.
    fn step(&self) -> Option<Part> {
        let now = self.operations.fetch_add(1, Ordering::SeqCst);
        match *self.fault.lock().unwrap() {
            Some((when, Fault::Once { done })) if now == when => Some(done),
            Some((when, Fault::FromThenOn { done })) if now == when => Some(done),
            Some((when, Fault::FromThenOn { .. })) if now > when => Some(Part::Nothing),
            _ => None,
        }
    }

    fn run(&self, operation: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match self.step() {
            None => operation(),
            Some(Part::Everything) => operation().and(Err(io::ErrorKind::StorageFull.into())),
            Some(Part::Nothing | Part::Half) => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

#[derive(Clone, Default)]
struct FaultyDisk(Arc<Plan>);

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut file = None;
        self.0
            .run(|| RealDisk.create(path).map(|created| file = Some(created)))?;
        Ok(Box::new(FaultyFile(file.unwrap(), self.0.clone())))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.run(|| RealDisk.rename(from, to))
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.run(|| RealDisk.sync_dir(dir))
    }
    fn shorten_durably(&self, path: &Path, len: u64) -> io::Result<()> {
        self.0.run(|| RealDisk.shorten_durably(path, len))
    }
}

struct FaultyFile(Box<dyn DiskFile>, Arc<Plan>);

impl DiskFile for FaultyFile {
    fn reserve(&mut self, len: u64) -> io::Result<bool> {
        match self.1.step() {
            None => self.0.reserve(len),
            Some(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }
    fn write_at(&mut self, bytes: &[u8], position: u64) -> io::Result<usize> {
        // A write that stops halfway first reports what it did; the rest is the next operation.
        match self.1.step() {
            None => self.0.write_at(bytes, position),
            Some(Part::Nothing) => Err(io::ErrorKind::StorageFull.into()),
            Some(Part::Half) => self.0.write_at(&bytes[..bytes.len().div_ceil(2)], position),
            Some(Part::Everything) => self
                .0
                .write_at(bytes, position)
                .and(Err(io::ErrorKind::StorageFull.into())),
        }
    }
    fn sync_data(&mut self) -> io::Result<()> {
        self.1.run(|| self.0.sync_data())
    }
}

struct House {
    _house: tempfile::TempDir,
    dir: PathBuf,
}

fn house() -> House {
    let house = self::house::room();
    let dir = house.path().join("ledger");
    House { _house: house, dir }
}

fn options(dir: &Path, disk: impl Disk) -> Options {
    let mut options = Options::new(dir);
    options.checkpoint_records = 3;
    options.checkpoint_interval = std::time::Duration::from_secs(3600);
    options.segment_bytes = 2500;
    options.disk = Arc::new(disk);
    options
}

/// Each record names a tool of its own, so that it can be told apart.
fn append(ledger: &Ledger, n: u64) -> Result<Receipt, AppendError> {
    ledger.append_blocking(
        session(&format!("s{}", n % 3)),
        &decision(&format!("tool{n}")),
        at(n),
    )
}

/// The tools and hashes on record, in order.
fn on_record(dir: &Path) -> Vec<(String, [u8; 32])> {
    let page = Reader::open(dir)
        .unwrap()
        .page(&Filter::default(), None, 1000)
        .unwrap();
    assert!(page.next.is_none());
    let named = page
        .records
        .iter()
        .map(|record| (record.event().unwrap().tool().unwrap().to_string(), record.hash));
    named.collect()
}

const RECORDS: u64 = 14;

type Acknowledged = Vec<(u64, Receipt)>;

/// Writes through a disk with one fault. Gives what was acknowledged and what was refused, or nothing if the fault
/// struck before the ledger was open.
fn write_through(dir: &Path, disk: &FaultyDisk) -> Option<(Acknowledged, Vec<u64>)> {
    let ledger = Ledger::open(dir, options(dir, disk.clone())).ok()?;
    let (mut acknowledged, mut refused) = (Vec::new(), Vec::new());
    for n in 0..RECORDS {
        match append(&ledger, n) {
            Ok(receipt) => acknowledged.push((n, receipt)),
            Err(AppendError::Unavailable(_)) => refused.push(n),
            Err(other) => panic!("{other}"),
        }
    }
    // A fault in the closing shows in the file, which is what is looked at.
    let _ = ledger.close();
    Some((acknowledged, refused))
}

fn check_record(dir: &Path, acknowledged: &[(u64, Receipt)], refused: &[u64], case: &str) {
    let found = on_record(dir);
    for (n, receipt) in acknowledged {
        let (tool, hash) = &found[receipt.index as usize];
        assert_eq!((tool, hash), (&format!("tool{n}"), &receipt.hash), "{case}");
    }
    for n in refused {
        let tool = format!("tool{n}");
        assert!(
            found.iter().all(|(found, _)| *found != tool),
            "{case}: {tool} was refused"
        );
    }
}

fn operations_without_fault() -> u64 {
    let (house, disk) = (house(), FaultyDisk::default());
    write_through(&house.dir, &disk).unwrap();
    assert!(
        verify(&house.dir, Trust::DIRECTORY).unwrap().segments >= 3,
        "the run should begin several segments"
    );
    disk.0.operations.load(Ordering::SeqCst)
}

#[test]
fn any_operation_may_fail_once() {
    for when in 0..operations_without_fault() {
        for done in [Part::Nothing, Part::Half, Part::Everything] {
            let case = format!("operation {when} fails, {done:?} done");
            let (house, disk) = (house(), FaultyDisk::default());
            *disk.0.fault.lock().unwrap() = Some((when, Fault::Once { done }));
            let Some((acknowledged, refused)) = write_through(&house.dir, &disk) else {
                let (acknowledged, _) = write_through(&house.dir, &disk).expect(&case);
                assert_eq!(acknowledged.len() as u64, RECORDS, "{case}");
                continue;
            };
            assert!(refused.len() <= 1, "{case}: one fault refused {refused:?}");
            // If the fault struck the closing, the next opening puts it right.
            drop(Ledger::open(&house.dir, options(&house.dir, RealDisk)).expect(&case));
            let report = verify(&house.dir, Trust::DIRECTORY).expect(&case);
            assert!(
                report.closed && report.records == acknowledged.len() as u64,
                "{case}: {report:?}"
            );
            check_record(&house.dir, &acknowledged, &refused, &case);
        }
    }
}

#[test]
fn the_machine_may_stop_at_any_operation() {
    for when in 0..operations_without_fault() {
        for done in [Part::Nothing, Part::Half, Part::Everything] {
            let case = format!("stopped at operation {when}, {done:?} done");
            let (house, disk) = (house(), FaultyDisk::default());
            *disk.0.fault.lock().unwrap() = Some((when, Fault::FromThenOn { done }));
            let (acknowledged, _) = write_through(&house.dir, &disk).unwrap_or_default();
            if house.dir.join("public.key").exists() {
                verify(&house.dir, Trust::DIRECTORY).expect(&case);
            }
            // What was never acknowledged may or may not be there; the next opening goes on behind it.
            let ledger = Ledger::open(&house.dir, options(&house.dir, RealDisk)).expect(&case);
            append(&ledger, 100).expect(&case);
            ledger.close().expect(&case);
            let report = verify(&house.dir, Trust::DIRECTORY).expect(&case);
            assert!(
                report.closed && report.records > acknowledged.len() as u64,
                "{case}: {report:?}"
            );
            check_record(&house.dir, &acknowledged, &[], &case);
        }
    }
}

/// A ledger as a crash leaves it: never closed, with room reserved behind the last frame. Gives its directory, the
/// bytes of its last segment, where its last frame lies, and how many records precede that.
fn crashed() -> (House, PathBuf, Vec<u8>, std::ops::Range<usize>, u64) {
    let house = house();
    let live = house.dir.with_file_name("live");
    let mut live_options = options(&live, RealDisk);
    live_options.signing_key = house.dir.with_extension("key");
    live_options.segment_bytes = 8192;
    let ledger = Ledger::open(&live, live_options).unwrap();
    let segment = live.join("0000000001.tgl");
    let used = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for n in 0..4 {
        append(&ledger, n).unwrap();
    }
    let start = used(&fs::read(&segment).unwrap());
    append(&ledger, 4).unwrap();
    let bytes = fs::read(&segment).unwrap();
    let last = start..used(&bytes);
    assert!(last.len() > 200 && bytes.len() == 8192);
    fs::create_dir(&house.dir).unwrap();
    for file in ["public.key", "head", "0000000001.tgl"] {
        fs::copy(live.join(file), house.dir.join(file)).unwrap();
    }
    let segment = house.dir.join("0000000001.tgl");
    (house, segment, bytes, last, 4)
}

#[test]
fn the_last_frame_may_be_torn_at_any_byte() {
    let (house, segment, bytes, last, before) = crashed();
    let first_segment_only = |dir: &Path| {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "tgl") && path != segment {
                fs::remove_file(path).unwrap();
            }
        }
    };
    let head = fs::read(house.dir.join("head")).unwrap();
    for tear in last.clone() {
        let cut = bytes[..tear].to_vec();
        let mut zeroes = bytes.clone();
        zeroes[tear..].fill(0);
        let mut hole = bytes.clone();
        hole[last.start..=tear].fill(0);
        let mut garbage = bytes.clone();
        garbage[tear..last.end]
            .iter_mut()
            .for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
        for (kind, torn) in [
            ("cut", cut),
            ("zeroes", zeroes),
            ("hole", hole),
            ("garbage", garbage),
        ] {
            let case = format!("{kind} at {tear}");
            first_segment_only(&house.dir);
            fs::write(&segment, &torn).unwrap();
            fs::write(house.dir.join("head"), &head).unwrap();
            let report = verify(&house.dir, Trust::DIRECTORY).expect(&case);
            assert!(!report.closed && report.records == before, "{case}: {report:?}");
            let mut options = options(&house.dir, RealDisk);
            options.signing_key = house.dir.with_extension("key");
            let ledger = Ledger::open(&house.dir, options).expect(&case);
            assert_eq!(append(&ledger, 9).expect(&case).index, before);
            ledger.close().unwrap();
            let report = verify(&house.dir, Trust::DIRECTORY).expect(&case);
            assert!(
                report.closed && report.records == before + 1 && report.segments == 2,
                "{case}"
            );
        }
    }
}

#[test]
fn damage_before_the_last_frame_is_no_torn_tail() {
    let (house, segment, bytes, last, _) = crashed();
    for position in 0..last.start {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x10;
        fs::write(&segment, damaged).unwrap();
        let verdict = verify(&house.dir, Trust::DIRECTORY);
        assert!(
            matches!(verdict, Err(VerifyError::Bad(_))),
            "byte {position}: {verdict:?}"
        );
        let mut options = options(&house.dir, RealDisk);
        options.signing_key = house.dir.with_extension("key");
        let opened = Ledger::open(&house.dir, options).map(|_| ());
        assert!(
            matches!(opened, Err(OpenError::Damaged { .. })),
            "byte {position}: {opened:?}"
        );
    }
}

#[test]
fn a_segment_cut_behind_a_checkpoint_is_not_opened() {
    let (house, segment, bytes, _, _) = crashed();
    // The first checkpoint only: the second, which the head names, is cut off.
    let second = bytes
        .windows(4)
        .enumerate()
        .filter(|(_, window)| window == b"TGF1")
        .nth(1)
        .unwrap()
        .0;
    fs::write(&segment, &bytes[..second]).unwrap();
    let mut options = options(&house.dir, RealDisk);
    options.signing_key = house.dir.with_extension("key");
    assert!(matches!(
        Ledger::open(&house.dir, options).map(|_| ()),
        Err(OpenError::Shortened)
    ));
    let Err(VerifyError::Bad(bad)) = verify(&house.dir, Trust::DIRECTORY) else {
        panic!("not found")
    };
    assert_eq!(bad.what, What::Truncated);
}

#[test]
fn it_recovers_by_itself_when_the_disk_does() {
    let (house, disk) = (house(), FaultyDisk::default());
    let ledger = Ledger::open(&house.dir, options(&house.dir, disk.clone())).unwrap();
    append(&ledger, 0).unwrap();
    let now = disk.0.operations.load(Ordering::SeqCst);
    *disk.0.fault.lock().unwrap() = Some((now, Fault::FromThenOn { done: Part::Half }));
    for n in 1..6 {
        assert_eq!(
            append(&ledger, n).unwrap_err(),
            AppendError::Unavailable(io::ErrorKind::StorageFull)
        );
    }
    *disk.0.fault.lock().unwrap() = None;
    assert_eq!(append(&ledger, 6).unwrap().index, 1);
    ledger.close().unwrap();
    assert!(verify(&house.dir, Trust::DIRECTORY).unwrap().closed);
    assert_eq!(
        on_record(&house.dir)
            .into_iter()
            .map(|(tool, _)| tool)
            .collect::<Vec<_>>(),
        ["tool0", "tool6"]
    );
}

/// A disk whose syncs wait until they are let through.
#[derive(Clone, Default)]
struct SlowDisk(Arc<(Mutex<Slow>, Condvar)>);

#[derive(Default)]
struct Slow {
    stuck: bool,
    asked: bool,
}

impl SlowDisk {
    fn set_stuck(&self, stuck: bool) {
        self.0.0.lock().unwrap().stuck = stuck;
        self.0.1.notify_all();
    }

    fn wait_until_asked(&self) {
        let (slow, changed) = &*self.0;
        drop(
            changed
                .wait_while(slow.lock().unwrap(), |slow| !slow.asked)
                .unwrap(),
        );
    }

    /// Waits like a sync of the disk.
    fn sync(&self) {
        let (slow, changed) = &*self.0;
        let mut slow = slow.lock().unwrap();
        if slow.stuck {
            slow.asked = true;
            changed.notify_all();
        }
        drop(changed.wait_while(slow, |slow| slow.stuck).unwrap());
    }
}

impl Disk for SlowDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(SlowFile(RealDisk.create(path)?, self.clone())))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
    fn shorten_durably(&self, path: &Path, len: u64) -> io::Result<()> {
        RealDisk.shorten_durably(path, len)
    }
}

struct SlowFile(Box<dyn DiskFile>, SlowDisk);

impl DiskFile for SlowFile {
    fn reserve(&mut self, len: u64) -> io::Result<bool> {
        self.0.reserve(len)
    }
    fn write_at(&mut self, bytes: &[u8], position: u64) -> io::Result<usize> {
        self.0.write_at(bytes, position)
    }
    fn sync_data(&mut self) -> io::Result<()> {
        self.1.sync();
        self.0.sync_data()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_at_once_and_loses_nothing() {
    let (house, disk) = (house(), SlowDisk::default());
    let mut options = options(&house.dir, disk.clone());
    options.queue = 8;
    let ledger = Ledger::open(&house.dir, options).unwrap();
    disk.set_stuck(true);
    let ledger = Arc::new(ledger);
    let lone = {
        let ledger = Arc::clone(&ledger);
        std::thread::spawn(move || ledger.append_blocking(session("s"), &decision("t"), at(0)))
    };
    disk.wait_until_asked();
    let mut waiting = Vec::new();
    let mut refusals = 0;
    // While the disk is stuck, one is at the desk, the thread holds at most one batch and the queue eight more.
    while refusals < 100 {
        let mut append = Box::pin(ledger.append(session("s"), &decision("t"), at(0)));
        let now = std::future::poll_fn(|context| {
            std::task::Poll::Ready(match append.as_mut().poll(context) {
                std::task::Poll::Ready(result) => Some(result),
                std::task::Poll::Pending => None,
            })
        });
        match now.await {
            Some(Err(AppendError::Overloaded)) => refusals += 1,
            None => waiting.push(append),
            Some(other) => panic!("nothing can be durable: {other:?}"),
        }
    }
    assert!((8..=8 + 2048).contains(&waiting.len()));
    disk.set_stuck(false);
    let accepted = waiting.len() as u64 + 1;
    lone.join().unwrap().unwrap();
    for append in waiting {
        append.await.unwrap();
    }
    ledger.close().unwrap();
    assert_eq!(verify(&house.dir, Trust::DIRECTORY).unwrap().records, accepted);
    assert_eq!(
        ledger
            .append(session("s"), &decision("t"), at(0))
            .await
            .unwrap_err(),
        AppendError::Closed
    );
}

#[test]
fn there_is_one_writer_and_one_key() {
    let house = house();
    let ledger = Ledger::open(&house.dir, options(&house.dir, RealDisk)).unwrap();
    let second = || Ledger::open(&house.dir, options(&house.dir, RealDisk)).map(|_| ());
    assert!(matches!(second(), Err(OpenError::InUse)));
    append(&ledger, 0).unwrap();
    ledger.close().unwrap();
    second().unwrap();

    let key = house.dir.with_extension("key");
    let original = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    assert!(matches!(second(), Err(OpenError::WrongKey { .. })));
    assert!(!key.exists(), "a lost key is not replaced silently");
    let other = self::house();
    drop(Ledger::open(&other.dir, options(&other.dir, RealDisk)).unwrap());
    fs::copy(other.dir.with_extension("key"), &key).unwrap();
    assert!(matches!(second(), Err(OpenError::WrongKey { .. })));
    fs::write(&key, original).unwrap();
    second().unwrap();
}

#[test]
fn the_largest_event_fits() {
    let house = house();
    let ledger = Ledger::open(&house.dir, options(&house.dir, RealDisk)).unwrap();
    let names: Vec<String> = (0..64).map(|n| format!("{n:0>200}")).collect();
    let event = tidegate_ledger::event::ToolArgumentConstruction {
        run_id: house::name(&"r".repeat(200)),
        tool_id: house::name("t"),
        data_class: tidegate_core::Class::Pii,
        argument_field_names: tidegate_ledger::event::FieldNames::new(names.iter().map(String::as_str)),
        authorized_sink_verified: false,
    };
    ledger
        .append_blocking(session("s"), &event.into(), at(0))
        .unwrap();
}
